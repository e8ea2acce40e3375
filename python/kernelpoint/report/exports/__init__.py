"""Files for other programs, made from a finished run; one form each (kernelpoint.report.export)."""
