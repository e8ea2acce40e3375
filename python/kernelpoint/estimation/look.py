"""The statements of an interim analysis at the end of a pass: estimates with half-widths, and whether the run may end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.unseen import OpenUnit


@dataclass(frozen=True)
class Look:
    """Interim analysis: estimates and half-widths at the end of a pass (a round of sampling).

    Attributes:
        index: number of the analysis, from 1; 0 if results are missing, because no error probability was used then.
        estimates: estimate of each counter.
        ratios: estimate of each named ratio.
        met: True if `may_stop`, and every target is within its error budget; set by `Engine.look`.
        assumptions: sentences on the assumptions of the half-widths.
        warnings: sentences on what is missing.
        open_unit: the undrawn launch that would break the error budget with the smallest excess over its expected value; None
            if every launch is drawn.
        goes_on: reason why the sample has to grow although every half-width is within the budget; empty if there is none.
        may_stop: True if half-widths can be stated and the estimator needs no change. False for a design without bounds: its
            run ends when `Engine.grow` returns False.
        ranges: estimate of each target that is a total over a range (part of the run).

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
        """Estimates of all counters, ratios and ranges, by name."""
        return {**self.estimates, **self.ratios, **self.ranges}

    def meets(self, budget: ErrorBudget) -> bool:
        """True if every target of the budget has an estimate whose half-width is within the target's error."""
        return all(name in self.by_name and self.by_name[name].meets(error) for name, error in budget.targets.items())

    def changed(self, change: Callable[[str, Estimate], Estimate]) -> Look:
        """Copy in which each estimate is replaced by change(name, estimate)."""
        estimates, ratios, ranges = (
            {name: change(name, estimate) for name, estimate in kind.items()}
            for kind in (self.estimates, self.ratios, self.ranges)
        )
        return replace(self, estimates=estimates, ratios=ratios, ranges=ranges)
