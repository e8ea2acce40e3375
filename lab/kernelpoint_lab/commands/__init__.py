"""The commands `kernelpoint lab synth` and `kernelpoint lab train`."""
