"""Permanent random numbers that spread the sample of every stratum over the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.numbering import in_order, rank_in

LEVELS = 10  # a stratum is halved this often; samples of 2^LEVELS and more are spread as finely as that


def spread_over_run(u: Floats, strata: NDArray[np.integer]) -> Floats:
    """Random numbers in [0, 1), float64 [N], whose n smallest values in each stratum belong to launches spread evenly over the
    run, for every n.

    Method: scrambled van der Corput sequence (Owen 1995). A launch's position in its stratum, rotated by a random amount, is a
    fraction p. The bits of p are read in reverse, and a fair coin at each node of the binary tree decides which half comes
    first. So the 2^k smallest numbers have one launch in each of 2^k equal sections of the stratum. Because of the rotation,
    each launch has the same chance to be among the n smallest, and estimators stay unbiased. Coins and rotations are digits of
    `u`.

    Args:
        u: float64 [N], independent random numbers in [0, 1) that never change.
        strata: int [N], stratum of each launch; a launch with -1 keeps its number.

    >>> u = spread_over_run(np.random.default_rng(0).random(64), np.zeros(64, int))
    >>> bool(np.diff(np.sort(np.argsort(u)[:8])).max() < 16)
    True
    """
    order = in_order(strata)[np.count_nonzero(strata < 0) :]
    starts = np.flatnonzero(np.diff(strata[order], prepend=-1))
    N = np.diff(starts, append=len(order))
    turn = np.floor(np.modf(u[order[starts]] * 2.0**24)[0] * N).astype(np.int64)
    start, size = np.repeat(starts, N), np.repeat(N, N)
    place = np.arange(len(order)) - start
    units = order[start + (place - np.repeat(turn, N)) % size]  # by stratum and turned place
    digits = u[units]
    depth = np.minimum(np.floor(np.log2(size)), LEVELS).astype(np.int16)  # every part of the last level has a unit
    scale = 2.0**depth
    part = (place / size * scale).astype(np.int16)
    order_of_parts = np.zeros(len(units), dtype=np.int16)
    for level in range(int(depth.max(initial=0))):
        node = part >> np.maximum(depth - np.int16(level), 0)
        first = np.flatnonzero((place == 0) | (np.diff(node, prepend=-1) != 0))
        coin = np.repeat((digits[first] * 2.0 ** (level + 1)).astype(np.int16), np.diff(first, append=len(units)))
        bit = (part >> np.maximum(depth - np.int16(level + 1), 0) ^ coin) & 1
        order_of_parts |= np.where(level < depth, bit << level, 0)  # the first halves count least: they alternate fastest
    in_part = rank_in(np.cumsum((place == 0) | (np.diff(part, prepend=-1) != 0)), digits)
    spread = np.array(u, dtype=float)
    spread[units] = (order_of_parts + scale * in_part + digits) / (scale * np.ceil(size / scale))
    return spread
