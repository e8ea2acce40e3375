"""The commands `kernelpoint synth` and `kernelpoint train`."""
