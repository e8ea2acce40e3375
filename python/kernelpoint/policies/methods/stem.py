"""STEM+ROOT: statistical error modelling of kernel times, with hierarchical clusters (Chung et al., MICRO 2025)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint.policies.time_clusters import Leaf, TimeClusters, two_means


def sample_size(N: float, mean: float, deviation: float, z_over_eps: float) -> int:
    """Sample size of one cluster by STEM (eq. 3): m = ceil((z / eps * deviation / mean)^2), from 1 to N.

    Args:
        N: number of launches in the cluster.
        mean, deviation: mean and standard deviation of their times.
        z_over_eps: normal quantile z of the confidence level, divided by the relative error eps.

    >>> sample_size(1000, 10.0, 1.0, 39.2)
    16
    """
    if mean <= 0.0:
        return 1
    return int(min(max(1, np.ceil((z_over_eps * deviation / mean) ** 2 - 1e-9)), N))


def joint_sizes(N: np.ndarray, mean: np.ndarray, deviation: np.ndarray, z_over_eps: float) -> np.ndarray:
    """Sample sizes m_i of clusters i by STEM (eq. 6): the least sum of m_i mu_i with which the relative error of the total is
    at most eps.

    Formula: m_i = ceil((z / eps)^2 * (sum_j N_j sigma_j sqrt(mu_j)) / (sum_j N_j mu_j)^2 * N_i sigma_i / sqrt(mu_i)), from 1 to
    N_i. A mean of 0 (clock in whole microseconds) is replaced by the least mean above 0.

    Args:
        N: int [clusters], number of launches N_i.
        mean, deviation: float64 [clusters], mean mu_i and standard deviation sigma_i of the times.
        z_over_eps: normal quantile z of the confidence level, divided by eps.

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
    """Divide the launches of one kernel into clusters by ROOT: split a cluster in two by 2-means on the times, unless the two
    parts need more simulated time than the whole.

    The simulated time of a cluster is m mu, sample size times mean time: m by eq. 3 for the kernel, and by eq. 6 for the two
    parts of a split. Clusters of one launch or of equal times are not split.

    Args:
        times: float64 [N], times of all launches.
        units: int64 [n], indices of the kernel's launches.
        z_over_eps: normal quantile of the confidence level, divided by the relative error.
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
    """Divide the launches of each kernel into clusters by ROOT (`root`); launches whose kernel is -1 belong to none."""
    order = np.argsort(kernel, kind="stable")
    groups: Sequence[np.ndarray] = np.split(order, np.flatnonzero(np.diff(kernel[order])) + 1)
    return [leaf for units in groups if len(units) and kernel[units[0]] >= 0 for leaf in root(times, units, z_over_eps)]


class Stem(TimeClusters):
    """STEM+ROOT (MICRO 2025, DOI 10.1145/3725843.3757107): random samples from clusters of launches with similar times.

    The launches of each kernel (by name) are clustered by their times in a profile (ROOT). Each cluster gets a random sample;
    the sizes are chosen jointly so that the times of the profile meet the error budget (STEM, eq. 6). The estimate is the sum
    over clusters of the number of launches times the mean of the sample. The bound is the budget itself, which follows from the
    variances in the profile, not from the run. If the configuration has `error_budget.bound`, the run measures a bound, and the
    sample grows until the budget is met.

    Differences from the paper:

    * Samples are drawn without replacement.

    Differences from the public artifact (STEM-AE):

    * Each cluster gets at least one sample, also when the cost of a split is computed. In the artifact, a cluster without
      variance gets none and is missing from the total (6 to 17 % of the time in profiles in whole microseconds).
    * Eq. 6 is solved once for the clusters of all kernels. In the artifact it is solved for the two parts of each split only,
      so that each kernel has its own budget.
    * 2-means is solved exactly.
    * Launches without a time in the profile are simulated.
    """

    def clusters(self, times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> tuple[list[Leaf], np.ndarray]:
        leaves = clusters_of(times, kernel, z_over_eps)
        N, mean, deviation = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("N", "mean", "deviation"))
        return leaves, joint_sizes(N, mean, deviation, z_over_eps)
