"""Nsight Systems: `nsys stats --report cuda_gpu_trace --format csv`, and the SQLite export (`nsys export --type sqlite`)."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.profile import UNKNOWN, Profile, ProfileBuilder
from kernelpoint.profiles.tables import Row, number, rows_of

SECONDS = {"ns": 1.0, "nsec": 1.0, "us": 1e3, "usec": 1e3, "μs": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9}
NEEDED = ("Start", "Duration", "GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Name")
BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}


def read_gpu_trace(file: TextIO, source: str, device: int | None = None) -> Profile:
    """The CSV of the report `cuda_gpu_trace` (older versions: `gputrace`).

    Columns Start, Duration, CorrId, GrdX ... BlkZ, Reg/Trd, StcSMem, DymSMem, Device, Strm, Name, with units in the header,
    e.g. "Duration (ns)". Messages of nsys before the header are passed over. Rows without a grid are copies and memsets:
    left out. Launch order is the order of correlation ids (CUDA calls), then of starts.

    Model: shared memory is rounded by nsys to three digits of a megabyte, so it serves to tell launches apart only.
    """
    _skip_to_header(file, source)
    builder = ProfileBuilder(source)
    columns: dict[str, tuple[str, str]] = {}
    for line, row in rows_of(file, source):
        columns = columns or _columns(row, source)
        _add_row(builder, row, columns, f"{source}:{line}")
    return builder.finish(device)


def _columns(row: Row, source: str) -> dict[str, tuple[str, str]]:
    """Of each column without its unit: its name in the file, and the unit, in small letters."""
    found = {}
    for column in row:
        name, _, unit = column.partition("(")
        found[name.strip()] = column, unit.strip(" )").lower()
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise ProfileError(f"{source}: a cuda_gpu_trace without column {missing[0]!r}; it has {', '.join(found)}")
    return found


def _skip_to_header(file: TextIO, source: str) -> None:
    """Leave the file at the header line."""
    while True:
        position = file.tell()
        text = file.readline()
        if not text:
            raise ProfileError(f"{source}: the header of cuda_gpu_trace (Start ..., Duration ..., Name) is missing")
        if text.startswith(("Start", '"Start')) and "Dur" in text:
            file.seek(position)
            return


def _add_row(builder: ProfileBuilder, row: Row, columns: dict[str, tuple[str, str]], where: str) -> None:
    def text(name: str, default: str = "") -> str:
        return row[columns[name][0]] or default if name in columns else default

    if not text("GrdX").strip():
        builder.leave_out(_kind(text("Name")))
        return

    def integers(prefix: str) -> list[int]:
        return [int(number(text(prefix + axis), where)) for axis in "XYZ"]

    memory = sum(
        number(text(name, "0"), where) * BYTES.get(columns.get(name, ("", "b"))[1], 1.0)
        for name in ("StcSMem", "DymSMem")
    )
    builder.add(
        text("Name"),
        integers("Grd"),
        integers("Blk"),
        int(number(text("Reg/Trd", "-1"), where)),
        round(memory),
        int(number(text("Strm", "-1"), where)),
        _nanoseconds(text("Start"), columns["Start"][1], where),
        number(text("Duration"), where) * _factor(columns["Duration"][1], where),
        order=int(number(text("CorrId", "0"), where)),
        device=_device(text("Device")),
    )


def _factor(unit: str, where: str) -> float:
    if unit not in SECONDS:
        raise ProfileError(f"{where}: unit of time {unit!r}; allowed: {', '.join(SECONDS)}")
    return SECONDS[unit]


def _nanoseconds(text: str, unit: str, where: str) -> int:
    plain = text.replace(",", "")
    if _factor(unit, where) == 1.0 and plain.isdigit():
        return int(plain)
    return round(number(text, where) * _factor(unit, where))


def _device(text: str) -> int:
    """The number in "NVIDIA H100 (0)"; 0 where there is none."""
    found = re.search(r"\((\d+)\)\s*$", text)
    return int(found.group(1)) if found else 0


def _kind(name: str) -> str:
    return "memset" if "memset" in name.lower() else "memcpy" if "memcpy" in name.lower() else "other"


def read_sqlite(path: Path, device: int | None = None) -> Profile:
    """The SQLite export: table CUPTI_ACTIVITY_KIND_KERNEL, names from StringIds.

    Mangled names are preferred where the export has them: they match trace lists exactly. Times are ns there.

    Raises:
        ProfileError: not an Nsight Systems export, or one without kernels.
    """
    source = str(path)
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return _read_tables(connection, source, device)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ProfileError(f"{source}: cannot be read as an SQLite export of Nsight Systems: {error}") from None


def _read_tables(connection: sqlite3.Connection, source: str, device: int | None) -> Profile:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    if "CUPTI_ACTIVITY_KIND_KERNEL" not in tables:
        raise ProfileError(f"{source}: no table CUPTI_ACTIVITY_KIND_KERNEL; was the run traced with --trace=cuda?")
    builder = ProfileBuilder(source)
    for kind in ("memcpy", "memset"):
        table = f"CUPTI_ACTIVITY_KIND_{kind.upper()}"
        if table in tables:
            (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            if count:
                builder.left_out[kind] = count
    columns = {row[1] for row in connection.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}
    names = dict(connection.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    name_columns = [c for c in ("mangledName", "demangledName", "shortName", "name") if c in columns]
    if not name_columns or not {"start", "end"} <= columns:
        raise ProfileError(
            f"{source}: CUPTI_ACTIVITY_KIND_KERNEL lacks names or times; it has {', '.join(sorted(columns))}"
        )
    wanted = {
        "start": "0", "end": "0", "gridX": "0", "gridY": "0", "gridZ": "0", "blockX": "0", "blockY": "0", "blockZ": "0",
        "registersPerThread": str(UNKNOWN), "staticSharedMemory": "0", "dynamicSharedMemory": "0",
        "streamId": str(UNKNOWN), "correlationId": "0", "deviceId": "0",
    }  # fmt: skip
    listed = ", ".join(f'"{c}"' if c in columns else default for c, default in wanted.items())
    query = f"SELECT COALESCE({', '.join([*name_columns, 'NULL'])}), {listed} FROM CUPTI_ACTIVITY_KIND_KERNEL"
    for (
        name_id,
        start,
        end,
        gx,
        gy,
        gz,
        bx,
        by,
        bz,
        registers,
        static,
        dynamic,
        stream,
        order,
        gpu,
    ) in connection.execute(query):
        name = names.get(name_id, str(name_id))
        builder.add(
            name, (gx, gy, gz), (bx, by, bz), registers, static + dynamic, stream, start, float(end - start), order, gpu
        )
    return builder.finish(device)
