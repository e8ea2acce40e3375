"""Whole lines of ours in files of others: added with a mark, removed by the mark.

Texts are read as Latin-1, so that every byte survives; an added line ends like its neighbour (LF or CRLF).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[kernelpoint patch]"
_OURS = re.compile(r"^[^\n]*(?://|#) " + re.escape(MARK) + r"\r?\n", re.MULTILINE)


def add_lines(text: str, added: Iterable[tuple[int, str]], comment: str) -> str:
    """`text` with marked lines added, each given as (0-based number of the line that it goes before, line).

    >>> add_lines("a\\nb\\n", [(1, "x();")], "//")
    'a\\nx(); // [kernelpoint patch]\\nb\\n'
    >>> strip_lines(add_lines("a\\r\\nb", [(1, "x();")], "//"))
    'a\\r\\nb'
    """
    lines = re.split(r"(?<=\n)", text)
    for number, line in sorted(added, reverse=True):
        neighbour = lines[max(number - 1, 0)]
        lines.insert(number, f"{line} {comment} {MARK}" + ("\r\n" if neighbour.endswith("\r\n") else "\n"))
    return "".join(lines)


def strip_lines(text: str) -> str:
    """`text` without the lines that carry our mark."""
    return _OURS.sub("", text)


def has_lines(text: str) -> bool:
    """True if `text` carries our mark."""
    return MARK in text
