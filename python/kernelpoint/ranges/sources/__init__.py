"""Sources of ranges, one file each."""
