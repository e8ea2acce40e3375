"""The statements of an interim analysis at the end of a pass: estimates with half-widths, and whether the run may end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.unseen import OpenUnit


@dataclass(frozen=True)
class Look:
    """Interim analysis: the estimates at the end of a pass.

    Attributes:
        index: 1, 2, ...; 0 where results are missing and no error probability was spent.
        estimates: estimate of each counter.
        ratios: estimate of each named ratio.
        ranges: estimate of each range that is a target.
        met: True if the design may stop and every target is within the error budget; `Engine` decides it.
        assumptions: sentences on what the statement rests on.
        warnings: sentences.
        open_unit: the undrawn unit that breaks the budget first, None where there is none.
        goes_on: why the sample has to grow although every half-width is within the budget, or empty.
        may_stop: True if the sampling design lets a run end here, whatever the error budget.

    >>> import numpy as np
    >>> from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
    >>> engine = Engine(Design(np.zeros(9, int), np.array([2]), np.linspace(0, 0.9, 9)), ErrorBudget(0.05))
    >>> *_, look = passes(engine, ("cycles",), np.full(9, 7.0))
    >>> look.met, look.estimates["cycles"].estimate
    (True, 63.0)
    """

    index: int
    estimates: dict[str, Estimate]
    ratios: dict[str, Estimate]
    met: bool = False
    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    open_unit: OpenUnit | None = None
    goes_on: str = ""
    may_stop: bool = False
    ranges: dict[str, Estimate] = field(default_factory=dict)

    def budgeted(self, target: str) -> Estimate:
        """Estimate that an error budget on a counter, a ratio or a range is about."""
        return self.ratios.get(target) or self.ranges.get(target) or self.estimates[target]

    def meets(self, budget: ErrorBudget) -> bool:
        """True if it meets the budget of one target, which has results."""
        return self.budgeted(budget.counter).meets(budget.relative_error)

    def no_narrower_than(self, budget: ErrorBudget) -> Look:
        """Copy whose half-widths are at least the budget: a run states no less than the budget it was sized for."""

        def raised(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
            return {name: estimate.no_narrower_than(budget.allowed(name)) for name, estimate in estimates.items()}

        estimates, ratios, ranges = raised(self.estimates), raised(self.ratios), raised(self.ranges)
        return replace(self, estimates=estimates, ratios=ratios, ranges=ranges)
