"""Clusters of launches by their profiled times, with samples sized for the error budget: common part of Allegro and STEM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, ClassVar

import numpy as np

from kernelpoint.config import Range, Section
from kernelpoint.estimation import Bound, Design, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.program import Program
from kernelpoint.workload import Available, Need, known_times


def two_means(values: np.ndarray) -> int:
    """Best division of sorted values into two clusters by least squares (2-means, solved exactly): the number of values in the
    first cluster; 0 if all values are equal.

    Formula: with prefix sums S of the n values, cut k maximises S_k^2 / k + (S_n - S_k)^2 / (n - k). Equal values are not
    separated; of equally good cuts, the first is taken.

    >>> two_means(np.array([1.0, 1.1, 5.0, 5.2, 5.3]))
    2
    """
    n = len(values)
    centred = values - values.mean()  # Numerics: cancellation in the squares of large sums
    left_sums = np.cumsum(centred)[:-1]
    k = np.arange(1, n)
    between = left_sums * left_sums * (1.0 / k + 1.0 / (n - k))
    between[np.diff(values) <= 0] = -1.0
    if not len(between) or between.max() < 0:
        return 0
    return int(between.argmax()) + 1


@dataclass(frozen=True)
class Leaf:
    """Cluster of launches of one kernel with similar times.

    Attributes:
        units: int64 [N], indices of the launches.
        N: number of launches.
        mean: mean time, in the profile's unit.
        deviation: standard deviation of the times.
        m: sample size.
    """

    units: np.ndarray
    N: int
    mean: float
    deviation: float
    m: int


class TimeClusters(Policy):
    """Base class of policies whose strata are clusters of launches with similar times in a profile. The error bound follows
    from the variances in the profile.
    """

    @dataclass(frozen=True)
    class Parameters(Section):
        epsilon: Annotated[
            Annotated[float, Range(above=0, end=1)] | None,
            "relative error that samples are sized for",
        ] = None

    bounds: ClassVar[tuple[Bound, ...]] = ("none", "sequential")
    estimate: ClassVar[Method] = "mean"
    uses_budget = True
    promises_budget = True

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        return frozenset({Need.PROFILE})

    @abstractmethod
    def clusters(self, times: np.ndarray, kernel: np.ndarray, z_over_eps: float) -> tuple[list[Leaf], np.ndarray]:
        """Divide the launches into clusters, and choose the sample size of each cluster.

        Args:
            times: float64 [N], time of each launch, in the profile's unit.
            kernel: int64 [N], number of each launch's kernel; -1 for launches that belong to no cluster.
            z_over_eps: normal quantile of the confidence level, divided by the relative error.
        """

    def design(self, program: Program) -> Design:
        times, has_time = known_times(program, self.config.policy.name)
        budget = self.config.error_budget
        quantile = -NormalDist().inv_cdf((1 - budget.confidence) / 2)
        z_over_eps = quantile / (self.parameters.epsilon or budget.relative_error)
        leaves, sizes = self.clusters(times, np.where(has_time, program.kernels, -1), z_over_eps)
        return clustered_design(program, leaves, sizes, times)


def clustered_design(program: Program, leaves: Sequence[Leaf], sizes: np.ndarray, times: np.ndarray) -> Design:
    """Make a design with one stratum for each cluster, and the profile's time as covariate. Launches in no cluster are always
    simulated.

    Args:
        program: the launches.
        leaves: the clusters.
        sizes: int [clusters], sizes of the samples.
        times: float64 [N], time of each launch; nan: unknown.
    """
    strata = np.full(program.size, -1, dtype=np.int32)
    for number, leaf in enumerate(leaves):
        strata[leaf.units] = number
    return Design(
        strata=strata,
        first_sizes=np.asarray(sizes, dtype=np.int64),
        u=program.u,
        x=np.where(np.isfinite(times), times, 0.0),
        clusters=np.arange(len(leaves)),
    )
