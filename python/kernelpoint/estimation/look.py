"""Report of a look at the end of a pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from kernelpoint.estimation.bounds import relative, stated
from kernelpoint.estimation.budget import ErrorBudget
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
        computed_half_width: half-width before it is raised to the error budget, nan where none is kept.

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
    computed_half_width: float = math.nan

    @classmethod
    def bounded(
        cls,
        counter: str,
        estimate: float,
        computed: float,
        guard: float,
        error: float,
        degrees: float,
        simulated: float,
        budget: ErrorBudget,
    ) -> Estimate:
        """An estimate whose half-width is no less than t SE, the error budget and what outliers may change.

        Args:
            computed: t SE; nan where no bound is stated.
            guard: change of the total by outliers, which are in no estimated variance if none is drawn.
            error, degrees: standard error, and degrees of freedom of its square.

        >>> Estimate.bounded("cycles", 1000.0, 3.0, 25.0, 1.5, 9.0, 50.0, ErrorBudget(0.01)).half_width
        25.0
        """
        allowed, half = budget.allowed(counter), computed
        if not math.isnan(computed):
            half = max(stated(computed, estimate, allowed), guard)
        part = relative(half, estimate, allowed)
        known = max(computed, guard)
        return cls(counter, estimate, half, part, error, degrees, budget.confidence, simulated, known)

    @classmethod
    def unknown(cls, counter: str, confidence: float) -> Estimate:
        """A ratio over a total of 0."""
        nan = math.nan
        return cls(counter, nan, nan, nan, nan, 0.0, confidence, nan)

    def moved(self, estimate: float, half_width: float, **more: Any) -> Estimate:
        """The same with another value and half-width, and `more` fields.

        >>> Estimate("cycles", 200.0, 4.0, 0.02, 2.0, 9.0, 0.95, 50.0).moved(400.0, 10.0).relative_half_width
        0.025
        """
        part = relative(half_width, estimate, 0.0)
        return replace(self, estimate=estimate, half_width=half_width, relative_half_width=part, **more)

    def meets(self, relative_error: float) -> bool:
        """True if the half-width is within an error, but for rounding: the rule by which a run stops.

        >>> Estimate("cycles", 200.0, 4.0, 0.02, 2.0, 9.0, 0.95, 50.0).meets(0.02)
        True
        """
        return self.half_width <= relative_error * abs(self.estimate) * (1.0 + 1e-9)

    def contains(self, truth: float) -> bool:
        """True if the interval holds a value, allowing for rounding in the sums."""
        return bool(abs(self.estimate - truth) <= self.half_width + 1e-9 * abs(truth))


@dataclass(frozen=True)
class LookPart:
    """A cluster, or a domain, in an interim analysis.

    Attributes:
        number: of the cluster or domain, from 0.
        units, simulated: how many units it has, and how many of these have a result.
        estimates: estimate of each counter.
    """

    number: int
    units: int
    simulated: int
    estimates: dict[str, Estimate]


@dataclass(frozen=True)
class Look:
    """Interim analysis at the end of a pass.

    Attributes:
        index: 1, 2, ...; 0 where results are missing and no error probability was spent.
        estimates: estimate of each counter.
        clusters: each cluster.
        ratios: estimate of each named ratio.
        met: True if the error budget is met.
        domains: each domain; empty where there is one only.
        assumptions: sentences on what the statement rests on.
        warnings: sentences.
        open_unit: the undrawn unit that breaks the budget first, None where there is none.

    >>> import numpy as np
    >>> from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
    >>> engine = Engine(Design(np.zeros(9, int), np.array([2]), np.linspace(0, 0.9, 9)), ErrorBudget(0.05))
    >>> *_, look = passes(engine, ("cycles",), np.full(9, 7.0))
    >>> look.met, look.estimates["cycles"].estimate, [estimate.counter for estimate in look.budgeted("cycles")]
    (True, 63.0, ['cycles'])
    """

    index: int
    estimates: dict[str, Estimate]
    clusters: list[LookPart]
    ratios: dict[str, Estimate]
    met: bool
    domains: list[LookPart] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    open_unit: OpenUnit | None = None

    def budgeted(self, counter: str) -> list[Estimate]:
        """Estimates that an error budget on a counter, or a ratio, is about: of the whole, or of each domain."""
        if counter in self.ratios:
            return [self.ratios[counter]]
        return [part.estimates[counter] for part in self.domains] or [self.estimates[counter]]

    def meets(self, budget: ErrorBudget) -> bool:
        """True if it meets the budget of one target."""
        return all(one.meets(budget.relative_error) for one in self.budgeted(budget.counter))
