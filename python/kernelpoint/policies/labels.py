"""Labels of launches: strata numbered in order, first launches of processes, neighbours."""

from __future__ import annotations

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.numbering import number_labels


def numbered(strata: np.ndarray) -> np.ndarray:
    """Renumber strata from 0 in the order of their first launch, int32 [N]; negative numbers become -1.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    distinct, first, inverse = np.unique(strata, return_index=True, return_inverse=True)
    real = np.flatnonzero(distinct >= 0)
    rank = np.full(len(distinct), -1, dtype=np.int32)
    rank[real[np.argsort(first[real])]] = np.arange(len(real))
    return rank[inverse.ravel()]


def in_each_process(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Label launches of different processes differently, int64 [N]: those of the first process keep their label. A negative
    label becomes -1.

    Args:
        label: int [N], label of each launch.
        offsets: int64 [processes + 1], index of the first launch of each process, and N.

    >>> in_each_process(np.array([5, -1, 5, 5]), np.array([0, 2, 4])).tolist()
    [5, -1, 11, 11]
    """
    process = np.searchsorted(offsets, np.arange(len(label)), side="right") - 1
    return np.where(label < 0, -1, process * (int(label.max(initial=0)) + 1) + label)


def first_of_each_process(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """bool [N]: True for the first launch with its label in its process.

    Args:
        label: int [N], label of each launch.
        offsets: int64 [processes + 1], index of the first launch of each process, and N.
    """
    process = np.searchsorted(offsets, np.arange(len(label)), side="right")
    firsts = np.zeros(len(label), dtype=bool)
    firsts[np.unique(np.column_stack([process, label]), axis=0, return_index=True)[1]] = True
    return firsts


def context(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Label each launch by three labels: its own, and those of the launches before and after it in the same process. int64 [N],
    equal for launches with the same three labels; a missing neighbour counts as one more label.

    Args:
        label: int [N], label of each launch.
        offsets: int64 [processes + 1], index of the first launch of each process, and N.

    >>> context(np.array([4, 7, 4, 7, 4, 7]), np.array([0, 6])).tolist()
    [0, 2, 3, 2, 3, 1]
    """
    numbering = number_labels(label)
    number, kinds = numbering.number + 1, len(numbering.first) + 1  # 0 stands beyond the ends
    before, after = np.zeros_like(number), np.zeros_like(number)
    before[1:], after[:-1] = number[:-1], number[1:]
    before[offsets[:-1][offsets[:-1] < len(label)]] = 0
    after[offsets[1:] - 1] = 0
    pair = number_labels(before.astype(np.int64) * kinds + number).number
    return number_labels(pair.astype(np.int64) * kinds + after).number.astype(np.int64)


def varying_context(label: np.ndarray, kernel: np.ndarray, signature: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Split labels by the nearest launches before and after whose kernels occur with several shapes, int64 [N]. Some kernels
    have the same grid for data of every size; a neighbour whose grid varies shows the size.

    Args:
        label: int [N], label of each launch.
        kernel: int [N], number of the kernel from 0; -1 if unknown.
        signature: int [N], number of each distinct kernel name with grid and block shape.
        offsets: int64 [processes + 1], index of the first launch of each process, and N.

    >>> kernel = np.array([0, 1, 1, 0, 1, 1])
    >>> varying_context(kernel, kernel, np.array([5, 7, 7, 6, 7, 7]), np.array([0, 6])).tolist()
    [0, 2, 2, 1, 3, 3]
    """
    numbering = number_labels(signature)
    tells = np.bincount(kernel[numbering.first] + 1, minlength=int(kernel.max(initial=-1)) + 2)[kernel + 1] > 1
    rows, size = np.arange(len(label)), len(label)
    process = np.searchsorted(offsets, rows, side="right")
    last = np.maximum.accumulate(np.where(tells, rows, -1))
    following = np.minimum.accumulate(np.where(tells, rows, size)[::-1])[::-1]
    labels = label.astype(np.int64)
    for neighbour in (np.append(-1, last)[:size], np.append(following, size)[1:]):
        at = np.clip(neighbour, 0, max(size - 1, 0))
        is_there = (neighbour == at) & (process[at] == process)
        numbers = np.where(is_there, numbering.number[at].astype(np.int64) + 1, 0)
        labels = number_labels(labels * (len(numbering.first) + 1) + numbers).number.astype(np.int64)
    return labels


def usual(values: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """Mean value of the launches that should be alike, for each launch, float64 [N].

    Model: a launch whose value is more than 1 + SLOW times the median of those, or less than the median over 1 + SLOW, is of
    another kind. It does not enter the mean.

    Args:
        values: float64 [N], 0 or more, such as times of a profile.
        alike: int [N], equal for launches that should be alike, such as those with equal names, shapes and neighbours.

    >>> usual(np.array([4.0, 5.0, 6.0, 90.0, 7.0]), np.array([0, 0, 0, 0, 1])).tolist()
    [5.0, 5.0, 5.0, 5.0, 7.0]
    """
    label = number_labels(alike).number
    count = np.bincount(label)
    order = np.lexsort((values, label))
    median = values[order][np.cumsum(count) - count + (count - 1) // 2][label]
    far = 1.0 + constants.SLOW
    is_usual = (values <= far * median) & (far * values >= median)
    sums = np.bincount(label[is_usual], values[is_usual], len(count))
    return np.asarray((sums / np.maximum(np.bincount(label[is_usual], minlength=len(count)), 1))[label])
