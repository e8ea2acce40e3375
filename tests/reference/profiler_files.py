"""Exports of profilers by their documented layouts: Nsight Systems' SQLite, Nsight Compute's raw CSV, Kineto's JSON.

Each holds the same launches: name, grid, block, nanoseconds.
"""

import csv
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

CENSUS_HEAD = (  # first line of a census of Accel-Sim's tracer
    "kernel id, kernel mangled name, grid_dimX, grid_dimY, grid_dimZ, #blocks, block_dimX, block_dimY, block_dimZ, #threads, "
    "total_insts, total_reported_insts\n"
)
START = 1_661_203_462_600_478_250  # ns


@dataclass(frozen=True)
class Kernel:
    """One launch as a profiler sees it."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    nanoseconds: int


def write_nsys_tables(path: Path, columns: str, kernels: Iterable[tuple], names: Iterable[tuple], then: str = "") -> Path:
    """A small export with these columns and rows of kernels and (id, value) of strings; `then`: further statements."""
    count = len(columns.split(","))
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)")
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", names)
    connection.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
    connection.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * count)})", kernels)
    connection.executescript(then)
    connection.commit()
    connection.close()
    return path


def write_nsys_sqlite(path: Path, launches: Sequence[Kernel]) -> None:
    """Tables as `nsys export --type sqlite` makes them."""
    columns = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName",
               "mangledName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
               "staticSharedMemory", "dynamicSharedMemory", "localMemoryTotal")  # fmt: skip
    names = {name: number for number, name in enumerate(dict.fromkeys(it.name for it in launches), start=1)}
    rows, start = [], START
    for number, it in enumerate(launches):
        name = names[it.name]
        rows.append((start, start + it.nanoseconds, 0, 1, 7, number, 42, name, name, name, 32, *it.grid, *it.block, 0, 0, 0))
        start += it.nanoseconds + 500
    copies = "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER); "
    copies += "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2)"
    typed = ", ".join(f"{column} INTEGER" for column in columns)
    write_nsys_tables(path, typed, rows, [(number, name) for name, number in names.items()], copies)


def write_ncu_csv(path: Path, launches: Sequence[Kernel]) -> None:
    """Output of `ncu --csv --page raw`: names, a line of units, one row for each launch."""
    columns = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
               "Device", "CC", "gpu__time_duration.sum", "smsp__inst_executed.sum")  # fmt: skip
    with path.open("w", newline="") as file:
        file.write("==PROF== Connected to process 1234\n")
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        table.writerows([columns, ["", *[""] * 10, "usecond", "inst"]])
        for number, it in enumerate(launches):
            place = (number, 12, "app", "host", it.name, 1, 7, str(it.block), str(it.grid), 0, "8.0")
            table.writerow([*place, f"{it.nanoseconds / 1000:,.3f}", "1,000"])


def write_kineto_json(path: Path, launches: Sequence[Kernel]) -> None:
    """Chrome trace as `torch.profiler`'s `export_chrome_trace` writes it: a CPU operator and a kernel for each launch."""
    events: list[dict] = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}]
    ts = 1_683_564_901_553_999.0
    for number, it in enumerate(launches):
        about = {"device": 0, "stream": 7, "correlation": number, "registers per thread": 32, "shared memory": 0,
                 "grid": it.grid, "block": it.block}  # fmt: skip
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": ts, "dur": 1})
        kernel = {"ph": "X", "cat": "kernel", "name": it.name, "pid": 0, "tid": 7, "ts": ts}
        events.append({**kernel, "dur": it.nanoseconds / 1000, "args": about})
        ts += 1 + it.nanoseconds / 1000
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}))


WRITERS = {"times.sqlite": write_nsys_sqlite, "times.csv": write_ncu_csv, "times.json": write_kineto_json}
