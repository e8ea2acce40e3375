"""STEM+ROOT: statistical error modelling of kernel times, with hierarchical clusters (Chung et al., MICRO 2025)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint.policies.time_clusters import Leaf, TimeClusters, two_means


def sample_size(N: float, mean: float, deviation: float, z_over_eps: float) -> int:
    """Sample size of one cluster by STEM (eq. 3): m = ceil((z / eps * sigma / mu)^2), from 1 to N.

    >>> sample_size(1000, 10.0, 1.0, 39.2)
    16
    """
    if mean <= 0.0:
        return 1
    return int(min(max(1, np.ceil((z_over_eps * deviation / mean) ** 2 - 1e-9)), N))


def joint_sizes(N: np.ndarray, mean: np.ndarray, deviation: np.ndarray, z_over_eps: float) -> np.ndarray:
    """Sample sizes of many clusters by STEM (eq. 6): the least sum of m_i mu_i with the error of the total within eps.

    m_i = ceil((z / eps)^2 * (sum_j N_j sigma_j sqrt(mu_j)) / (sum_j N_j mu_j)^2 * N_i sigma_i / sqrt(mu_i)), from 1 to N_i.
    Clusters of mean 0 (clocks of whole microseconds) count as the least positive mean.

    >>> joint_sizes(np.array([100, 100]), np.array([10.0, 10.0]), np.array([1.0, 3.0]), 39.2).tolist()
    [16, 47]
    """
    total = float((N * mean).sum())
    if total <= 0.0:
        return np.ones(len(N), dtype=np.int64)
    mu = np.where(mean > 0.0, mean, mean[mean > 0.0].min())
    spread = float((N * deviation * np.sqrt(mu)).sum())
    wanted = z_over_eps**2 * spread / total**2 * N * deviation / np.sqrt(mu)
    return np.minimum(np.maximum(1, np.ceil(wanted - 1e-9)), N).astype(np.int64)


def root(times: np.ndarray, units: np.ndarray, z_over_eps: float) -> list[Leaf]:
    """Divide one kernel into clusters by ROOT: a cluster is split in two (K-Means) unless this makes its sample cost more.

    The cost of a cluster is tau = m mu. The root's m is that of eq. 3; that of two children is that of eq. 6 for the two.
    A split is kept unless tau_1 + tau_2 > tau. Sizes of 1 and times that are all equal end it.

    Args:
        times: float64 [N], times of all launches.
        units: int64 [n], the launches of the kernel.
    """
    order = units[np.argsort(times[units], kind="stable")]
    values = times[order]
    stack = [(0, len(order), sample_size(len(order), float(values.mean()), float(values.std()), z_over_eps))]
    leaves: list[Leaf] = []
    while stack:
        start, end, m = stack.pop()
        part = values[start:end]
        mean = float(part.mean())
        cut = two_means(part) if len(part) > 1 else 0
        if cut:
            halves = (part[:cut], part[cut:])
            N, mu, sigma = (np.array([float(f(h)) for h in halves]) for f in (len, np.mean, np.std))
            sizes = joint_sizes(N.astype(np.int64), mu, sigma, z_over_eps)
            if float((sizes * mu).sum()) <= m * mean:
                stack += [(start + cut, end, int(sizes[1])), (start, start + cut, int(sizes[0]))]
                continue
        leaves.append(Leaf(order[start:end], end - start, mean, float(part.std()), m))
    return leaves


def clusters_of(times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> list[Leaf]:
    """Divide every kernel into clusters by ROOT; launches with kernel -1 are in none."""
    order = np.argsort(kernel, kind="stable")
    groups: Sequence[np.ndarray] = np.split(order, np.flatnonzero(np.diff(kernel[order])) + 1)
    return [leaf for units in groups if len(units) and kernel[units[0]] >= 0 for leaf in root(times, units, z_over_eps)]


class Stem(TimeClusters):
    """STEM+ROOT (MICRO 2025, DOI 10.1145/3725843.3757107).

    Launches of a kernel (by name) are split by their profiled times (ROOT); each cluster gets a random sample whose size
    makes the profiled times meet the error budget (STEM). All clusters share the budget (joint form, eq. 6). The estimate is
    the sum over clusters of N_i times the sample mean. The method's bound is the budget itself: a promise from the profile's
    variances, not from the run. Naming `error_budget.bound` instead makes the run measure a bound and grow the sample until it
    is met.

    Words: cluster = stratum; m = sample size; sigma and mu are those of the profile.

    Departures from the paper: samples are drawn without replacement. Departures from the public artifact (STEM-AE): every
    cluster gets at least one sample, also in the cost of a split; there a cluster without variance gets none and vanishes
    from the total (6 to 17 % of the time on profiles in whole microseconds). Eq. 6 is solved once over the clusters of all
    kernels; there only between the two children of a split, which leaves each kernel with a budget of its own. 2-means
    is solved exactly. Launches that the profile lacks are simulated.
    """

    def clusters(self, times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> tuple[list[Leaf], np.ndarray]:
        """Clusters by ROOT, with sample sizes by STEM."""
        leaves = clusters_of(times, kernel, z_over_eps)
        N, mean, deviation = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("N", "mean", "deviation"))
        return leaves, joint_sizes(N, mean, deviation, z_over_eps)
