"""Launches by what they run: the launches of equal traces have one content, which is read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def contents_of_paths(paths: Sequence[str]) -> np.ndarray:
    """int32 [N]: equal where paths are equal, numbered in the order of first appearance; -1 where a path is empty.

    >>> contents_of_paths(["a.traceg", "", "b.traceg", "a.traceg"]).tolist()
    [0, -1, 1, 0]
    """
    numbers: dict[str, int] = {}
    rows = (numbers.setdefault(path, len(numbers)) if path else -1 for path in paths)
    return np.fromiter(rows, dtype=np.int32, count=len(paths))


def first_of_each(numbers: np.ndarray) -> np.ndarray:
    """int64 [C]: the first row of each number from 0 to C - 1; rows of negative numbers are left out.

    >>> first_of_each(np.array([1, -1, 0, 1])).tolist()
    [2, 0]
    """
    rows = np.flatnonzero(numbers >= 0)[::-1]
    first = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[numbers[rows]] = rows  # of equal places the last assignment stays
    return first
