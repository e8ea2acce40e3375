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
        return Design(
            strata=np.full(population.size, -1, dtype=np.int32),
            first_sizes=np.empty(0, dtype=np.int64),
            u=population.u,
        )
