"""Permanent random numbers that spread the sample of every stratum over the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.numbering import in_order

Ints16 = NDArray[np.int16]

LEVELS = 10  # a stratum is halved this often; samples of 2^LEVELS and more are spread as finely as that
BIT_LENGTH = np.array([n.bit_length() for n in range(1 << LEVELS)], dtype=np.int16)
BLOCK = 1 << 18  # units that are worked on at once, where a stratum has no more


def spread_over_run(u: Floats, strata: NDArray[np.integer]) -> Floats:
    """float64 [N]: random numbers in [0, 1) whose n smallest in a stratum are spread evenly over the run, for every n.

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
    first = start = 0
    while start < len(place):  # whole strata, a block of them at a time, to bound memory
        last = max(int(np.searchsorted(ends, start + BLOCK, side="right")), first + 1)
        inside = place[start : int(ends[last - 1])]
        balanced[inside] = _spread(numbers[inside], sizes[first:last])
        first, start = last, int(ends[last - 1])
    return balanced


def _spread(digits: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Balanced numbers of the units of some strata, from their own, by stratum and turned place."""
    halvings = np.minimum(np.floor(np.log2(sizes)), LEVELS).astype(np.int16)  # every part of the last level has a unit
    depth, scale = np.repeat(halvings, sizes), np.repeat(2.0**halvings, sizes)
    part = (_places(sizes) / np.repeat(sizes, sizes) * scale).astype(np.int16)
    begins = _level_of_start(part, depth, np.cumsum(sizes) - sizes)
    bits = (digits * 2.0 ** (LEVELS + 1)).astype(np.int16)
    bits_first = np.zeros(len(part), dtype=np.int16)
    for level in range(int(halvings.max())):
        first = np.flatnonzero(begins <= level)
        coin = np.repeat((bits[first] >> (LEVELS - level)) & 1, np.diff(first, append=len(part)))
        bit = ((part >> np.maximum(depth - np.int16(level + 1), 0)) ^ coin) & 1
        bits_first |= np.where(level < depth, bit << level, 0)  # the first halves count least: they alternate fastest
    result = bits_first + scale * _turn_in_part(begins <= depth, digits)
    return np.asarray((result + digits) / (scale * np.ceil(np.repeat(sizes, sizes) / scale)))


def _level_of_start(part: Ints16, depth: Ints16, starts: NDArray[np.int64]) -> Ints16:
    """The first level, int16 [n], at which a unit is the first of its part; above its depth where it is that of none.

    Parts of level k are those of the last level less their last depth - k bits, so it is a matter of the highest bit in which
    a unit's part differs from that of the unit before.
    """
    differs = np.zeros_like(part)
    np.bitwise_xor(part[1:], part[:-1], out=differs[1:])
    level = depth + np.int16(1) - BIT_LENGTH[differs]
    level[starts] = 0
    return np.asarray(level)


def _turned(
    u: Floats, h: NDArray[np.integer], units: NDArray[np.int64]
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Units by stratum and turned place [n], and the sizes of the strata that there are."""
    order = in_order(h)[len(h) - len(units) :]
    starts = np.flatnonzero(np.r_[True, np.diff(h[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    turn = np.floor(np.modf(u[order[starts]] * 2.0**24)[0] * sizes).astype(np.int64)
    # the place `rank` of a stratum goes to rank + turn, and over its end to its start: two runs change their order
    first = np.column_stack((starts + sizes - turn, starts)).ravel()
    runs = np.column_stack((turn, sizes - turn)).ravel()
    return order[_places(runs) + np.repeat(first, runs)], sizes


def _places(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers 0 to size - 1 for the units of each stratum, stratum after stratum."""
    places = np.arange(int(sizes.sum()))
    places -= np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def _turn_in_part(begins: NDArray[np.bool_], digits: Floats) -> Floats:
    """Turn of each unit among the units of its part, 0, 1, ...: by their numbers, so that each turn is one unit's."""
    starts = np.flatnonzero(begins)
    units = np.diff(starts, append=len(digits))
    turn = np.zeros(len(digits))
    pair = starts[units == 2]
    first = digits[pair] <= digits[pair + 1]
    turn[pair], turn[pair + 1] = np.where(first, 0.0, 1.0), np.where(first, 1.0, 0.0)
    part = np.repeat(np.arange(len(starts)), units)
    larger = np.flatnonzero(units[part] > 2)
    part, start = part[larger], 0
    while start < len(larger):  # a block of whole parts at a time: sorting is quicker there
        end = int(np.searchsorted(part, part[min(start + BLOCK, len(part)) - 1], side="right"))
        inside, of = larger[start:end], part[start:end]
        turn[inside[np.argsort(of + digits[inside])]] = inside - starts[of]  # sorted or not, they lie part by part
        start = end
    return turn
