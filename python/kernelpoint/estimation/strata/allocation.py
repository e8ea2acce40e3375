"""Neyman allocation over all strata jointly, with cost, finite populations and bounds on the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats, Ints


def variance_of_total(N: Ints, S2: Floats, n: NDArray[np.number]) -> float:
    """Variance of a stratified total, V = sum_h N_h^2 S_h^2 (1 / n_h - 1 / N_h) (Sarndal et al., eq. 3.7.9).

    Strata with N_h = 0 add nothing; a stratum with N_h > 0 and n_h = 0 makes it infinite unless S_h^2 = 0.

    >>> variance_of_total(np.array([10, 4]), np.array([1.0, 2.0]), np.array([5, 4]))
    10.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = N.astype(float) ** 2 * S2 * (1.0 / n - 1.0 / N)
    return float(np.where((N == 0) | (S2 == 0.0), 0.0, np.maximum(terms, 0.0)).sum())


def bisect(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """Smallest number in (low, high] for which `enough` is true, to one part in a million. `high` must be enough, low > 0."""
    while high > low * (1.0 + 1e-6):
        middle = math.sqrt(low) * math.sqrt(high)
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def cheapest(
    wanted: Floats,
    N: Ints,
    cost: Floats,
    enough: Callable[[Ints], bool],
    rounding: Floats | float = 0.0,
    power: float = 0.5,
) -> Ints:
    """Smallest sample sizes for which `enough` is true, at the least cost.

    Formula: n_h = max(wanted_h, lambda N_h / c_h^power); power 1/2 is Neyman's allocation for the number of units of a kind
    that is as frequent in every stratum, 1 spends as much on each launch of any, which pays where costs are known. Rounded
    down after `rounding`, in [0, 1), is added; all units where no smaller sizes are enough.

    >>> cheapest(np.ones(2), np.array([100, 100]), np.array([1.0, 4.0]), lambda n: n.sum() >= 30).tolist()
    [20, 10]
    """

    def sizes(scale: float) -> Ints:
        n = np.floor(np.maximum(wanted, scale * N / cost**power) + rounding + 1e-9)
        return np.minimum(n, N).astype(np.int64)

    high = float(cost.max(initial=1.0) ** power)
    return sizes(0.0) if enough(sizes(0.0)) else sizes(bisect(1e-12 * high, high, lambda scale: enough(sizes(scale))))


def neyman(
    N: Ints, S2: Floats, cost: Floats, target: float, low: Ints, expected: tuple[Floats, Floats] | None = None
) -> Ints:
    """Cheapest sizes for which the variance of the total is at most `target`: minimise sum n_h c_h subject to V(n) <= target.

    Formula: n_h = N_h S_h / sqrt(c_h lambda), clamped to [low_h, N_h], lambda by bisection so that V(n) = target
    (Sarndal et al., section 3.7.4; with the finite-population term, methods of Wright 2012). Strata at a bound are fixed
    and the rest takes over what they leave, which is what the bisection does. STEM's solution (Chung et al., MICRO 2025,
    eq. 6) is the special case without the term -1 / N_h. Sizes are rounded up.

    Args:
        N: int [H], units per stratum; S2: float [H], variances S_h^2; cost: float [H], positive; low: int [H], at least.
        target: variance allowed; 0 or less takes everything that varies.
        expected: S_h^2 and c_h that decide how the draws are shared out, where these must not be those that V(n) is
            computed with; None: the same.

    Returns:
        int64 [H], low_h <= n_h <= N_h.

    >>> neyman(np.array([100, 100]), np.array([1.0, 9.0]), np.ones(2), 2000.0, np.ones(2, dtype=np.int64)).tolist()
    [14, 41]
    """
    shares, price = (S2, cost) if expected is None else expected
    root = np.sqrt(shares / price) * N
    low = np.minimum(low, N)

    def sizes(scale: float) -> Floats:
        return np.clip(root * scale, low, N)

    if variance_of_total(N, S2, low) <= target:
        return low.astype(np.int64)
    positive = root[root > 0.0]
    if target <= 0.0 or not len(positive):
        return np.where((S2 > 0.0) | (root > 0.0), N, low).astype(np.int64)
    full = float((N[root > 0.0] / positive).max())  # at this scale every stratum that varies is drawn whole
    start = float((np.maximum(low, 0.5)[root > 0.0] / positive).min())  # below it every size is at its lower bound
    scale = bisect(start, full, lambda s: variance_of_total(N, S2, sizes(s)) <= target)
    return np.minimum(np.ceil(sizes(scale) - 1e-9), N).astype(np.int64)
