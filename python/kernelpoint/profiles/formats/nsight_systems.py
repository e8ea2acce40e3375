"""Nsight Systems: `nsys stats --report cuda_gpu_trace --format csv`."""

from __future__ import annotations

import re
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.tables import Row, number, rows_of

SECONDS = {"ns": 1.0, "nsec": 1.0, "us": 1e3, "usec": 1e3, "μs": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9}
NEEDED = ("Start", "Duration", "GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Name")
BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}


class NsightSystemsGpuTrace(TextFormat):
    """The CSV of the report `cuda_gpu_trace` (older versions: `gputrace`).

    Columns Start, Duration, CorrId, GrdX ... BlkZ, Reg/Trd, StcSMem, DymSMem, Device, Strm, Name, with units in the header,
    e.g. "Duration (ns)". Messages of nsys before the header are passed over. Rows without a grid are copies and memsets:
    left out. Launch order is the order of correlation ids (CUDA calls), then of starts.

    Model: shared memory is rounded by nsys to three digits of a megabyte, so it only serves to separate launches.
    """

    description = "nsys cuda_gpu_trace CSV"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return STRUCTURE if "CorrId" in beginning.text and "GrdX" in beginning.text else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        _skip_to_header(file, source)
        builder = ProfileBuilder(source)
        columns: dict[str, tuple[str, str]] = {}
        for line, row in rows_of(file, source):
            columns = columns or _columns(row, source)
            _add_row(builder, row, columns, f"{source}:{line}")
        return builder.finish(device)


def _columns(row: Row, source: str) -> dict[str, tuple[str, str]]:
    """Columns by name without unit: the name in the file and the unit, in small letters."""
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
