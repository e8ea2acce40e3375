"""A run as a trace for the Perfetto viewer, in the Trace Event format of JSON, which it opens.

One microsecond of the trace is one cycle. A launch begins where the one before it in its process ends, to the nanosecond:
viewers read whole nanoseconds, and move one of two launches that overlap out of its row. Each kernel has a row; where the
traces are on disk and name several CUDA streams, each kernel of a stream has one. Results, estimates and projections are
groups of rows of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelpoint.errors import TraceError
from kernelpoint.files import open_output
from kernelpoint.journal import Run
from kernelpoint.report.export import ESTIMATED, PROJECTED, SIMULATED, Export, Options, launches, traces_of
from kernelpoint.traces import read_header

GROUPS = (SIMULATED, PROJECTED, ESTIMATED)
LOOKS = 1  # number of the process with the counter track; those of launches come behind, none is 0, the idle one
UNNAMED = "(name not known)"
PASSES = "passes"
DIGITS = 3  # of a microsecond: nanoseconds

Event = dict[str, Any]


class Perfetto(Export):
    """Export as a timeline of launches for the Perfetto viewer."""

    def write(self, run: Run, path: Path, options: Options) -> str:
        """Write a timeline of the launches of a finished run for the Perfetto viewer. Returns a sentence on its content."""
        count = 0
        with open_output(path) as file:
            file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
            for number, event in enumerate(_events(run)):
                file.write(("" if number == 0 else ",\n") + json.dumps(event, separators=(",", ":")))
                count += event["ph"] == "X"
            file.write("\n]}\n")
        return f"{count:,} launches; open it in the Perfetto viewer"


def _streams(run: Run) -> list[list[int]]:
    """The CUDA stream of every launch of each process, from the headers of the traces; empty for lists that are not on
    disk."""
    of_processes, stream_of = [], dict[str, int]()
    for paths in traces_of(run):
        try:
            stream_of |= {path: read_header(path).stream_id for path in set(paths.distinct) - set(stream_of)}
            of_processes.append([stream_of[path] for path in paths])
        except (OSError, TraceError):
            of_processes.append([])
    return of_processes


def _events(run: Run) -> Iterator[Event]:
    streams = _streams(run)
    several = len(set().union(*streams)) > 1
    rows: dict[tuple[int, str], int] = {}
    named: set[int] = set()
    process, now, longest = -1, 0.0, 0.0
    for it in launches(run):
        if it.process != process:
            process, now = it.process, 0.0
        group, kernel = it.process * len(GROUPS) + GROUPS.index(it.how) + LOOKS + 1, it.kernel or UNNAMED
        if several and streams[it.process]:
            kernel = f"stream {streams[it.process][it.launch]}: {kernel}"
        if group not in named:
            named.add(group)
            yield from _group(group, f"process {it.process}: {it.how}")
        row = rows.setdefault((group, kernel), len(rows) + 1)
        if row == len(rows):
            yield _name("thread_name", group, row, kernel)
        end = now + max(it.cycles or 0.0, 0.0)
        begin, longest = round(now, DIGITS), max(longest, end)
        what = {"launch": it.launch, "stratum": it.stratum, **it.counters}
        place: Event = {"pid": group, "tid": row, "ts": begin, "dur": round(round(end, DIGITS) - begin, DIGITS)}
        yield {"ph": "X", "name": kernel, "cat": it.how, **place, "args": what}
        now = end
    yield from _looks(run, longest)


def _looks(run: Run, end: float) -> Iterator[Event]:
    """A counter track: the half-width after each pass, in percent, over the cycles simulated until then.

    The last value is given again at the end of the trace: viewers draw a counter between its values.
    """
    yield from _group(LOOKS, "half-width after each pass, over simulated cycles")
    value = None
    for look in run.looks:
        estimate = {**look.ratios, **look.estimates}.get(run.ended().counter)
        if estimate is not None and estimate.is_bounded:
            value = {"half-width in %": 100.0 * estimate.relative_half_width}
            so_far = sum(r.counters["cycles"] for r in run.results.values() if r.pass_index <= look.pass_index)
            yield {"ph": "C", "name": PASSES, "pid": LOOKS, "ts": so_far, "args": value}
    if value is not None:
        yield {"ph": "C", "name": PASSES, "pid": LOOKS, "ts": round(end, DIGITS), "args": value}


def _group(number: int, name: str) -> Iterator[Event]:
    """Metadata events that name a group of rows and set its position."""
    yield _name("process_name", number, number, name)
    yield {"ph": "M", "name": "process_sort_index", "pid": number, "tid": number, "args": {"sort_index": number}}


def _name(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
