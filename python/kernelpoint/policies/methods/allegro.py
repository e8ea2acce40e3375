"""Allegro: recursive 2-means on kernel times and samples sized by the central limit theorem (Chung et al., MLArchSys 2024)."""

from __future__ import annotations

import numpy as np

from kernelpoint.policies.time_clusters import Leaf, TimeClusters, two_means

MOST_DRAWS = 50  # a cluster that needs more is split
FEWEST_DRAWS = 30  # the smallest sample, for which a mean is taken to be normal


def draws_needed(values: np.ndarray, z_over_eps: float) -> float:
    """Sample size n = (z / eps * sigma / mu)^2, where sigma divides by n - 1; 1 if nothing varies.

    >>> round(draws_needed(np.array([9.0, 10.0, 11.0]), 39.2), 4)
    15.3664
    """
    mean = float(values.mean())
    if len(values) < 2 or mean <= 0.0:
        return 1.0
    return max(1.0, float((z_over_eps * values.std(ddof=1) / mean) ** 2))


def split(times: np.ndarray, units: np.ndarray, z_over_eps: float) -> list[Leaf]:
    """Split the launches of one kernel in two, again and again, until each cluster needs fewer than MOST_DRAWS draws."""
    order = units[np.argsort(times[units], kind="stable")]
    stack = [order]
    leaves: list[Leaf] = []
    while stack:
        part = stack.pop()
        values = times[part]
        needed = draws_needed(values, z_over_eps)
        cut = two_means(values) if needed >= MOST_DRAWS else 0
        if cut:
            stack += [part[cut:], part[:cut]]
            continue
        size = int(min(max(np.ceil(needed), FEWEST_DRAWS), len(part)))
        leaves.append(Leaf(part, len(part), float(values.mean()), float(values.std()), size))
    return leaves


class Allegro(TimeClusters):
    """Allegro (MLArchSys 2024): cheap sampling of homogeneous kernels.

    Launches of a kernel (by name) are split in two by K-Means on their profiled times until a cluster needs fewer than 50
    draws for the error budget; each cluster then gets that many, and at least 30. The estimate is the sum over clusters of
    N_i times the sample mean. Every cluster meets the budget by itself, hence the total with room to spare; that
    promise rests on the profile's variances, not on the run. Naming `error_budget.bound` instead makes the
    run measure a bound and grow the sample until it is met.

    Words: cluster = stratum; n = sample size.

    Follows the description of the authors' group (the paper's body was not available to us) and their tool, Macsim_tracer,
    which does not carry the name. Departures from that tool: draws are without replacement, so a cluster of fewer than 30 is
    simulated whole. 2-means is solved exactly. Times that are all equal are never split. Launches that the profile lacks are
    simulated.
    """

    def clusters(self, times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> tuple[list[Leaf], np.ndarray]:
        """Clusters of every kernel, and the sample size that each cluster needs by itself."""
        leaves = [
            leaf
            for number in np.unique(kernel[kernel >= 0])
            for leaf in split(times, np.flatnonzero(kernel == number), z_over_eps)
        ]
        return leaves, np.array([leaf.m for leaf in leaves])
