"""Allegro: recursive 2-means on kernel times and samples sized by the central limit theorem (Chung et al., MLArchSys 2024)."""

from __future__ import annotations

import numpy as np

from kernelpoint.policies.time_clusters import Leaf, TimeClusters, two_means

MOST_DRAWS = 50  # a cluster that needs more is split
FEWEST_DRAWS = 30  # the smallest sample, for which a mean is taken to be normal


def draws_needed(values: np.ndarray, z_over_eps: float) -> float:
    """Sample size (z / eps * sigma / mu)^2 for launches with mean time mu and standard deviation sigma (divisor n - 1); at
    least 1.

    Args:
        values: float64 [n], times of the launches.
        z_over_eps: normal quantile z of the confidence level, divided by the relative error eps.

    >>> round(draws_needed(np.array([9.0, 10.0, 11.0]), 39.2), 4)
    15.3664
    """
    mean = float(values.mean())
    if len(values) < 2 or mean <= 0.0:
        return 1.0
    return max(1.0, float((z_over_eps * values.std(ddof=1) / mean) ** 2))


def split(times: np.ndarray, units: np.ndarray, z_over_eps: float) -> list[Leaf]:
    """Split the launches of one kernel in two by 2-means on their times, repeatedly, until each cluster needs fewer than
    MOST_DRAWS draws.

    Args:
        times: float64 [N], times of all launches.
        units: int64 [n], indices of the kernel's launches.
        z_over_eps: normal quantile of the confidence level, divided by the relative error.
    """
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
    """Allegro (MLArchSys 2024): random samples from clusters of launches with similar times.

    The launches of each kernel (by name) are split in two by K-Means on their times in a profile, repeatedly, until each
    cluster needs fewer than 50 draws for the error budget. Each cluster gets as many draws as it needs, and at least 30. The
    estimate is the sum over clusters of the number of launches times the mean of the sample. Each cluster meets the budget by
    itself, so the total does; that follows from the variances in the profile, not from the run. If the configuration has
    `error_budget.bound`, the run measures a bound, and the sample grows until the budget is met.

    Sources: the description of the authors' group (we did not have the paper's text), and their tool Macsim_tracer.

    Differences from the tool:

    * Draws are without replacement; a cluster with fewer than 30 launches is simulated whole.
    * 2-means is solved exactly; equal times are not split.
    * Launches without a time in the profile are simulated.
    """

    def clusters(self, times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> tuple[list[Leaf], np.ndarray]:
        leaves = [
            leaf
            for number in np.unique(kernel[kernel >= 0])
            for leaf in split(times, np.flatnonzero(kernel == number), z_over_eps)
        ]
        return leaves, np.array([leaf.m for leaf in leaves])
