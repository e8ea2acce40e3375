"""First sample of two-phase sampling: units that can be predicted and simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.budget import Assume
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.strata.sampling import StrataSampling


def donors(strata: NDArray[np.integer], sample: NDArray[np.bool_]) -> Ints:
    """Unit of the sample that represents each unit, int64 [N]. A sampled unit represents itself; the other units of a stratum
    are shared equally, in order.

    >>> donors(np.array([0, 0, 0, 0, 0, -1, 1]), np.array([False, True, False, False, True, True, False])).tolist()
    [1, 1, 1, 4, 4, 5, 6]
    """
    strata = np.asarray(strata)
    count = int(strata.max(initial=-1)) + 1
    donor = np.arange(len(strata))
    of = [np.flatnonzero(chosen & (strata >= 0)) for chosen in (sample, ~sample)]
    given, others = (units[np.argsort(strata[units], kind="stable")] for units in of)
    m, extra = (np.bincount(strata[units], minlength=count) for units in (given, others))
    start, first = (np.cumsum(sizes) - sizes for sizes in (m, extra))
    h = strata[others]
    rank = np.arange(len(others)) - first[h]
    place = start[h] + rank * m[h] // np.maximum(extra[h], 1)
    served = m[h] > 0
    donor[others[served]] = given[place[served]]
    return donor


@dataclass(frozen=True)
class TwoPhaseDesign:
    """Design for a population of which only a first sample can be predicted and simulated.

    Args:
        first: of the strata that the first sample was drawn from, without results.
        observed: bool [N], units of it and take-all units; predictions: float64 [N] by counter, finite for these.
        groups: int [N], units whose predictions may be off alike; u: float64 [N], random numbers of the second sample, others
            than those of the first; assume: as in AssistedDesign.

    >>> from kernelpoint.estimation.budget import ErrorBudget
    >>> from kernelpoint.estimation.strata.design import Design
    >>> strata, u = np.zeros(10, dtype=int), np.random.default_rng(0).random(10)
    >>> first = StrataSampling(Design(strata, np.array([4]), u), ErrorBudget(0.05))
    >>> traced = np.isin(np.arange(10), first.drawn())
    >>> design = TwoPhaseDesign(first, traced, {"cycles": np.where(traced, 900.0, np.nan)}, strata, 1.0 - u)
    >>> int(design.sample.sum())
    4
    """

    first: StrataSampling
    observed: NDArray[np.bool_]
    predictions: Mapping[str, Floats]
    groups: NDArray[np.integer]
    u: Floats
    assume: Assume = "ordinary"

    @property
    def sample(self) -> NDArray[np.bool_]:
        """bool [N]: the first sample: observed units that the order of draws reaches without a gap, and units that are always
        simulated.
        """
        inside = np.zeros(len(self.observed), dtype=bool)
        inside[self.first.drawn()] = True
        return inside & self.observed

    def leaving_out(self, units: Ints) -> TwoPhaseDesign:
        """Same design in which some units can have no result: they represent none, and others take their place."""
        observed, groups = self.observed.copy(), np.array(self.groups)
        observed[units], groups[units] = False, -1
        first = self.first.leaving_out(units)
        first.restrict_to(observed)
        return replace(self, first=first, observed=observed, groups=groups)
