"""The results CSV of a full simulation."""

from __future__ import annotations

from typing import TextIO

from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.tables import number, rows_of, whole_number


class ResultsCsv(TextFormat):
    """Results of a full simulation: columns launch_index, trace, kernel_name, and any counters, `cycles` among them.

    The embedded host writes this file with `-results`. It must contain every launch of the list once.
    """

    description = "results CSV"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return STRUCTURE if {"launch_index", "cycles"} <= beginning.columns else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        builder = ProfileBuilder(source)
        fixed = {"launch_index", "trace", "kernel_name"}
        for line, row in rows_of(file, source):
            where = f"{source}:{line}"
            index = whole_number(row["launch_index"], where)
            counters = {key: number(value, where, True) for key, value in row.items() if key not in fixed}
            builder.add(row.get("kernel_name", ""), order=index, counters=counters, trace=row.get("trace", ""))
        return builder.finish(device)
