"""Simulate every launch: the full run, and the ground truth of every comparison."""

from __future__ import annotations

import numpy as np

from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy
from kernelpoint.workload import Population


class All(Policy):
    """Every launch is a take-all unit; the total is exact and the half-width 0."""

    def design(self, population: Population) -> Design:
        """All units in the take-all part, no stratum left to draw from."""
        return full_run(population)


def full_run(population: Population) -> Design:
    """The design in which every launch is a take-all unit.

    >>> from kernelpoint.workload import Population
    >>> full_run(Population((3,), seed=0)).strata.tolist()
    [-1, -1, -1]
    """
    return Design(
        strata=np.full(population.size, -1, dtype=np.int32),
        first_sizes=np.empty(0, dtype=np.int64),
        u=population.u,
    )
