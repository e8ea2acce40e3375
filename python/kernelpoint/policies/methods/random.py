"""Simple random sampling of launches: the baseline for every other method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kernelpoint.config import Range, Section
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy
from kernelpoint.program import Program

# The smallest sample for which the mean of very skewed launch times is near normal; Allegro's smallest sample too.
PILOT_SIZE = 30


class Random(Policy):
    """Simple random sampling without replacement (Cochran, Sampling Techniques, chapter 2).

    All launches are one stratum. A first sample of 30 launches gives the variance; further passes (rounds of sampling) add
    launches until the bound meets the error budget. No traces are needed. The bound allows for no slow launches beyond those
    drawn.
    """

    assumes_tail: ClassVar[bool] = True

    @dataclass(frozen=True)
    class Parameters(Section):
        first_sample: Annotated[int, Range(2), "launches of the first pass, which give the first variance"] = PILOT_SIZE

    def design(self, program: Program) -> Design:
        return simple_random_sample(program, self.parameters.first_sample)


def simple_random_sample(program: Program, first_sample: int = PILOT_SIZE) -> Design:
    """Make the design of a simple random sample: one stratum. Only the number of launches is used.

    >>> from kernelpoint.program import Program
    >>> simple_random_sample(Program((100,))).first_sizes.tolist()
    [30]
    """
    return Design(
        strata=np.zeros(program.size, dtype=np.int32),
        first_sizes=np.array([min(first_sample, program.size)], dtype=np.int64),
        u=program.u,
    )
