"""Errors that are not of the sample: in come results with a shared error or without a value, out go wider half-widths."""
