"""Matching of a profile's rows with the launches of a trace list."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelpoint.profiles.names import base_key, full_key
from kernelpoint.program import Program
from kernelpoint.repeated import distinct_rows

MOST_EDITS = 2000  # launches missing on either side up to which the order is matched; it costs their square


@dataclass(frozen=True, eq=False)
class Matching:
    """Assignment of the P launches of a profile to the launches of a trace list.

    Attributes:
        listed: int64 [P], launch of the list for each row of the profile; -1 for a row without a launch.
        launches: number of launches of the list.
        how: method: "order" (longest common subsequence), or "occurrence" (the k-th launch with a name, grid and block belongs
            to the k-th row with them).
        by_base: number of launches matched by function name alone, because template arguments are written differently.
        replays: number of replays of CUDA graphs in the profile. The replays of a node may share one launch of the list.

    Example:
        >>> matching = Matching(np.array([0, 2, -1]), launches=3)
        >>> matching.rows.tolist(), matching.unused.tolist(), matching.extra.tolist()
        ([0, -1, 1], [1], [2])
    """

    listed: np.ndarray
    launches: int
    how: str = "order"
    by_base: int = 0
    replays: int = 0

    @cached_property
    def rows(self) -> np.ndarray:
        """Row of the profile for each launch of the list, -1 for a launch without a row, int64."""
        rows = np.full(self.launches, -1, dtype=np.int64)
        there = np.flatnonzero(self.listed >= 0)
        rows[self.listed[there]] = there
        return rows

    @property
    def unused(self) -> np.ndarray:
        """Launches of the list without a row, int64."""
        return np.flatnonzero(self.rows < 0)

    @property
    def extra(self) -> np.ndarray:
        """Rows of the profile that belong to no launch, int64."""
        return np.flatnonzero(self.listed < 0)

    @property
    def matched(self) -> int:
        """Number of launches of the list that have a row in the profile."""
        return self.launches - len(self.unused)

    def sentences(self) -> list[str]:
        """Sentences for the user on the launches and rows that were matched."""
        lines = [f"{self.matched:,} of {self.launches:,} launches are in the profile, matched by {self.how}"]
        if len(self.unused):
            lines.append(f"{len(self.unused):,} launches are not in the profile, the first is launch {self.unused[0]}")
        if len(self.extra):
            lines.append(
                f"{len(self.extra):,} of {len(self.listed):,} rows of the profile belong to no launch, the first is row "
                f"{self.extra[0]}; if the list is of the whole program, the tracer missed these launches"
            )
        if self.by_base:
            lines.append(f"{self.by_base:,} launches were matched by function name, grid and block without template arguments")
        return lines


def match(profile: Program, launches: Program) -> Matching:
    """Find the row of a profile for every launch of a list.

    A row and a launch can be matched if name, grid and block are equal. Mangled and demangled names are equal in the spelling
    of `names.full_key`; if one side has only function names, these are compared. A name or grid that one side lacks in all its
    launches is not compared. Both sides are in program order, so rows are assigned along the longest common subsequence (Myers
    1986). If more than MOST_EDITS launches differ, the order is not trusted, and the k-th launch with a name, grid and block
    gets the k-th row with them.

    Args:
        profile: program (table of launches) of the profile.
        launches: program of the list.

    >>> grid, block = np.array([[1, 1, 1]] * 3), np.array([[32, 1, 1]] * 3)
    >>> profile = Program.of(["a(int)", "b(int)"], grid[:2], block[:2])
    >>> match(profile, Program.of(["a(int)", "c()", "b(int)"], grid, block)).rows.tolist()
    [0, -1, 1]
    """
    b, a, renamed = _compared(profile, launches)
    rows = _common_subsequence(a, b)
    how = "order"
    if rows is None:
        rows, how = _by_occurrence(a, b), "occurrence"
    listed = np.full(len(b), -1, dtype=np.int64)
    there = np.flatnonzero(rows >= 0)
    listed[rows[there]] = there
    return Matching(listed, len(rows), how, int(np.array(renamed, dtype=bool)[there].sum()))


def kinds_of(profile: Program, launches: Program) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are equal for launches that `match` may match (equal name, grid and block), int64, for a profile and for a
    list.

    >>> kinds_of(Program.of(["a(int)"]), Program.of(["a(int)", "b()"]))
    (array([0]), array([0, 1]))
    """
    theirs, ours, _ = _compared(profile, launches)
    return np.array(theirs, dtype=np.int64), np.array(ours, dtype=np.int64)


def _compared(profile: Program, launches: Program) -> tuple[list[int], list[int], list[bool]]:
    """Codes of the kinds of a profile's rows and of launches; and which launches are compared by function name alone."""
    shapes = np.concatenate([profile.names.numbers[:, None], profile.grid, profile.block], axis=1)
    first, which = distinct_rows(shapes)
    names = [profile.names[row] for row in first.tolist()]
    compare_names = any(names) and bool(launches.names.distinct)
    ours = [full_key(name) if compare_names else "" for name in launches.names]
    theirs = [full_key(name) if compare_names else "" for name in names]
    common = set(ours) & set(theirs)
    renamed = [key not in common for key in ours]
    ours = [base_key(n) if new else key for n, key, new in zip(launches.names, ours, renamed, strict=True)]
    theirs = [key if key in common else base_key(name) for name, key in zip(names, theirs, strict=True)]
    compare_shapes = bool(profile.grid.any()) and bool(launches.grid.any())
    codes: dict[tuple[object, ...], int] = {}
    a = _codes(ours, launches.grid, launches.block, compare_shapes, codes)
    of_first = _codes(theirs, profile.grid[first], profile.block[first], compare_shapes, codes)
    return np.array(of_first, dtype=np.int64)[which].tolist(), a, renamed


def _codes(
    keys: list[str], grid: np.ndarray, block: np.ndarray, shapes: bool, codes: dict[tuple[object, ...], int]
) -> list[int]:
    if not shapes:
        return [codes.setdefault((key,), len(codes)) for key in keys]
    sizes = np.concatenate([grid, block], axis=1).tolist()
    return [codes.setdefault((key, *size), len(codes)) for key, size in zip(keys, sizes, strict=True)]


def _common_subsequence(a: list[int], b: list[int]) -> np.ndarray | None:
    """Row of b for each item of a along a longest common subsequence; None where more than MOST_EDITS items differ.

    Myers's greedy algorithm (Algorithmica 1, 1986, section 2): furthest[k + middle] is how far along a the best path on
    diagonal k = i - j has come.
    """
    n, m = len(a), len(b)
    middle = MOST_EDITS + 1
    furthest = array("q", bytes(8 * (2 * middle + 1)))
    history = []  # furthest[-edits ... edits] before each round
    for edits in range(MOST_EDITS + 1):
        history.append(furthest[middle - edits - 1 : middle + edits + 2])
        for k in range(-edits, edits + 1, 2):
            above, beside = furthest[middle + k + 1], furthest[middle + k - 1]
            i = above if k == -edits or (k != edits and beside < above) else beside + 1
            while i < n and i - k < m and a[i] == b[i - k]:
                i += 1
            furthest[middle + k] = i
            if i >= n and i - k >= m:
                return _walk_back(history, n, m)
    return None


def _walk_back(history: list[array[int]], n: int, m: int) -> np.ndarray:
    """Trace the path of the search back from (n, m) to the matching pairs."""
    rows = np.full(n, -1, dtype=np.int64)
    i, j = n, m
    for edits in range(len(history) - 1, 0, -1):
        furthest, k = history[edits], i - j
        above, beside = furthest[k + edits + 2], furthest[k + edits]
        is_above = k == -edits or (k != edits and beside < above)
        start = above if is_above else beside
        end = start - (k + 1 if is_above else k - 1)
        while i > start and j > end:
            i, j = i - 1, j - 1
            rows[i] = j
        i, j = start, end
    rows[:i] = np.arange(i)  # before the first edit the lists agree
    return rows


def _by_occurrence(a: list[int], b: list[int]) -> np.ndarray:
    places: dict[int, list[int]] = {}
    for position, code in enumerate(b):
        places.setdefault(code, []).append(position)
    used: dict[int, int] = {}
    rows = np.full(len(a), -1, dtype=np.int64)
    for position, code in enumerate(a):
        k = used.get(code, 0)
        if k < len(places.get(code, ())):
            rows[position] = places[code][k]
            used[code] = k + 1
    return rows
