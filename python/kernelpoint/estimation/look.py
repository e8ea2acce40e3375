"""Report of a look at the end of a pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.unseen import OpenUnit


@dataclass(frozen=True)
class Estimate:
    """Estimated total (or ratio of totals) of one counter, with its bound.

    Attributes:
        counter: name of the counter.
        estimate: the total.
        half_width: half-width of the confidence interval, nan where no bound is stated.
        relative_half_width: half_width / |estimate|.
        std_error: square root of the estimated variance.
        degrees_of_freedom: degrees of freedom of that variance.
        confidence: confidence level of the interval.
        simulated: sum over the simulated units.
        computed: half-width before it is raised to the error budget, nan where none is kept.

    >>> Estimate("cycles", 200.0, 4.0, 0.02, 2.0, 9.0, 0.95, 50.0).contains(203.0)
    True
    """

    counter: str
    estimate: float
    half_width: float
    relative_half_width: float
    std_error: float
    degrees_of_freedom: float
    confidence: float
    simulated: float
    computed: float = math.nan

    def contains(self, truth: float) -> bool:
        """True if the interval holds a value, allowing for rounding in the sums."""
        return bool(abs(self.estimate - truth) <= self.half_width + 1e-9 * abs(truth))


@dataclass(frozen=True)
class Look:
    """Interim analysis at the end of a pass.

    Attributes:
        index: 1, 2, ...; 0 where results are missing and no error probability was spent.
        estimates: estimate of each counter.
        clusters: of each cluster a dict of its number, units, simulated units, and estimates by counter.
        ratios: estimate of each named ratio.
        met: True if the error budget is met.
        domains: as clusters, of each domain; empty where there is one only.
        assumptions: sentences on what the statement rests on.
        warnings: sentences.
        open_unit: the undrawn unit that breaks the budget first, None where there is none.

    >>> from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
    >>> engine = Engine(Design(np.zeros(9, int), np.array([2]), np.linspace(0, 0.9, 9)), ErrorBudget(0.05))
    >>> *_, look = passes(engine, ("cycles",), np.full(9, 7.0))
    >>> look.met, look.estimates["cycles"].estimate, [estimate.counter for estimate in look.budgeted("cycles", "workload")]
    (True, 63.0, ['cycles'])
    """

    index: int
    estimates: dict[str, Estimate]
    clusters: list[dict[str, Any]]
    ratios: dict[str, Estimate]
    met: bool
    domains: list[dict[str, Any]] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    open_unit: OpenUnit | None = None

    def budgeted(self, counter: str, scope: str) -> list[Estimate]:
        """Estimates that an error budget on a counter, or a ratio, is about: of the whole, or of each of its parts."""
        if counter in self.ratios:
            return [self.ratios[counter]]
        parts = self.clusters if scope == "cluster" else self.domains
        return [part["estimates"][counter] for part in parts] or [self.estimates[counter]]


def unbounded_parts(
    groups: NDArray[np.integer],
    count: int,
    counters: Sequence[str],
    values: NDArray[np.float64],
    simulated: NDArray[np.bool_],
    level: float,
) -> list[dict[str, Any]]:
    """Clusters of a look without bounds of their own.

    Args:
        groups: int [n], the cluster of each unit, 0 ... count - 1; values: float64 [n, counters], result or prediction.
        simulated: bool [n], which are results; level: the stated confidence.

    >>> unbounded_parts(np.array([0, 0]), 1, ("cycles",), np.array([[3.0], [4.0]]), np.array([True, False]), 0.9)[0]["units"]
    2
    """
    units, drawn = np.bincount(groups, minlength=count), np.bincount(groups[simulated], minlength=count)
    sums = [np.bincount(groups, weights=column, minlength=count) for column in values.T]
    known = [np.bincount(groups[simulated], weights=column[simulated], minlength=count) for column in values.T]
    nan = math.nan
    return [
        {
            "cluster": g,
            "units": int(units[g]),
            "simulated": int(drawn[g]),
            "estimates": {
                name: Estimate(name, float(sums[k][g]), nan, nan, nan, 0.0, level, float(known[k][g]))
                for k, name in enumerate(counters)
            },
        }
        for g in range(count)
    ]
