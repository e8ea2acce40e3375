"""Ranges from the names of launches and of their trace files."""

from __future__ import annotations

import os
from pathlib import Path

from kernelpoint.errors import ProfileError
from kernelpoint.program import Program
from kernelpoint.ranges.ranges import Log, RangeSource


class Names(RangeSource):
    """Ranges from names: the folders of a launch's trace file, without those common to all, and the kernel's name.

    A tracer, or a script after it, can put traces in folders: `decode/layer.3/kernel-17.traceg`. A simulator that describes its
    launches can put the range in their names: `decode/layer.3/gemm`.
    """

    description = "`names`, of trace folders and kernels"
    word = "names"

    def paths(self, file: Path, launches: Program, log: Log) -> list[str]:
        folders = [os.path.dirname(os.path.abspath(trace)) if trace else "" for trace in launches.traces]
        named = [folder for folder in set(folders) if folder]
        if not named and not launches.names.distinct:
            raise ProfileError("ranges: got 'names', but the launches have no names and no trace files; name a file of ranges")
        common = os.path.commonpath(named) if named else ""
        below = {folder: os.path.relpath(folder, common) for folder in named}
        tags = [below[folder] if folder else "." for folder in folders] or ["."] * launches.size
        return [
            name if tag == "." else f"{tag.replace(os.sep, '/')}/{name}" for tag, name in zip(tags, launches.names, strict=True)
        ]
