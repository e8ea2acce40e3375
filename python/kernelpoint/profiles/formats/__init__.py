"""Formats of profiles, one file each: recognition and reading. To add one, put a file here."""
