"""Allegro: recursive 2-means on kernel times and samples sized by the central limit theorem (Chung et al., MLArchSys 2024)."""

from __future__ import annotations

from statistics import NormalDist
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from kernelpoint.config import Section
from kernelpoint.estimation import Bound, Design, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.methods.stem import Leaf, clustered_design
from kernelpoint.policies.two_means import two_means
from kernelpoint.workload import Available, Need, Population, kernels, known_times

MOST_DRAWS = 50  # a cluster that needs more is split
FEWEST_DRAWS = 30  # the smallest sample, for which a mean is taken to be normal


def draws_needed(values: np.ndarray, z_over_eps: float) -> float:
    """n = (z / eps * sigma / mu)^2, sigma with n - 1; 1 where nothing varies.

    >>> round(draws_needed(np.array([9.0, 10.0, 11.0]), 39.2), 4)
    15.3664
    """
    mean = float(values.mean())
    if len(values) < 2 or mean <= 0.0:
        return 1.0
    return max(1.0, float((z_over_eps * values.std(ddof=1) / mean) ** 2))


def split(times: np.ndarray, units: np.ndarray, z_over_eps: float) -> list[Leaf]:
    """The clusters of one kernel: split in two until a cluster needs fewer than MOST_DRAWS draws."""
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


class Allegro(Policy):
    """Allegro (MLArchSys 2024): cheap sampling of homogeneous kernels.

    Launches of a kernel (by name) are split in two by K-Means on their profiled times until a cluster needs fewer than 50
    draws for the error budget; each cluster then gets that many, and at least 30. The estimate is the sum over clusters of
    N_i times the sample mean. Every cluster meets the budget by itself, hence the total with room to spare; that is a
    promise made from the profile's variances, not from what the run shows. Naming `error_budget.bound` instead makes the
    run measure a bound and grow the sample until it is met.

    Words: cluster = stratum; n = sample size.

    Follows the description of the authors' group (the paper's body was not at hand) and their tool, Macsim_tracer, which
    does not carry the name. Departures from that tool: draws are without replacement, so a cluster of fewer than 30 is
    simulated whole, where the tool draws 30 times from it with replacement; 2-means is solved exactly; times that are all
    equal are never split. Launches that the profile lacks are simulated.
    """

    class Parameters(Section):
        """Parameters that a user may set."""

        epsilon: Annotated[
            float | None,
            Field(gt=0, lt=1, description="relative error that samples are sized for"),
        ] = None

    bounds: ClassVar[tuple[Bound, ...]] = ("none", "sequential", "two_stage", "fixed")
    estimates: ClassVar[tuple[Method, ...]] = ("mean", "regression", "ratio")
    uses_budget = True
    promises_budget = True

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """A profile with the times of the launches."""
        return frozenset({Need.PROFILE})

    def design(self, population: Population) -> Design:
        """Strata are the clusters."""
        times, known = known_times(population, "allegro")
        budget = self.config.error_budget
        z_over_eps = NormalDist().inv_cdf((1 + budget.confidence) / 2) / (
            self.parameters.epsilon or budget.relative_error
        )
        kernel = np.where(known, kernels(population), -1)
        leaves = [
            leaf
            for number in np.unique(kernel[kernel >= 0])
            for leaf in split(times, np.flatnonzero(kernel == number), z_over_eps)
        ]
        return clustered_design(population, leaves, np.array([leaf.m for leaf in leaves]), times)
