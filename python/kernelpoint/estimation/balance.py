"""Permanent random numbers that spread the sample of every stratum over the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVELS = 10  # a stratum is halved this often; samples of 2^LEVELS and more are spread as finely as that
BLOCK = 1 << 18  # units that are worked on at once, where a stratum has no more


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
    >>> bool(np.diff(np.sort(np.argsort(u)[:8])).max() < 16)
    True
    """
    h = np.asarray(strata)
    units = np.flatnonzero(h >= 0)
    if not len(units):
        return u
    place, sizes = _turned(u, h, units)
    numbers, balanced = np.asarray(u, dtype=float), np.array(u, dtype=float)
    ends = np.cumsum(sizes)
    first = begin = 0
    while begin < len(place):  # a block of whole strata at a time, which bounds what is held
        last = max(int(np.searchsorted(ends, begin + BLOCK, side="right")), first + 1)
        inside = place[begin : int(ends[last - 1])]
        balanced[inside] = _spread(numbers[inside], sizes[first:last])
        first, begin = last, int(ends[last - 1])
    return balanced


def _spread(digits: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Balanced numbers of the units of some strata, from their own, by stratum and turned place."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    p = _places(sizes) / sizes[of]
    result = np.zeros(len(digits))
    depth = np.minimum(np.floor(np.log2(sizes)), LEVELS)[of]  # every part of the last level has a unit
    for level in range(int(depth.max())):
        new = _first_of_each(of, np.floor(p * 2.0**level))
        coin = np.floor(digits[np.flatnonzero(new)] * 2.0 ** (level + 1)) % 2.0
        bit = (np.floor(p * 2.0 ** (level + 1)) + coin[np.cumsum(new) - 1]) % 2.0
        result += np.where(level < depth, bit * 2.0**level, 0.0)  # the first halves count least: they alternate fastest
    scale = 2.0**depth
    result += scale * _turn_in_part(of, np.floor(p * scale), digits)
    return (result + digits) / (scale * np.ceil(sizes[of] / scale))


def _turned(
    u: Floats, h: NDArray[np.integer], units: NDArray[np.int64]
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Units by stratum and turned place [n], and the sizes of the strata that there are."""
    small = np.int32 if len(h) < 2**31 else np.int64
    order = units[np.argsort(h[units], kind="stable")].astype(small)
    starts = np.flatnonzero(np.r_[True, np.diff(h[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    turn = np.floor(np.modf(u[order[starts]] * 2.0**24)[0] * sizes).astype(np.int64)
    rank = _places(sizes)
    rank += np.repeat(turn, sizes)
    rank %= np.repeat(sizes, sizes)
    rank += np.repeat(starts, sizes)
    place = np.empty_like(order)
    place[rank] = order
    return place, sizes


def _places(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place of each unit in its stratum: 0 to size - 1 for each of the sizes, one after another."""
    places = np.arange(int(sizes.sum()))
    places -= np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def _first_of_each(stratum: NDArray[np.integer], part: Floats) -> NDArray[np.bool_]:
    """First units of the parts of their stratum, bool [n]; both are in order."""
    return np.r_[True, (part[1:] != part[:-1]) | (stratum[1:] != stratum[:-1])]


def _turn_in_part(stratum: NDArray[np.integer], part: Floats, digits: Floats) -> Floats:
    """Turn of each unit among the units of its part, 0, 1, ...: by their numbers if there are two, at random if more."""
    starts = np.flatnonzero(_first_of_each(stratum, part))
    units = np.diff(np.r_[starts, len(part)])
    turn = np.floor(digits * np.repeat(units, units))
    pair = starts[units == 2]
    first = digits[pair] <= digits[pair + 1]
    turn[pair], turn[pair + 1] = np.where(first, 0.0, 1.0), np.where(first, 1.0, 0.0)
    return turn
