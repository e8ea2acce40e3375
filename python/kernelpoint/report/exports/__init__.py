"""Files that other programs read of a run, one form each (kernelpoint.report.export)."""
