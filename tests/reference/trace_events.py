"""Trace events as Perfetto's importer takes them, by the rules of its sources (json_trace_tokenizer.cc, slice_tracker.cc).

It reads microseconds as whole nanoseconds. Slices of one row, a pair of pid and tid, are nested or apart: one that overlaps
another in part is moved out of its row. An event without a time, a counter that is no number, an empty name and a NaN, which
JSON does not have, are lost. Number 0 is the idle process.
"""

import json
import math
from dataclasses import dataclass, field


@dataclass
class Imported:
    """Rows and counters as the viewer would show them.

    Attributes:
        rows: (name of the process, name of the thread) -> slices as (begin, end) in nanoseconds, in the order of the file.
        counters: name of the track -> (nanosecond, value).
        order: names of the processes, as they are sorted.
    """

    rows: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)


def import_trace(text: str) -> Imported:
    """Read a trace as the importer does; AssertionError where it would lose or move an event."""
    events = json.loads(text, parse_constant=_no_json)["traceEvents"]
    names, places, imported = {}, {}, Imported()
    for event in (e for e in events if e["ph"] == "M"):
        (value,) = event["args"].values()
        assert value != "" and event["pid"] > 0
        if event["name"] == "process_sort_index":
            places[event["pid"]] = value
        else:
            key = event["pid"] if event["name"] == "process_name" else (event["pid"], event["tid"])
            assert names.setdefault(key, value) == value
    for event in (e for e in events if e["ph"] != "M"):
        assert event["ph"] in "XC" and event["name"] and event["args"]
        process, at = names[event["pid"]], _nanoseconds(event["ts"])
        if event["ph"] == "X":
            row = names[event["pid"], event["tid"]]
            end = at + _nanoseconds(event["dur"])
            assert end >= at
            imported.rows.setdefault((process, row), []).append((at, end))
        else:
            for name, value in event["args"].items():
                assert isinstance(value, (int, float))
                imported.counters.setdefault(f"{event['name']} {name}", []).append((at, value))
    imported.order = [names[pid] for pid in sorted(places, key=lambda pid: places[pid])]
    for row, slices in imported.rows.items():
        _check_nesting(row, slices)
    return imported


def _nanoseconds(microseconds: float) -> int:
    assert isinstance(microseconds, (int, float))
    return math.floor(microseconds * 1000 + 0.5)


def _check_nesting(row: tuple[str, str], slices: list[tuple[int, int]]) -> None:
    open_ends: list[int] = []
    for begin, end in sorted(slices, key=lambda it: (it[0], -it[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{row}: a slice at {begin} overlaps another in part"
        open_ends.append(end)


def _no_json(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")
