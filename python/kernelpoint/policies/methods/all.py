"""Simulate every launch: the full run, and the ground truth of every comparison."""

from __future__ import annotations

from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy
from kernelpoint.program import Program


class All(Policy):
    """Policy of the full run: every launch is simulated; totals are exact, with half-width 0."""

    def design(self, program: Program) -> Design:
        return Design.take_all(program.u)
