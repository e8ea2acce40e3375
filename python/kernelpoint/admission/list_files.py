"""Input of the checks on traces: the files of a program's lists and traces."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from kernelpoint.files import read_regular
from kernelpoint.program import Program
from kernelpoint.traces.trace_list import numbers_and_contexts

LARGEST_LIST = 256 << 20  # bytes of a list whose text is looked at


@dataclass(frozen=True, eq=False)
class ListFiles:
    """Trace lists of a program and their files, as the input of the checks.

    Attributes:
        program: table of the launches, with the contents of their traces if these were read.
        architecture: architecture of the code for which the simulated GPU is configured (70: sm_70); 0 if unknown.

    >>> from kernelpoint.traces.trace_list import read_trace_list
    >>> ListFiles(read_trace_list("traces/kernelslist.g")).contexts
    {'': 6}
    """

    program: Program
    architecture: int = 0

    @property
    def is_selection(self) -> bool:
        """True if the list contains only some of the program's launches, because only these were traced."""
        return self.program.listed is not None

    @property
    def repeats(self) -> bool:
        """True if several launches have the same trace file."""
        return len(self.program.traces.distinct) < self.program.size

    @cached_property
    def contexts(self) -> dict[str, int]:
        """Number of launches of each CUDA context in the file names of traces; the key is empty for names without a context."""
        contexts: Counter[str] = Counter()
        for (_, context), count in zip(self.named, self.program.traces.counts.tolist(), strict=True):
            contexts[context] += count
        return dict(sorted(contexts.items()))

    @cached_property
    def numbers(self) -> np.ndarray:
        """Tracer's numbers in the file names of traces, int64, ascending."""
        return np.unique(np.array([number for number, _ in self.named if number >= 0], dtype=np.int64))

    @cached_property
    def named(self) -> list[tuple[int, str]]:
        """Tracer's number (or -1) and CUDA context in the file name of each trace."""
        return numbers_and_contexts(self.program.traces.distinct)

    @cached_property
    def architectures(self) -> Mapping[int, int]:
        """Number of launches for each architecture of the code (70: sm_70); empty if no trace was read."""
        if self.program.contents is None:
            return {}
        versions, counts = np.unique(self.program.read.architectures[self.program.content], return_counts=True)
        return {version: count for version, count in zip(versions.tolist(), counts.tolist(), strict=True) if version > 0}

    @cached_property
    def beside(self) -> dict[str, list[str]]:
        """Trace files in the folders of the lists that no list names, sorted by number, for each CUDA context."""
        names = {path.rpartition("/")[2] for path in self.program.traces.distinct}
        others = [str(folder / name) for folder in self.folders for name in names_in(folder) - names]
        contexts: dict[str, list[str]] = {}
        for (number, context), path in sorted(zip(numbers_and_contexts(others), others, strict=True)):
            if number >= 0:
                contexts.setdefault(context, []).append(path)
        return contexts

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Folders that contain the lists."""
        return tuple(dict.fromkeys(Path(path) if os.path.isdir(path) else Path(path).parent for path in self.program.lists))

    @cached_property
    def is_outside(self) -> list[bool]:
        """True for each distinct trace that a symbolic link takes from outside the folders of the lists."""
        within = [os.path.realpath(folder) + os.sep for folder in self.folders]
        folders = {*map(os.path.dirname, self.program.traces.distinct)}
        entered = {folder: os.path.realpath(folder) + os.sep for folder in folders}

        def leads_out(path: str) -> bool:
            folder, name = os.path.split(path)
            real = os.path.realpath(path) if name in _links_in(folder) else entered[folder]
            return not real.startswith(tuple(within))

        return [bool(within) and leads_out(path) for path in self.program.traces.distinct]

    @cached_property
    def text(self) -> bytes:
        """Text of the first trace list; empty if there is no list file or it is too long."""
        path = Path(self.program.lists[0]) if self.program.lists else Path()
        path = path / "kernelslist.g" if path.is_dir() else path
        if path.suffix != ".g":
            return b""
        return text_of(path)

    def defects(self, name: str) -> np.ndarray:
        """Number of defects of one kind (a name in DEFECTS) in each launch's trace, int64 [N]."""
        return self.program.read.defects(name)[self.program.content]

    @cached_property
    def work(self) -> np.ndarray | None:
        """Instructions of each launch, float64 [N], which serve as shares of time; None if unknown."""
        if self.program.contents is None:
            return None
        instructions = self.program.count("instructions").astype(float)
        return instructions if instructions.sum() > 0 else None


def text_of(path: Path) -> bytes:
    """Content of a trace list or another text file as bytes; empty if it cannot be read or is very long.

    >>> text_of(Path("no-such.g"))
    b''
    """
    try:
        return read_regular(path, LARGEST_LIST)
    except OSError:
        return b""


def names_in(folder: Path) -> set[str]:
    """File names in a folder; empty if it cannot be read.

    >>> "kernelslist.g" in names_in(Path("traces"))
    True
    """
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


@lru_cache(maxsize=16)
def _links_in(folder: str) -> set[str]:
    """Names of the symbolic links in a folder; empty if it cannot be read."""
    try:
        with os.scandir(folder or ".") as entries:
            return {entry.name for entry in entries if entry.is_symlink()}
    except OSError:
        return set()
