"""What every record of a journal must hold for those who read it; anything else is damage, and has a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from kernelpoint.errors import JournalError

Check = Callable[[Any], bool]


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(float(value))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _is_stratum(value: Any) -> bool:
    return type(value) is int and -1 <= value < 2**31


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_size(value: Any) -> bool:
    return _is_count(value) and value < 2**40


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _map_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _holds(**fields: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(key in value and fields[key](value[key]) for key in fields)


_ESTIMATE = _holds(
    estimate=_or_null(_is_amount),
    half_width=_or_null(_is_amount),
    relative_half_width=_or_null(_is_amount),
    simulated=_or_null(_is_amount),
)
_STRATA = _or_null(
    _holds(units=_list_of(_is_size), covariate=_or_null(_list_of(_is_amount)), clusters=_or_null(_list_of(_is_size)))
)
_LAUNCH: dict[str, Check] = {"process": _is_count, "launch": _is_count}
_LOOK: dict[str, Check] = {"estimates": _map_of(_ESTIMATE), "ratios": _map_of(_ESTIMATE)}
_REQUIRED: dict[str, dict[str, Check]] = {
    "run": {
        "launches": _list_of(_is_size),
        "config": _holds(policy=_is_text, seed=_is_count, error_budget=_holds(), warmup=_holds(launches=_is_count)),
        "hashes": _map_of(_or_null(_is_text)),
    },
    "population": {"launches": _list_of(_is_size), "hashes": _map_of(_or_null(_is_text)), "strata": _STRATA},
    "pass": {"pass": _is_count, "sizes": _list_of(_is_size), "kinds": _list_of(_is_text)},
    "decision": {**_LAUNCH, "action": _is_text},
    "result": {**_LAUNCH, "counters": _map_of(_is_amount)},
    "warmup": {**_LAUNCH, "counters": _map_of(_is_amount)},
    "abort": _LAUNCH,
    "degraded": {"reason": _is_text},
    "look": _LOOK,
    "seen": _LOOK,
    "resume": {},
    "summary": {
        **dict.fromkeys(("launches", "simulated", "skipped", "passes"), _is_count),
        **dict.fromkeys(("estimate", "cycle_speedup", "floor"), _or_null(_is_amount)),
        **dict.fromkeys(("half_width", "relative_half_width"), _or_null(_is_amount)),
        **dict.fromkeys(("confidence", "relative_error"), _is_amount),
        **dict.fromkeys(("bound", "counter", "covers"), _is_text),
        **dict.fromkeys(("degraded", "warnings", "assumptions", "not_covered"), _list_of(_is_text)),
        "met": lambda value: isinstance(value, bool),
        "counters": _map_of(_ESTIMATE),
        "ratios": _map_of(_ESTIMATE),
    },
}
_OPTIONAL: dict[str, dict[str, Check]] = {
    "run": {"strata": _STRATA, "plan": _or_null(_is_text)},
    "population": {
        "plan": _or_null(_is_text),
        "simulated": _holds(units=_list_of(_is_count), strata=_list_of(_is_stratum), x=_list_of(_is_amount)),
    },
    "decision": {"stratum": _is_stratum, "x": _is_amount, "trace": _or_null(_is_text)},
    "result": {
        "projection": _holds(simulated_cycles=_is_amount, half_widths=_map_of(_or_null(_is_amount))),
    },
    "summary": {
        "projected": _is_count,
        "warmups": _is_count,
        "processes": _list_of(_holds(process=_is_count, launches=_is_size, estimates=_map_of(_ESTIMATE))),
    },
}


def check_records(records: Sequence[dict[str, Any]], name: str) -> None:
    """Refuse a journal whose records lack what a reader needs, or hold it in another type.

    Raises:
        JournalError: names the line, the kind of record and the field.

    >>> check_records([{"type": "resume"}, {"type": "result", "process": 0, "launch": -1}], "run.kpjournal")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.JournalError: run.kpjournal:2: a result record whose 'launch' is -1
    """
    for line, record in enumerate(records, start=1):
        kind = record["type"]
        required = _REQUIRED.get(kind) if _is_text(kind) else None
        if required is None:
            raise JournalError(f"{name}:{line}: a record of unknown type {kind!r}; allowed: {', '.join(_REQUIRED)}")
        for field, check in required.items():
            if field not in record:
                raise JournalError(f"{name}:{line}: a {kind} record without {field!r}")
            if not check(record[field]):
                raise JournalError(f"{name}:{line}: a {kind} record whose {field!r} is {_short(record[field])}")
        for field, check in _OPTIONAL.get(kind, {}).items():
            if field in record and not check(record[field]):
                raise JournalError(f"{name}:{line}: a {kind} record whose {field!r} is {_short(record[field])}")
    _check_launches(records, name)
    _check_counters(records, name)


def _check_launches(records: Sequence[dict[str, Any]], name: str) -> None:
    """Launches must lie in the list, where its length is known."""
    counts: list[int] = next((r["launches"] for r in reversed(records) if r["type"] in ("population", "run")), [])
    if not any(counts):
        return
    for line, record in enumerate(records, start=1):
        if "process" in record and "launch" in record:
            process, launch = record["process"], record["launch"]
            if process >= len(counts) or launch >= counts[process]:
                raise JournalError(
                    f"{name}:{line}: launch {launch} of process {process}; the run has {counts} launches"
                )


def _check_counters(records: Sequence[dict[str, Any]], name: str) -> None:
    """All results report the same counters, cycles among them."""
    known: list[str] = []
    for line, record in enumerate(records, start=1):
        if record["type"] == "result":
            known = known or list(record["counters"])
            if list(record["counters"]) != known or "cycles" not in known:
                raise JournalError(
                    f"{name}:{line}: a result with the counters {list(record['counters'])}; expected {known or ['cycles']}"
                )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
