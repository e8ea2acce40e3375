"""Nsight Systems: the SQLite export (`nsys export --type sqlite`)."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

from kernelpoint.errors import ProfileError
from kernelpoint.files import open_regular
from kernelpoint.profiles.calls import enclosing, remark_lost
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
_REPLAYS_WITHOUT_KERNELS = (
    f"SELECT COUNT(*) FROM {CALLS} JOIN StringIds ON id = nameId WHERE (value LIKE 'cudaGraphLaunch%' OR value LIKE "
    f"'cuGraphLaunch%') AND correlationId NOT IN (SELECT correlationId FROM {KERNELS})"
)
_LAUNCHES = (
    f"SELECT value, COUNT(*), SUM(correlationId NOT IN (SELECT correlationId FROM {KERNELS})) FROM {CALLS} JOIN StringIds ON "
    "id = nameId WHERE (value LIKE 'cu%Launch%Kernel%' OR value LIKE 'cu%StreamBeginCapture%') AND {succeeded} GROUP BY value"
)
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
PROCESS_BITS = 24  # of a global number of a process, below that of the system's
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
    if (
        names
        and {"nameId", "correlationId"} <= _columns(connection, CALLS)
        and "correlationId" in _columns(connection, KERNELS)
    ):
        lost = connection.execute(_REPLAYS_WITHOUT_KERNELS).fetchone()[0]
        if lost and "graph-blocks" not in builder.remarks:
            builder.leave_out("replay of a CUDA graph without its kernels", lost)
            builder.remark("graph-blocks", lost, place="cudaGraphLaunch")
        succeeded = "returnValue = 0" if "returnValue" in _columns(connection, CALLS) else "1"
        launches = connection.execute(_LAUNCHES.format(succeeded=succeeded))
        remark_lost(builder, {name: (made, lacking) for name, made, lacking in launches})
    if "text" in _columns(connection, "DIAGNOSTIC_EVENT"):
        for (text,) in connection.execute(_DIAGNOSTICS):
            builder.remark("profiler-errors", 1, place=str(text)[:120])
    calls = []  # process and correlation of each kernel
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
        calls.append((0 if process == UNKNOWN else process >> PROCESS_BITS, order))
    if with_ranges:
        builder.ranges = _paths(connection, source, tables, calls)
    return builder.finish(device)


def _paths(connection: sqlite3.Connection, source: str, tables: set[str], kernels: list[tuple[int, int]]) -> list[str]:
    """Path of the range of each kernel, by the process and the correlation of its call; process 0 matches any process."""
    if missing := sorted({CALLS, RANGES} - tables):
        raise ProfileError(f"{source}: no table {missing[0]}; was the run traced with --trace=cuda,nvtx?")
    columns = _columns(connection, RANGES)
    if not {"start", "end", "text", "globalTid"} <= columns:
        raise ProfileError(f"{source}: table {RANGES} lacks times, names or threads; it has only {', '.join(sorted(columns))}")
    calls: dict[tuple[int, int], tuple[int, float]] = {}  # thread and time
    for thread, start, correlation in connection.execute(f'SELECT "globalTid", "start", "correlationId" FROM {CALLS}'):
        calls[thread >> PROCESS_BITS, correlation] = calls[0, correlation] = thread, start
    names = dict(connection.execute("SELECT id, value FROM StringIds"))
    number = '"textId"' if "textId" in columns else "NULL"
    rows = connection.execute(f'SELECT "globalTid", "start", "end", "text", {number} FROM {RANGES} WHERE "end" NOT NULL')
    ranges = [(thread, start, end, str(text or names.get(name, ""))) for thread, start, end, text, name in rows]
    numbers = [number for number, key in enumerate(kernels) if key in calls]
    paths = [""] * len(kernels)
    for place, open_ranges in enclosing(ranges, [calls[kernels[number]] for number in numbers]):
        paths[numbers[place]] = "/".join(open_ranges)
    return paths


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
