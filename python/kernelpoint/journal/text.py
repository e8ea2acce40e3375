"""Records as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

from kernelpoint.estimate import Estimate
from kernelpoint.journal.records import DecisionRecord, Record

OF_ESTIMATE = tuple(f.name for f in fields(Estimate) if f.name != "counter")  # the key it stands at is its name
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def number(value: float) -> float | None:
    """Convert a float for JSON: nan becomes null.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def plain(record: Any) -> Any:
    """Convert a record to JSON types: `type` and version first, fields with default values left out.

    >>> from kernelpoint.journal import AbortRecord
    >>> plain(AbortRecord(process=0, launch=4, pass_index=1))
    {'type': 'abort', 'process': 0, 'launch': 4, 'pass_index': 1}
    """
    if isinstance(record, Estimate):
        return {name: number(getattr(record, name)) for name in OF_ESTIMATE}
    if is_dataclass(record):
        named = [(f, getattr(record, f.name)) for f in fields(record)]
        first = {f.name: value for f, value in named if f.name in ("type", "version")}
        rest = {f.name: plain(v) for f, v in named if not (f.default in (None, False) and v == f.default)}
        return {**first, **rest}
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    return [plain(value) for value in record] if isinstance(record, list | tuple) else record


def text_of(record: Record) -> str:
    """Convert a record to one line of JSON.

    Raises:
        ValueError: a number in it is not finite.
    """
    return decision_text(record) if isinstance(record, DecisionRecord) else _encode(plain(record))


def decision_text(record: DecisionRecord) -> str:
    """Convert a decision to one line of JSON, faster than `text_of`: decisions are written for every launch."""
    r = record
    stratum = "" if r.stratum is None else f',"stratum":{r.stratum}'
    u = "" if r.u is None else f',"u":{r.u:.17g},"threshold":{r.threshold:.17g}'
    take_all = "" if r.take_all is None else f',"take_all":{_encode(r.take_all)}'
    cluster = "" if r.cluster is None else f',"cluster":{r.cluster}'
    stream = "" if r.stream is None else f',"stream":"{r.stream}"'
    prediction = "" if r.prediction is None else f',"prediction":{r.prediction:.6g}'
    x = "" if r.x is None else f',"x":{r.x:.17g}'
    trace = "" if r.trace is None else f',"trace":{_encode(r.trace)}'
    return (
        f'{{"type":"decision","process":{r.process},"launch":{r.launch},"pass_index":{r.pass_index},"action":"{r.action}"'
        f"{stratum}{u}{take_all}{cluster}{stream}{prediction}{x}{trace}}}"
    )
