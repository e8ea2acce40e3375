"""Sampling methods, one file each, behind one contract."""
