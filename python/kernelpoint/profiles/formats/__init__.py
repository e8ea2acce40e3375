"""Formats of profiles, one file each: it says what it recognises, and reads it. To add one, put a file here."""
