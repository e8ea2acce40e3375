"""Portable samples: what the sample of a run needs of its traces, in one file."""
