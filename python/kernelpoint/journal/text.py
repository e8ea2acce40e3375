"""Records as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from kernelpoint.estimate import Estimate
from kernelpoint.journal.records import Record

OF_ESTIMATE = tuple(f.name for f in fields(Estimate) if f.name != "counter")  # the key it stands at is its name
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def number(value: float) -> float | None:
    """Convert a float for JSON: nan becomes None, which JSON writes as null.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def plain(record: Any) -> Any:
    """Convert a record to JSON types. The type and the version come first; fields with default values are left out.

    >>> from kernelpoint.journal import Outcome
    >>> plain(Outcome(process=0, launch=4, pass_index=1))
    {'type': 'outcome', 'process': 0, 'launch': 4, 'pass_index': 1, 'counters': {}}
    """
    if record is None or isinstance(record, str | int | float):
        return record
    if isinstance(record, Estimate):
        numbers = {name: number(getattr(record, name)) for name in OF_ESTIMATE}
        return {name: value for name, value in numbers.items() if value is not None or name != "at_most"}
    if is_dataclass(record):
        kind: Any = type(record)
        named = [(name, getattr(record, name), default) for name, default in _fields(kind)]
        return {name: plain(value) for name, value, default in named if value != default}
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    return [plain(value) for value in record] if isinstance(record, list | tuple) else record


@cache
def _fields(kind: type[Any]) -> list[tuple[str, Any]]:
    """Names of a record's fields in their order in a line, each with the value that is left out."""
    named = sorted(fields(kind), key=lambda field: field.name not in ("type", "version"))
    return [(f.name, f.default if f.default is None or f.default is False else MISSING) for f in named]


def text_of(record: Record) -> str:
    """Convert a record to one line of JSON.

    Raises:
        ValueError: a number in the record is infinite, or is nan where null is not allowed.
    """
    return _encode(plain(record))
