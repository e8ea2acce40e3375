"""Ranges of a run (phases, layers, modules and operators, nested), the contract of their sources, and the ranges of a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

import numpy as np

from kernelpoint.admission import admitted_rows, kinds
from kernelpoint.errors import ConfigError, ProfileError, shown
from kernelpoint.profiles.calls import MOST_PARTS
from kernelpoint.profiles.format import FORMATS, NOT_THIS, Beginning, beginning_of, errors_of_file
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.registry import Registry
from kernelpoint.workload import labelled

MOST_RANGES = 1_000_000
SEPARATOR = "/"


@dataclass(frozen=True)
class Ranges:
    """Tree of the ranges of a run: named parts such as phases, layers and operators. The root is the whole run, with the empty
    path.

    Attributes:
        paths: path of each range, names separated by "/"; a range stands after the range that contains it.
        parents: int64 [R], index of the range that contains each range; -1 for the root.
        of_launch: int64 [N], index of the innermost range of each launch; processes stand one after another.
        source: origin of the ranges, as text.

    >>> ranges = Ranges.of(["decode/layer.0", "decode/layer.1", ""], "an example")
    >>> ranges.paths, ranges.parents.tolist(), ranges.of_launch.tolist()
    (('', 'decode', 'decode/layer.0', 'decode/layer.1'), [-1, 0, 1, 1], [2, 3, 0])
    """

    paths: tuple[str, ...]
    parents: np.ndarray
    of_launch: np.ndarray
    source: str

    @classmethod
    def of(cls, paths: Sequence[str], source: str) -> Ranges:
        """Make the tree of ranges (named parts of a run) from the path of each launch; a launch with an empty path is in no
        range.

        Raises:
            ConfigError: a path has more than MOST_PARTS names, or there are more than MOST_RANGES ranges.
        """
        numbers: dict[str, int] = {"": 0}
        parents, of_launch, places = [-1], np.zeros(len(paths), np.int64), dict[str, int]()
        for launch, path in enumerate(paths):
            if path not in places:
                places[path] = _number(path, numbers, parents, source)
            of_launch[launch] = places[path]
        return cls(tuple(numbers), np.array(parents, dtype=np.int64), of_launch, source)

    def layers(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find innermost ranges that execute the same sequence of kernels.

        Args:
            keys: int64 [N], equal for launches with the same kernel and shape.

        Returns:
            int64 [N], number of the innermost range of each launch, -1 in no range; int64 [ranges], equal for ranges that
            execute the same sequence.

        >>> layers, kinds = Ranges.of(["", "a", "a", "b", "b"], "an example").layers(np.array([9, 1, 2, 1, 2]))
        >>> layers.tolist(), kinds.tolist()
        ([-1, 0, 0, 1, 1], [0, 0])
        """
        layers, kinds, kinds_by_keys = np.full(len(keys), -1, np.int64), list[int](), dict[bytes, int]()
        order = np.argsort(self.of_launch, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(self.of_launch[order])) + 1):
            if len(members) and self.of_launch[members[0]] > 0:
                layers[members] = len(kinds)
                kinds.append(kinds_by_keys.setdefault(keys[members].tobytes(), len(kinds_by_keys)))
        return layers, np.array(kinds, dtype=np.int64)


def matching(pattern: str, paths: Sequence[str]) -> list[str]:
    """Paths of the ranges that a pattern matches; `*` matches any text in one name of a path.

    Args:
        pattern: names separated by "/".
        paths: paths of all ranges.

    >>> matching("decode/*", ("", "decode", "decode/layer.0", "decode/layer.0/mlp"))
    ['decode/layer.0']
    """
    parts = pattern.strip(SEPARATOR).split(SEPARATOR)
    split = ((path, path.split(SEPARATOR)) for path in paths if path)
    return [path for path, path_parts in split if len(path_parts) == len(parts) and all(map(fnmatchcase, path_parts, parts))]


def _number(path: str, numbers: dict[str, int], parents: list[int], source: str) -> int:
    """Number of the range with a path; missing outer ranges are added first."""
    parts = [part.strip() for part in path.split(SEPARATOR) if part.strip()]
    if len(parts) > MOST_PARTS:
        raise ConfigError(
            f"ranges: {source}: {shown(path)} has {len(parts)} parts; allowed: at most {MOST_PARTS}, separated by {SEPARATOR}"
        )
    number, whole = 0, ""
    for part in parts:
        whole = f"{whole}{SEPARATOR}{part}" if whole else part
        if whole not in numbers:
            if len(parents) >= MOST_RANGES:
                raise ConfigError(f"ranges: {source}: more than {MOST_RANGES:,} ranges; name fewer, or coarser ones")
            numbers[whole] = len(parents)
            parents.append(number)
        number = numbers[whole]
    return number


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
