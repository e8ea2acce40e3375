"""Distinct labels of many units, without sorting the units where their range allows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbering(NamedTuple):
    """Distinct labels. first: int64 [K], first unit of each, labels ascending; number: int32 [N], of each unit's label."""

    first: NDArray[np.int64]
    number: NDArray[np.int32]


def number_labels(labels: NDArray[np.integer]) -> Numbering:
    """Number the distinct labels in ascending order, as np.unique does; in linear time where they span a few times N.

    >>> number_labels(np.array([7, -1, 3, 7]))
    Numbering(first=array([1, 2, 0]), number=array([2, 0, 1, 2], dtype=int32))
    """
    labels = np.asarray(labels).ravel()
    units = len(labels)
    low, high = (int(labels.min()), int(labels.max())) if units else (0, -1)
    if high - low >= 4 * units + 1024:
        _, first, number = np.unique(labels, return_index=True, return_inverse=True)
        return Numbering(first.astype(np.int64), number.ravel().astype(np.int32))
    place = labels - low if low else labels
    there = np.zeros(high - low + 1, dtype=bool)
    there[place] = True
    number = (np.cumsum(there, dtype=np.int32) - np.int32(1))[place]
    first = np.empty(int(there.sum()), dtype=np.int64)
    first[number[::-1]] = np.arange(units - 1, -1, -1, dtype=np.int32)  # of equal places the last assignment stays
    return Numbering(first, number)
