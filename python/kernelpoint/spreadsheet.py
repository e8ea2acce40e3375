"""Text in CSV files: formulas are escaped, so that a spreadsheet shows them as text."""

from __future__ import annotations

_RUN = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> object:
    """The value, with an apostrophe before text that a spreadsheet would take for a formula; numbers stay numbers.

    Source: OWASP, "CSV Injection".

    >>> safe_cell("=HYPERLINK(1)"), safe_cell("sum<float>"), safe_cell(-3.5)
    ("'=HYPERLINK(1)", 'sum<float>', -3.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_RUN) else value
