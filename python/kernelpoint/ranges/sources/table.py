"""A CSV file with the path of launches."""

from __future__ import annotations

import csv
from pathlib import Path

from kernelpoint.errors import ProfileError, shown
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, open_text
from kernelpoint.program import Program
from kernelpoint.ranges.ranges import Log, RangeSource


class RangeTable(RangeSource):
    """Ranges from a CSV file with the columns `launch` (index from 0 in program order, through all processes) and `path` (names
    separated by "/"). Other columns are ignored. A launch without a row is in no range.
    """

    description = "a CSV with the columns launch and path"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file, given its beginning, is a CSV file with the columns `launch` and `path`."""
        return STRUCTURE if {"launch", "path"} <= beginning.columns else NOT_THIS

    def paths(self, file: Path, launches: Program, log: Log) -> list[str]:
        paths: dict[int, str] = {}
        with open_text(file) as text:
            rows = csv.reader(text)
            header = [name.strip().lstrip("\ufeff") for name in next(rows)]
            for fields in filter(None, rows):
                line, row = rows.line_num, dict(zip(header, fields, strict=False))
                if len(fields) != len(header):
                    raise ProfileError(f"{file}:{line}: this row has {len(fields)} fields, the header has {len(header)}")
                value = row["launch"].strip()
                launch = int(value) if value.isascii() and value.isdigit() else -1
                if not 0 <= launch < launches.size:
                    raise ProfileError(
                        f"{file}:{line}: launch: got {shown(value)}; allowed: 0 to {launches.size - 1}, as in the run"
                    )
                if launch in paths:
                    raise ProfileError(f"{file}:{line}: launch {launch} is given a second time; give each launch once")
                paths[launch] = row["path"]
        return [paths.get(launch, "") for launch in range(launches.size)]
