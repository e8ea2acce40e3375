"""The statements of an interim analysis at the end of a pass: estimates with half-widths, and whether the run may end."""

from __future__ import annotations

from collections.abc import Callable
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
        met: True if the design may stop and every target is within the error budget; `Engine.look` decides it.
        assumptions: sentences on what the statement rests on.
        warnings: sentences.
        open_unit: the undrawn unit that breaks the budget first, None where there is none.
        goes_on: why the sample has to grow although every half-width is within the budget, or empty.
        may_stop: True if a bound may be stated at this pass and no split of the sample is pending, whatever the error budget. A
            design without a bound has False, and its run ends because `Engine.grow` is False.

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

    @property
    def by_name(self) -> dict[str, Estimate]:
        """Every estimate by its name: counters, ratios and ranges."""
        return {**self.estimates, **self.ratios, **self.ranges}

    def meets(self, budget: ErrorBudget) -> bool:
        """True if every target of a budget has results and is within its error."""
        return all(name in self.by_name and self.by_name[name].meets(error) for name, error in budget.targets.items())

    def changed(self, change: Callable[[str, Estimate], Estimate]) -> Look:
        """Copy with `change` of each estimate, by its name."""
        estimates, ratios, ranges = (
            {name: change(name, estimate) for name, estimate in kind.items()}
            for kind in (self.estimates, self.ratios, self.ranges)
        )
        return replace(self, estimates=estimates, ratios=ratios, ranges=ranges)
