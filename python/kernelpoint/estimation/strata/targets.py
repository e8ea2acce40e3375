"""Targets of the error budget: counters, ratios and ranges with the error allowed for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kernelpoint.estimation.bounds import Kind, error_probability
from kernelpoint.estimation.budget import ErrorBudget, Method
from kernelpoint.estimation.quantiles import two_sided


@dataclass(frozen=True)
class Targets:
    """Targets of an interim analysis: counters and ratios with the error allowed for each.

    Attributes:
        budget: error allowed.
        method: estimator of totals.
        ratios: name -> (counter above, counter below).
        counters: names of the counters.
        looks: kinds of the looks up to this one; empty where no bound may be stated.
        ranges: name -> (counter,) of targets that are about ranges.

    >>> targets = Targets(ErrorBudget(0.01), "mean", {}, ("cycles",), looks=())
    >>> targets.quantile(9.0)  # no bound may be stated
    nan
    """

    budget: ErrorBudget
    method: Method
    ratios: Mapping[str, tuple[str, str]]
    counters: tuple[str, ...]
    looks: tuple[Kind, ...]
    ranges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """Counter of the budget; for a ratio, the counter in its numerator."""
        return self.counters_of(self.budget.counter)[0]

    def counters_of(self, target: str) -> tuple[str, ...]:
        """The counters that a target is made of."""
        return self.ranges.get(target, self.ratios.get(target, (target,)))

    def quantile(self, degrees: float) -> float:
        """t quantile for this analysis's share of the error probability; nan without a bound, infinite for 0 degrees of
        freedom.
        """
        if not self.looks:
            return math.nan
        if degrees <= 0.0:
            return math.inf
        step = 10.0 ** (math.floor(math.log10(min(degrees, 1e9))) - 2)
        return two_sided(
            self._alpha, step * math.floor(min(degrees, 1e9) / step)
        )  # Numerics: three digits down, for the cache

    @cached_property
    def _alpha(self) -> float:
        """Error probability of this interim analysis."""
        return error_probability(self.budget.bound, 1.0 - self.budget.confidence, self.looks)
