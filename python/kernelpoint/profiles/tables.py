"""CSV files with a header: rows, and fields as numbers, times and sizes."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.program import UNKNOWN

Row = dict[str, str]
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d*)?(e[-+]?\d+)?")


def rows_of(file: TextIO, source: str) -> Iterator[tuple[int, Row]]:
    """Iterate over the rows after the header: line number and fields.

    Raises:
        ProfileError: a row has another number of fields than the header.
    """
    reader = csv.reader(file)
    header = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
    for fields in reader:
        if not fields:
            continue
        if len(fields) != len(header):
            raise ProfileError(f"{source}:{reader.line_num}: {len(fields)} fields, the header has {len(header)}")
        yield reader.line_num, dict(zip(header, fields, strict=True))


def number(text: str, where: str, allow_empty: bool = False) -> float:
    """Parse a number, with or without commas between thousands.

    Raises:
        ProfileError: it is none, or has its comma elsewhere: a decimal comma would make 545 of 5,45.

    >>> number("1,234.5", "x:1")
    1234.5
    """
    text = text.strip()
    if "," in text and not _THOUSANDS.fullmatch(text):
        raise ProfileError(
            f"{where}: {text[:60]!r} has a comma that is not between thousands; decimal commas are read where semicolons "
            "separate the fields: else export the table again with LC_ALL=C"
        )
    if allow_empty and text in ("", "n/a", "nan"):
        return math.nan
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ProfileError(f"{where}: expected a number, got {text[:60]!r}")
    return value


def shape(text: str, where: str) -> tuple[int, int, int]:
    """Parse three sizes as profilers write them.

    >>> shape("88497x1x1", "x:1"), shape("(128, 1, 1)", "x:1"), shape("  64    1    1", "x:1"), shape("7", "x:1")
    ((88497, 1, 1), (128, 1, 1), (64, 1, 1), (7, 1, 1))
    """
    parts = text.strip().strip("()[]").replace(",", " ").replace("x", " ").split()
    try:
        sizes = [int(part) for part in parts if part.strip()]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        raise ProfileError(f"{where}: expected up to three sizes such as 16x1x1, got {text[:60]!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def whole_number(text: str, where: str) -> int:
    """Parse an integer; UNKNOWN if the field is empty."""
    if not text.strip():
        return UNKNOWN
    value = number(text, where)
    if value != int(value):
        raise ProfileError(f"{where}: expected a whole number, got {text!r}")
    return int(value)
