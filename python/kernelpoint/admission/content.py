"""A trace list as checks take it: with its folder and the facts of its traces. Profiles are checked as they are."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from kernelpoint.files import read_regular
from kernelpoint.traces import ScanTable, launch_paths

_TRACE = re.compile(r"kernel-(\d+)(?:-(ctx_0x[0-9a-fA-F]+))?\.trace(?:z|g(?:\.(?:gz|xz|zst))?)")
_NUMBER = re.compile(rf"(?:^|/){_TRACE.pattern}$|(?:^|/)Kernel(\d+)/trace\.txt$")
LARGEST_LIST = 256 << 20  # bytes of a list whose text is looked at


@dataclass(frozen=True, eq=False)
class Listed:
    """The launches of a run, by their lists and traces.

    Attributes:
        lists: the list of each process, or the folder that stands for it.
        paths: the trace of each launch; empty text where it was not traced.
        scan: what their traces show; None where they were not read.
        versions: SASS version of their code -> launches, where the scan is not at hand.
        architecture: of the code that the simulated GPU is configured for (70 for sm_70), 0 where unknown.
        is_selection: the list holds the drawn launches of a selection only.
    """

    lists: tuple[str, ...]
    paths: tuple[str, ...]
    scan: ScanTable | None = None
    versions: Mapping[int, int] = field(default_factory=dict)
    architecture: int = 0
    is_selection: bool = False

    @property
    def size(self) -> int:
        """The number of launches N."""
        return len(self.paths)

    @cached_property
    def contexts(self) -> dict[str, int]:
        """CUDA contexts in the names of traces, with their launches."""
        contexts: dict[str, int] = {}
        for path, count in self.launches.items():
            contexts[context_of(path)] = contexts.get(context_of(path), 0) + count
        return dict(sorted(contexts.items()))

    @cached_property
    def launches(self) -> dict[str, int]:
        """The launches of each trace; those that were not traced have none."""
        counts = Counter(self.paths)
        counts.pop("", None)
        return dict(counts)

    @cached_property
    def numbers(self) -> np.ndarray:
        """int64 [..]: the tracer's numbers in the names of traces, ascending."""
        numbers = [int(found.group(1) or found.group(3)) for path in self.launches if (found := _NUMBER.search(path))]
        return np.unique(np.array(numbers, dtype=np.int64))

    @cached_property
    def architectures(self) -> Mapping[int, int]:
        """SASS versions of the launches' code, 70 for sm_70, with their launches."""
        return self.versions if self.scan is None else versions_of(self.scan)

    @cached_property
    def beside(self) -> dict[str, int]:
        """CUDA contexts of traces that lie beside a list and that it does not name, with their numbers."""
        return dict(Counter(context for context, name in _traces_beside(self.folders) if name not in self._names))

    @cached_property
    def _names(self) -> set[str]:
        return {os.path.basename(path) for path in self.launches}

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the lists."""
        return tuple(dict.fromkeys(Path(one) if os.path.isdir(one) else Path(one).parent for one in self.lists))

    @cached_property
    def text(self) -> bytes:
        """The text of the first list; empty where it is a folder without one, or very long."""
        path = Path(self.lists[0]) if self.lists else Path()
        path = path / "kernelslist.g" if path.is_dir() else path
        if path.suffix != ".g":
            return b""
        try:
            return read_regular(path, LARGEST_LIST)
        except OSError:
            return b""

    @cached_property
    def work(self) -> np.ndarray | None:
        """float64 [N]: instructions of each launch, for shares of time; None where they are not known."""
        if self.scan is None:
            return None
        instructions = self.scan.instructions.astype(float)
        return instructions if instructions.sum() > 0 else None


def listed_by(path: str, scan: ScanTable | None = None, architecture: int = 0) -> Listed:
    """The launches of one list, or of a folder of traces.

    Raises:
        TraceError: there is no list, or it names a trace that does not exist.

    >>> listed_by("traces/kernelslist.g").size
    6
    """
    return Listed((path,), tuple(launch_paths(path)), scan, architecture=architecture)


def context_of(path: str) -> str:
    """The CUDA context in the name of a trace; empty where it names none.

    >>> context_of("traces/kernel-3-ctx_0x55d0.traceg.xz"), context_of("kernel-3.traceg")
    ('ctx_0x55d0', '')
    """
    found = _TRACE.fullmatch(os.path.basename(path))
    return (found and found.group(2)) or ""


def _traces_beside(folders: Sequence[Path]) -> list[tuple[str, str]]:
    names: list[str] = []
    for folder in folders:
        with suppress(OSError):
            names += os.listdir(folder)
    return [(context_of(name), name) for name in names if _TRACE.fullmatch(name)]


def versions_of(scan: ScanTable) -> dict[int, int]:
    """SASS versions in a scan, with their launches.

    >>> from kernelpoint.traces import launch_paths, scan_launches
    >>> versions_of(scan_launches(launch_paths("traces/kernelslist.g")))
    {70: 6}
    """
    versions, counts = np.unique(scan.architectures, return_counts=True)
    return {version: count for version, count in zip(versions.tolist(), counts.tolist(), strict=True) if version > 0}
