"""The uniform CSV of a profile."""

from __future__ import annotations

from typing import TextIO

from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.tables import microseconds, number, rows_of, shape, whole_number


class UniformCsv(TextFormat):
    """The uniform CSV: columns idx, name, grid, block, regs, smem, stream, ts_us, dur_us; others are ignored.

    Only name and dur_us are required. Times are microseconds. Rows whose name begins with "Memcpy" or "Memset" are
    left out.
    """

    description = "uniform CSV"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return STRUCTURE if {"name", "dur_us"} <= beginning.columns else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        builder = ProfileBuilder(source)
        for line, row in rows_of(file, source):
            where = f"{source}:{line}"
            if row["name"].startswith(("Memcpy", "Memset")):
                builder.leave_out(row["name"].split()[0].lower())
                continue
            grid, block = (shape(row[size], where) if row.get(size) else (0, 0, 0) for size in ("grid", "block"))
            builder.add(
                row["name"],
                grid,
                block,
                whole_number(row.get("regs", ""), where),
                whole_number(row.get("smem", ""), where),
                whole_number(row.get("stream", ""), where),
                microseconds(row["ts_us"], where) if row.get("ts_us") else 0,
                number(row["dur_us"], where) * 1000,
                order=whole_number(row["idx"], where) if "idx" in row else line,
            )
        return builder.finish(device)
