"""Simple random sampling of launches: the baseline every other method has to beat."""

from __future__ import annotations

import numpy as np

from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy
from kernelpoint.workload import Population

# The smallest sample for which the mean of very skewed launch times is near normal; the floor of Allegro's sample too.
PILOT_SIZE = 30


class Random(Policy):
    """Simple random sampling without replacement (Cochran, Sampling Techniques, section 2).

    One stratum holds the whole population. A pilot of 30 launches gives the variance; passes then add launches until the
    bound meets the budget. It looks into no trace, so it runs wherever the number of launches is known.
    """

    def design(self, population: Population) -> Design:
        """One stratum, a pilot of 30 launches (all of them where there are fewer)."""
        return Design(
            strata=np.zeros(population.size, dtype=np.int32),
            first_sizes=np.array([min(PILOT_SIZE, population.size)], dtype=np.int64),
            u=population.u,
        )
