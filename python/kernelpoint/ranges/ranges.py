"""Ranges of a run: phases, layers, modules and operators, nested, and the innermost one of every launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from kernelpoint.errors import ConfigError, shown
from kernelpoint.profiles.calls import MOST_PARTS

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
