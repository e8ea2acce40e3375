"""Neyman allocation over all strata jointly, with cost, finite populations and bounds on the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats, Ints


def sampling_factors(N: Ints, n: NDArray[np.number]) -> Floats:
    """Factor A_h by which the variance of a value inside stratum h counts in the variance of the estimated total, float64 [H]:
    the variance is sum_h A_h S_h^2.

    Formula: A_h = N_h^2 (1 / n_h - 1 / N_h) (Sarndal et al., eq. 3.7.9); 0 if every launch is drawn; n_h = 1 is used for a
    stratum without draws.

    Args:
        N: int64 [H], number of launches in each stratum.
        n: int64 or float64 [H], number of draws (sampled launches).

    >>> sampling_factors(np.array([10, 4]), np.array([5, 4])).tolist()
    [10.0, 0.0]
    """
    return np.where(n < N, N.astype(float) ** 2 * (1.0 - n / np.maximum(N, 1)) / np.maximum(n, 1), 0.0)


def cheapest(shares: Floats, low: NDArray[np.number], N: Ints, enough: Callable[[Floats], bool]) -> Floats:
    """Smallest sample sizes n_h = clip(lambda shares_h, low_h, N_h), with one factor lambda for all strata h, that satisfy a
    condition, float64 [H]. The factor is found by bisection. If no sizes satisfy it, every launch.

    Args:
        shares: float64 [H], share of the draws (sampled launches) that each stratum should get.
        low: number [H], smallest size of each stratum.
        N: int64 [H], number of launches in each stratum.
        enough: condition on the sizes; it stays true for larger sizes.

    >>> cheapest(np.array([100.0, 50.0]), np.ones(2), np.array([100, 100]), lambda n: n.sum() >= 30).round(3).tolist()
    [20.0, 10.0]
    """

    def sizes(scale: float) -> Floats:
        return np.minimum(np.maximum(low, scale * shares), N)

    if enough(sizes(0.0)):
        return sizes(0.0)
    ratios = N[shares > 0.0] / shares[shares > 0.0]
    scale = float(ratios.max(initial=0.0))  # every stratum with a share is drawn whole
    if not enough(sizes(scale)):
        return N.astype(float)
    below = 1e-12 * float(ratios.min())
    while scale > below * (1.0 + 1e-6):
        middle = math.sqrt(below) * math.sqrt(scale)
        if enough(sizes(middle)):
            scale = middle
        else:
            below = middle
    return sizes(scale)


def neyman(N: Ints, S2: Floats, cost: Floats, target: float, low: NDArray[np.number], expected: Floats | None = None) -> Floats:
    """Sample sizes of strata, before rounding, whose total has a variance of at most `target`, at the least cost (Neyman
    allocation), float64 [H].

    Formula: n_h = N_h S_h / sqrt(c_h lambda), clamped to [low_h, N_h], with lambda such that the variance is `target` (Sarndal
    et al., section 3.7.4; with finite strata, methods of Wright 2012). STEM's allocation (Chung et al., MICRO 2025, eq. 6) is
    the case without the term -1 / N_h of `sampling_factors`.

    Args:
        N: int64 [H], number of launches in each stratum.
        S2: float64 [H], variance S_h^2 of a value inside each stratum.
        cost: float64 [H], cost c_h of one draw (sampled launch), above 0.
        target: variance allowed; for 0 or less, every launch of strata with a variance is drawn.
        low: number [H], smallest size of each stratum.
        expected: float64 [H], variances that replace S_h^2 in n_h, but not in the variance of the total; None: S_h^2.

    >>> neyman(np.array([100, 100]), np.array([1.0, 9.0]), np.ones(2), 2000.0, np.ones(2)).round(2).tolist()
    [13.33, 40.0]
    """
    shares = np.sqrt((S2 if expected is None else expected) / cost) * N.astype(float)
    return cheapest(shares, low, N, lambda n: float(sampling_factors(N, n) @ S2) <= target)
