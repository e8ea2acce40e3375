"""Simulate every launch: the full run, and the ground truth of every comparison."""

from __future__ import annotations

from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy
from kernelpoint.workload import Population


class All(Policy):
    """Every launch is a take-all unit; the total is exact and the half-width 0."""

    def design(self, population: Population) -> Design:
        """All units in the take-all part, no stratum left to draw from."""
        return Design.take_all(population.u)
