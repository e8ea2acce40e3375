"""Permanent random numbers that spread the sample of every stratum over the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVELS = 10  # a stratum is halved this often; samples of 2^LEVELS and more are spread as finely as that


def spread_over_run(u: Floats, strata: NDArray[np.integer]) -> Floats:
    """Numbers in [0, 1) whose n least in a stratum are a spatially balanced sample of it, for every n (float64 [N]).

    A unit's place in its stratum (in order, turned by a random amount, as a fraction p) is read backwards, bit by bit, and at
    every node of that tree of halves a fair coin says which half comes first: Owen's scrambled van der Corput sequence
    (Owen 1995). So the 2^k least numbers hold one unit of each 2^k-th of the stratum. Turning makes every unit equally likely
    to be in a sample of n, so estimators stay unbiased. Coins and turns are digits of u: of the first unit in each node.

    Units with stratum -1 keep their numbers.

    Args:
        u: float64 [N], independent permanent random numbers; strata: int [N].

    >>> u = spread_over_run(np.random.default_rng(0).random(64), np.zeros(64, int))
    >>> np.unique(np.argsort(u)[:8] // 8).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    h = np.asarray(strata)
    units = np.flatnonzero(h >= 0)
    if not len(units):
        return u
    order = units[np.argsort(h[units], kind="stable")]
    starts = np.flatnonzero(np.r_[True, h[order][1:] != h[order][:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    of = np.repeat(np.arange(len(starts)), sizes)
    turn = np.floor(np.modf(u[order[starts]] * 2.0**24)[0] * sizes).astype(np.int64)
    rank = (np.arange(len(order)) - starts[of] + turn[of]) % sizes[of]
    place = np.empty(len(order), dtype=np.int64)
    place[starts[of] + rank] = order  # units by stratum and turned place
    p = (np.arange(len(order)) - starts[of]) / sizes[of]
    result, digits = np.zeros(len(order)), np.asarray(u, dtype=float)[place]
    depth = np.ceil(np.log2(sizes))[of]  # halves of one unit are not halved
    for level in range(LEVELS):
        node = np.floor(p * 2.0**level)
        new = np.r_[True, (node[1:] != node[:-1]) | (of[1:] != of[:-1])]
        coin = np.floor(digits[np.flatnonzero(new)] * 2.0 ** (level + 1)) % 2.0
        bit = (np.floor(p * 2.0 ** (level + 1)) + coin[np.cumsum(new) - 1]) % 2.0
        result += np.where(level < depth, bit * 2.0**level, 0.0)  # the first halves count least: they alternate fastest
    balanced = np.asarray(u, dtype=float).copy()
    balanced[place] = (result + digits) * 0.5**LEVELS
    return balanced
