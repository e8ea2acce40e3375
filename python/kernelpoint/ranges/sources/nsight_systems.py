"""NVTX ranges in the SQLite export of Nsight Systems."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.formats.nsight_systems_sqlite import CALLS, KERNELS, NsightSystemsSqlite, from_database
from kernelpoint.ranges.enclosing import enclosing
from kernelpoint.ranges.source import ProfileSource

RANGES = "NVTX_EVENTS"
THREAD_BITS = 24  # of a global thread's number, below those of its process

Call = tuple[int, float]  # thread, time


class NsightSystems(ProfileSource):
    """Ranges of an Nsight Systems export: NVTX ranges that were open on the launching thread at the time of the CUDA call.

    Table NVTX_EVENTS has the ranges, CUPTI_ACTIVITY_KIND_RUNTIME the call of each kernel, by its correlation.
    """

    description = "an nsys SQLite export with NVTX ranges"

    format = NsightSystemsSqlite

    def paths_of_kernels(self, file: Path) -> list[str]:
        """Path of each kernel of the profile, in the profile's order."""
        return from_database(file, _paths)


def _paths(connection: sqlite3.Connection, source: str) -> list[str]:
    """The path of each kernel in the order of launches: that of correlations, then of starts."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if missing := sorted({CALLS, RANGES} - tables):
        raise ProfileError(f"{source}: no table {missing[0]}; was the run traced with --trace=cuda,nvtx?")
    kernels, calls = _kernels(connection), _calls(connection)
    numbers = [number for number, key in enumerate(kernels) if key in calls]
    paths = [""] * len(kernels)
    for place, names in enclosing(_ranges(connection, source), [calls[kernels[number]] for number in numbers]):
        paths[numbers[place]] = "/".join(names)
    return paths


def _kernels(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """Process (0 where the export has one only) and correlation of each kernel."""
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({KERNELS})")}
    process = f'"globalPid" >> {THREAD_BITS}' if "globalPid" in columns else "0"
    order = "correlationId" if "correlationId" in columns else "0"
    rows = connection.execute(f'SELECT {process}, {order} FROM {KERNELS} ORDER BY {order}, "start"')
    return [(process, correlation) for process, correlation in rows]


def _calls(connection: sqlite3.Connection) -> dict[tuple[int, int], Call]:
    """Thread and time of each CUDA call, by process and correlation; a process number of 0 stands for any."""
    calls: dict[tuple[int, int], Call] = {}
    for thread, start, correlation in connection.execute(f'SELECT "globalTid", "start", "correlationId" FROM {CALLS}'):
        calls[thread >> THREAD_BITS, correlation] = calls[0, correlation] = thread, start
    return calls


def _ranges(connection: sqlite3.Connection, source: str) -> list[tuple[int, float, float, str]]:
    """Thread, begin, end and name of each range that ended; marks have no end."""
    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({RANGES})")}
    if not {"start", "end", "text", "globalTid"} <= columns:
        raise ProfileError(f"{source}: {RANGES} lacks times, names or threads; it has {', '.join(sorted(columns))}")
    names = dict(connection.execute("SELECT id, value FROM StringIds"))
    number = '"textId"' if "textId" in columns else "NULL"
    rows = connection.execute(
        f'SELECT "globalTid", "start", "end", "text", {number} FROM {RANGES} WHERE "end" NOT NULL'
    )
    return [(thread, start, end, str(text or names.get(name, ""))) for thread, start, end, text, name in rows]
