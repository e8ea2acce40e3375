"""Labels of launches: strata numbered in order, first launches, neighbours."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import PolicyError
from kernelpoint.estimation.numbering import number_labels
from kernelpoint.profiles import Profile

TIME_STEP = 0.1  # Model: times within a tenth of each other are alike on any GPU
TIME_NOISE = 0.2  # Model: times of launches between equal neighbours differ by noise if their CoV is below this


def first_of_each(strata: np.ndarray) -> np.ndarray:
    """int64 [H]: the first launch of every stratum, in the order of the strata; -1 marks launches in none.

    >>> first_of_each(np.array([1, -1, 0, 1])).tolist()
    [2, 0]
    """
    found, first = np.unique(strata, return_index=True)
    return first[found >= 0].astype(np.int64)


def numbered(strata: np.ndarray) -> np.ndarray:
    """int32 [N]: the same strata numbered 0, 1, ... in the order of their first launch; negative ones become -1.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    found, first, inverse = np.unique(strata, return_index=True, return_inverse=True)
    real = np.flatnonzero(found >= 0)
    rank = np.full(len(found), -1, dtype=np.int32)
    rank[real[np.argsort(first[real])]] = np.arange(len(real))
    return rank[inverse.ravel()]


def first_of_each_process(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """bool [N]: which launches are the first with their label in their process."""
    process = np.searchsorted(offsets, np.arange(len(label)), side="right")
    firsts = np.zeros(len(label), dtype=bool)
    firsts[np.unique(np.column_stack([process, label]), axis=0, return_index=True)[1]] = True
    return firsts


def context(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """int64 [N]: one label for (previous, own, next) of each launch within its process; beyond the ends stands -2.

    Args:
        label: int [N].
        offsets: int64 [processes + 1], first unit of each process.

    >>> context(np.array([4, 7, 4, 7, 4, 7]), np.array([0, 6])).tolist()
    [0, 2, 3, 2, 3, 1]
    """
    own = number_labels(label)
    number, kinds = own.number + 1, len(own.first) + 1  # 0 stands beyond the ends
    before, after = np.zeros_like(number), np.zeros_like(number)
    before[1:], after[:-1] = number[:-1], number[1:]
    before[offsets[:-1][offsets[:-1] < len(label)]] = 0
    after[offsets[1:] - 1] = 0
    pair = number_labels(before.astype(np.int64) * kinds + number).number
    return number_labels(pair.astype(np.int64) * kinds + after).number.astype(np.int64)


def varying_context(label: np.ndarray, kernel: np.ndarray, signature: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """int64 [N]: labels split by the nearest launches before and after, in their process, whose kernels come in several
    signatures. Persistent kernels have one grid for every size of their data; such a neighbour tells the size.

    Args:
        label, kernel, signature: int [N]; kernel numbers from 0, -1 unknown; a signature is of one kernel.
        offsets: int64 [processes + 1], first unit of each process.

    >>> kernel = np.array([0, 1, 1, 0, 1, 1])
    >>> varying_context(kernel, kernel, np.array([5, 7, 7, 6, 7, 7]), np.array([0, 6])).tolist()
    [0, 2, 2, 1, 3, 3]
    """
    own = number_labels(signature)
    tells = np.bincount(kernel[own.first] + 1, minlength=int(kernel.max(initial=-1)) + 2)[kernel + 1] > 1
    rows, size = np.arange(len(label)), len(label)
    process = np.searchsorted(offsets, rows, side="right")
    last = np.maximum.accumulate(np.where(tells, rows, -1))
    following = np.minimum.accumulate(np.where(tells, rows, size)[::-1])[::-1]
    found = label.astype(np.int64)
    for neighbour in (np.append(-1, last)[:size], np.append(following, size)[1:]):
        at = np.clip(neighbour, 0, max(size - 1, 0))
        is_there = (neighbour == at) & (process[at] == process)
        told = np.where(is_there, own.number[at].astype(np.int64) + 1, 0)
        found = number_labels(found * (len(own.first) + 1) + told).number.astype(np.int64)
    return found


def averaged(times: np.ndarray, group: np.ndarray) -> np.ndarray:
    """float64 [N]: the mean of the times in each launch's group, or its own time where these differ by more than noise.

    Args:
        times: float64 [N], above 0; group: int [N].

    >>> averaged(np.array([10.0, 11.0, 10.0, 90.0]), np.array([0, 0, 1, 1])).tolist()
    [10.5, 10.5, 10.0, 90.0]
    """
    number = number_labels(group).number
    count = np.bincount(number)
    mean = np.bincount(number, times) / count
    variance = np.bincount(number, (times - mean[number]) ** 2) / count
    return np.where((variance < (TIME_NOISE * mean) ** 2)[number], mean[number], times)


def steps(times: np.ndarray) -> np.ndarray:
    """int64 [N]: equal for times (float64 [N], above 0) that are within about a tenth of each other.

    >>> steps(np.array([100.0, 101.0, 300.0])).tolist()
    [48, 48, 60]
    """
    return np.round(np.log(times) / np.log1p(TIME_STEP)).astype(np.int64)


def refined(
    levels: list[np.ndarray], expected: np.ndarray, known: np.ndarray, profile: Profile
) -> tuple[list[np.ndarray], np.ndarray]:
    """Levels (int64 [N] each, coarse to fine) and expected costs (float64 [N]) of launches of which a profile knows times.

    The amount of work gives way to the time elsewhere, in steps of a tenth: launches of one cluster that took about as
    long there. A launch without a time keeps its amount of work; its expected time is that of its kind per unit of
    work. The bound does not rest on it: strata are only made of it, and a time that is wrong makes a
    stratum that spreads, which its draws show.

    Args:
        levels: cluster, amount of work, stream, context; from the traces, as are `expected` and `known`.
        profile: rows in unit order; nan where it has no time.

    Raises:
        PolicyError: a time is negative.

    >>> rows = [np.zeros(4, int)] * 4
    >>> from types import SimpleNamespace
    >>> profile = SimpleNamespace(has_times=True, time=np.array([100.0, 101.0, 300.0, np.nan]), source="elsewhere")
    >>> found, cost = refined(rows, np.array([1.0, 1.0, 3.0, 2.0]), np.ones(4, bool), profile)
    >>> found[1].tolist(), cost.tolist()
    ([1, 1, 2, 0], [100.0, 101.0, 300.0, 200.0])
    """
    times = profile.time
    if bool((times < 0).any()):
        raise PolicyError(f"{profile.source}: a launch takes {np.nanmin(times)}, allowed: times from 0")
    told = known & np.isfinite(times) & (times > 0)
    if not told.any():
        return levels, expected
    scale = float(np.median(times[told] / expected[told]))
    cost = np.where(told, np.where(told, times, 1.0), scale * expected)
    step = steps(cost)
    cluster, amount, stream, context = levels
    least = int(amount.min()) - 1
    label = np.where(told, step, -1 - int(np.abs(step).max()) - (amount - least))
    return [cluster, np.unique(label, return_inverse=True)[1].astype(np.int64), stream, context], cost
