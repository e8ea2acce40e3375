"""Sources of ranges: their contract, and the ranges of a run from the value of `ranges:`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from kernelpoint.admission import admitted_rows, kinds
from kernelpoint.errors import ConfigError, ProfileError, shown
from kernelpoint.profiles.format import FORMATS, NOT_THIS, Beginning, beginning_of, errors_of_file
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.ranges.ranges import Ranges
from kernelpoint.registry import Registry
from kernelpoint.workload import labelled


class RangeSource(ABC):
    """Base class of sources of ranges (named parts of a run). The registry `SOURCES` finds subclasses; other packages register
    theirs in the entry point group `kernelpoint.ranges`.

    Class attributes:
        description: name of the source, for messages that list the allowed sources.
        word: value of the key `ranges` that chooses a source without a file; empty for a source that reads a file.
    """

    description: ClassVar[str]
    word: ClassVar[str] = ""

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file, given its beginning, is of this source, on the scale of profile formats."""
        return NOT_THIS

    @abstractmethod
    def paths(self, file: Path, launches: Program, log: Log) -> list[str]:
        """Path of each launch in the tree of ranges, names separated by "/"; empty for a launch in no range.

        Args:
            file: file of ranges; the empty path for a source without a file.
            launches: launches of the run.
            log: function that receives messages.

        Raises:
            ProfileError: the file is damaged, or is of other launches; the message says where.
        """


SOURCES: Registry[RangeSource] = Registry("ranges", RangeSource, "kernelpoint.ranges.sources", "kernelpoint.ranges")


def read_ranges(value: str, launches: Program, log: Log) -> Ranges:
    """Read the ranges (named parts, such as layers) of a run.

    Args:
        value: file of ranges, or `names` or `detected`, which need no file.
        launches: launches of the run.
        log: function that receives messages.

    Raises:
        ProfileError: the file is missing, of no known source, damaged, or of other launches; the message says where.
        ConfigError: no launch lies in a range, or there are too many ranges.

    >>> _ = Path("ranges.csv").write_text("launch,path\\n0,prefill\\n1,decode/layer.0\\n")
    >>> import numpy as np
    >>> shapes = np.zeros((3, 3), int)
    >>> read_ranges("ranges.csv", Program.of(["gemm"] * 3, shapes, shapes), print).paths
    ('', 'prefill', 'decode', 'decode/layer.0')
    """
    sources = SOURCES.load_all()
    source = next((candidate for candidate in sources if candidate.word and candidate.word == value), None)
    with errors_of_file(f"ranges: {value}"):
        paths = _of_file(Path(value), launches, log) if source is None else source().paths(Path(), launches, log)
    if not any(paths):
        raise ConfigError(f"ranges: no range of {shown(value)} contains a launch of this run; give ranges of this workload")
    return Ranges.of(paths, value)


def _of_file(file: Path, launches: Program, log: Log) -> list[str]:
    """Path of each launch in a file of a source, or in a profile that shows ranges."""
    beginning, sources = beginning_of(file), SOURCES.load_all()
    formats = [one for one in FORMATS.load_all() if one.ranges]
    source = max((one for one in sources if not one.word), key=lambda one: one.certainty(beginning))
    profile = max(formats, key=lambda one: one.certainty(beginning))
    if max(source.certainty(beginning), profile.certainty(beginning)) == NOT_THIS:
        allowed = "; ".join([*(one.description for one in sources), *(one.ranges for one in formats)])
        raise ProfileError(
            f"ranges: {file} is no known file of ranges (it begins {beginning.first_line[:60]!r}); allowed: {allowed}"
        )
    if source.certainty(beginning) > profile.certainty(beginning):
        return source().paths(file, launches, log)
    profiled = profile(with_ranges=True).read(file, None)
    if launches.names.distinct:
        rows = admitted_rows(profiled, launches, kinds(), lambda line: log(f"kernelpoint: ranges: {line}"))
        return list(profiled.take(rows).ranges) or [""] * launches.size
    if profiled.size != launches.size:
        raise ProfileError(
            f"{file} has {profiled.size:,} launches, the run {launches.size:,}; without names they cannot be matched"
        )
    return list(profiled.ranges)


def ranges_for(value: str | None, program: Program, log: Log) -> Ranges | None:
    """Read the ranges (named parts, such as layers) of a program; None if the configuration has none.

    Args:
        value: value of the configuration key `ranges`, or None.
        program: launches of the run.
        log: function that receives messages.

    >>> ranges_for(None, Program((6,)), print) is None
    True
    """
    if value is None:
        return None
    if len(program.ranges) and program.source == value:  # of the profile, which was read with them
        return Ranges.of(list(program.ranges), value)
    return read_ranges(value, labelled(program), log)
