"""Portable samples: traces and state that the sample of a run needs, in one file."""
