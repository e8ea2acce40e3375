"""Neyman allocation over all strata jointly, with cost, finite populations and bounds on the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats, Ints


def sampling_factors(N: Ints, n: NDArray[np.number]) -> Floats:
    """A_h = N_h^2 (1 / n_h - 1 / N_h), float64 [H]: the variance of a stratified total is sum_h A_h S_h^2 (Sarndal et al.,
    eq. 3.7.9). 0 in strata that are drawn whole; a stratum without draws counts as one with a single draw.

    >>> sampling_factors(np.array([10, 4]), np.array([5, 4])).tolist()
    [10.0, 0.0]
    """
    return np.where(n < N, N.astype(float) ** 2 * (1.0 - n / np.maximum(N, 1)) / np.maximum(n, 1), 0.0)


def cheapest(shares: Floats, low: NDArray[np.number], N: Ints, enough: Callable[[Floats], bool]) -> Floats:
    """Smallest sample sizes n_h = clip(lambda shares_h, low_h, N_h) for which `enough` is true, float64 [H].

    Strata at a bound are fixed and the rest takes over what they leave, which is what the bisection on lambda does. Where
    no such sizes are enough, all units.

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
    """Sizes before rounding, float64 [H], for which the variance of the total is at most `target`, at the least cost.

    Formula: n_h = N_h S_h / sqrt(c_h lambda), clamped to [low_h, N_h], lambda so that V(n) = target (Sarndal et al., section
    3.7.4; with the finite-population term, methods of Wright 2012). STEM's solution (Chung et al., MICRO 2025, eq. 6) is the
    special case without the term -1 / N_h.

    Args:
        N: int [H], units per stratum; S2: float [H], variances S_h^2; cost: float [H], positive; low: [H], at least.
        target: variance allowed; 0 or less takes everything that varies.
        expected: S_h^2 that decide how the draws are shared out, where these must not be those of V(n); None: the same.

    >>> neyman(np.array([100, 100]), np.array([1.0, 9.0]), np.ones(2), 2000.0, np.ones(2)).round(2).tolist()
    [13.33, 40.0]
    """
    shares = np.sqrt((S2 if expected is None else expected) / cost) * N.astype(float)
    return cheapest(shares, low, N, lambda n: float(sampling_factors(N, n) @ S2) <= target)
