"""Nsight Systems: the SQLite export (`nsys export --type sqlite`)."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
from array import array
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kernelpoint.errors import ProfileError
from kernelpoint.files import open_regular
from kernelpoint.profiles.calls import CALL, REPLAY, Calls
from kernelpoint.profiles.format import SIGNATURE, ProfileFormat
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

_MAGIC = b"SQLite format 3\0"
_INTEGERS, _END = {int}, (int, type(None))


class NsightSystemsSqlite(ProfileFormat):
    """Format of Nsight Systems' SQLite exports. Launches are the rows of the table CUPTI_ACTIVITY_KIND_KERNEL, with names from
    StringIds.

    Mangled names are used if the export has them, because they equal those in trace lists. The range of a kernel (its place in
    the program's code) consists of the NVTX ranges (table NVTX_EVENTS) that were open on the launching thread at the time of
    the kernel's CUDA call (table CUPTI_ACTIVITY_KIND_RUNTIME, matched by correlation id).

    Raises:
        ProfileError: the file is no Nsight Systems export, or contains no kernels.
    """

    description = "nsys SQLite export"
    recognised = SIGNATURE, "SQLite format 3\0"
    ranges = "an nsys SQLite export with NVTX ranges"

    def read(self, path: Path, device: int | None) -> Program:
        """Read the profile in an SQLite export of Nsight Systems. A query that takes more steps than the size of the file
        allows is stopped.
        """
        source = str(path)
        try:
            with open_regular(path) as file:
                if not file.read(len(_MAGIC)) == _MAGIC:
                    raise ProfileError(f"{source}: this SQLite database is compressed; decompress it first")
            for end in ("-wal", "-journal"):
                if (beside := Path(source + end)).exists() and beside.stat().st_size:
                    raise ProfileError(
                        f"{source}: its export has not ended, or was killed: {beside.name} has changes that are not in it; "
                        "export it again"
                    )
            # immutable: a FIFO or another's file beside it, under the name of its log, is not opened.
            with closing(sqlite3.connect(f"file:{quote(os.fspath(path))}?mode=ro&immutable=1", uri=True)) as connection:
                most, calls = STEPS_PER_BYTE * path.stat().st_size // STEPS_AT_ONCE + 1000, itertools.count()
                connection.text_factory = partial(str, encoding="utf-8", errors="replace")
                connection.set_progress_handler(lambda: next(calls) > most, STEPS_AT_ONCE)
                return _read_tables(connection, source, device, self.with_ranges)
        except (sqlite3.Error, OverflowError) as error:
            why = " ".join(str(error).split())  # it quotes names of tables, in which lines may end
            raise ProfileError(f"{source}: cannot be read as an SQLite export of Nsight Systems: {why}") from None


STEPS_PER_BYTE, STEPS_AT_ONCE = 100, 10_000  # of SQLite's machine: a query that takes more does not end
KERNELS, CALLS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
_DIAGNOSTICS = (
    "SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%not all %collected%' OR text LIKE '%lost%' OR text LIKE '%dropped%'"
)
RANGES = "NVTX_EVENTS"
# Beginnings of the names of tables in databases of other profilers -> what to do.
FOREIGN_TABLES = {
    "rocpd_": "it is a database of rocprofv3: record with --output-format csv",
    "StringTable": "it is a database of nvprof: export it with `nvprof --import-profile FILE --print-gpu-trace --csv`",
}
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"  # a replay of a CUDA graph as one block
PROCESS_BITS, CALL_BITS = 24, 32  # of a thread's number, below that of its process; of a call's in its process
NAMES = ("mangledName", "demangledName", "shortName", "name")  # the first that a row has
DEFAULTS = {
    "gridX": 0, "gridY": 0, "gridZ": 0, "blockX": 0, "blockY": 0, "blockZ": 0, "registersPerThread": UNKNOWN,
    "staticSharedMemory": 0, "dynamicSharedMemory": 0, "streamId": UNKNOWN, "correlationId": 0, "deviceId": 0,
    "globalPid": UNKNOWN, "graphNodeId": UNKNOWN,
}  # fmt: skip


def _read_tables(connection: sqlite3.Connection, source: str, device: int | None, with_ranges: bool) -> Program:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if KERNELS not in tables:
        hints = (hint for begin, hint in FOREIGN_TABLES.items() if any(name.startswith(begin) for name in tables))
        raise ProfileError(f"{source}: no table {KERNELS}; {next(hints, 'was the run traced with --trace=cuda?')}")
    builder = ProgramBuilder(source)
    for kind in ("memcpy", "memset"):
        table = f"CUPTI_ACTIVITY_KIND_{kind.upper()}"
        count = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] if table in tables else 0
        if count:
            builder.left_out[kind] = count
    if GRAPHS in tables:
        blocks, time = connection.execute(f'SELECT COUNT(*), TOTAL("end" - "start") FROM {GRAPHS}').fetchone()
        if blocks:
            builder.left_out["CUDA graph as one block"] = blocks
            builder.remark("graph-blocks", blocks, float(time), GRAPHS)
    names = dict(connection.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    if "text" in _columns(connection, "DIAGNOSTIC_EVENT"):
        for (text,) in connection.execute(_DIAGNOSTICS):
            builder.remark("profiler-errors", 1, place=str(text)[:120])
    by_process = "globalPid" in _columns(connection, KERNELS) and "globalTid" in _columns(connection, CALLS)
    kernels = array("q")  # number of the call of each kernel
    for name, start, end, *shape, registers, static, dynamic, stream, order, gpu, process, node in _kernel_rows(
        connection, source
    ):
        number, name = name, names.get(name, name)
        if not isinstance(name, str):
            raise ProfileError(f"{source}: the file is damaged: table StringIds lacks name {number}, which {KERNELS} uses")
        numbers = (start, *shape, registers, static, dynamic, stream, order, gpu, process, node)
        if {*map(type, numbers)} != _INTEGERS or type(end) not in _END:
            raise ProfileError(f"{source}: {KERNELS}: kernel {name[:60]!r}: expected integers, got {str((*numbers, end))[:99]}")
        grid, block = tuple(shape[:3]), tuple(shape[3:])
        time = math.nan if end is None else float(end - start)
        builder.add(name, grid, block, registers, static + dynamic, stream, start, time, order, gpu, process, node)
        kernels.append((process >> PROCESS_BITS if by_process else 0) << CALL_BITS | order)
    if with_ranges and (missing := sorted({CALLS, RANGES} - tables)):
        raise ProfileError(f"{source}: no table {missing[0]}; was the run traced with --trace=cuda,nvtx?")
    calls = _calls(connection, names, by_process, with_ranges)
    calls.remark(builder, kernels)
    if with_ranges:
        calls.ranges = _ranges(connection, source, names)
        builder.ranges = calls.paths(kernels)
    return builder.finish(device)


def _calls(connection: sqlite3.Connection, names: dict[int, str], by_process: bool, with_ranges: bool) -> Calls:
    """Calls that launched kernels, or replayed graphs; with ranges, all calls. Failed calls launched none."""
    calls, columns = Calls(with_ranges), _columns(connection, CALLS)
    if "correlationId" not in columns:
        return calls
    launching = [str(number) for number, name in names.items() if CALL.match(str(name)) or REPLAY.match(str(name))]
    wanted = ["returnValue = 0"] * ("returnValue" in columns)
    wanted += [] if with_ranges or "nameId" not in columns else [f"nameId IN ({', '.join(launching)})"]
    values = ", ".join(name if name in columns else "0" for name in ("nameId", "globalTid", "start"))
    for number, name, thread, start in connection.execute(
        f"SELECT correlationId, {values} FROM {CALLS} WHERE {' AND '.join(wanted) or '1'}"
    ):
        process = thread >> PROCESS_BITS if by_process else 0
        calls.add(str(names.get(name, "")), process << CALL_BITS | number, thread, start)
    return calls


def _ranges(connection: sqlite3.Connection, source: str, names: dict[int, str]) -> list[tuple[Any, float, float, str]]:
    """Thread, begin, end and name of each range of NVTX."""
    columns = _columns(connection, RANGES)
    if not {"start", "end", "text", "globalTid"} <= columns:
        raise ProfileError(f"{source}: table {RANGES} lacks times, names or threads; it has only {', '.join(sorted(columns))}")
    number = '"textId"' if "textId" in columns else "NULL"
    rows = connection.execute(f'SELECT "globalTid", "start", "end", "text", {number} FROM {RANGES} WHERE "end" NOT NULL')
    return [(thread, start, end, str(text or names.get(name, ""))) for thread, start, end, text, name in rows]


def _kernel_rows(connection: sqlite3.Connection, source: str) -> sqlite3.Cursor:
    """Rows of a name's number, start, end, and the columns of DEFAULTS."""
    columns = _columns(connection, KERNELS)
    names = [name for name in NAMES if name in columns]
    if not names or not {"start", "end"} <= columns:
        raise ProfileError(f"{source}: table {KERNELS} lacks names or times; it has the columns {', '.join(sorted(columns))}")
    values = [f'COALESCE("{name}", {default})' if name in columns else str(default) for name, default in DEFAULTS.items()]
    listed = ", ".join([f"COALESCE({', '.join([*names, 'NULL'])})", '"start"', '"end"', *values])
    return connection.execute(f"SELECT {listed} FROM {KERNELS}")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Names of the columns of a table; none if it does not exist."""
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
