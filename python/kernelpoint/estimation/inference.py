"""The one inference: from the errors of a sampled total to the estimate that a run states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelpoint.estimate import Estimate

Combination = Sequence[tuple[float, str]]  # weights of counters


@dataclass(frozen=True)
class TotalErrors:
    """Estimated total of a linear combination of counters, and its errors.

    Attributes:
        value: the estimated total.
        simulated: sum over the simulated launches.
        error: standard error of the total; 0 if every launch was simulated.
        degrees: degrees of freedom of the estimated variance.
        t: quantile of Student's distribution, by which the standard error is multiplied; nan if no half-width can be stated.
        guard: allowance for slow launches of a kind that was never drawn, in the unit of `value`; the half-width is no less.
    """

    value: float
    simulated: float
    error: float = 0.0
    degrees: float = math.inf
    t: float = 0.0
    guard: float = 0.0

    def estimate(self, name: str, confidence: float) -> Estimate:
        """Total with its half-width max(t error, guard), at this confidence, under the given counter name; nan if no half-width
        can be stated.

        >>> TotalErrors(1000.0, 50.0, 1.5, 9.0, 2.0, 25.0).estimate("cycles", 0.95).half_width
        25.0
        """
        half = math.nan if math.isnan(self.t) else max(self.error and self.t * self.error, self.guard)
        return Estimate.of(
            self.value,
            half,
            self.error,
            self.degrees,
            counter=name,
            confidence=confidence,
            simulated=self.simulated,
            computed_half_width=half,
        )


Errors = Callable[[Combination], TotalErrors]  # of a sampling


def ratio(name: str, pair: tuple[str, str], errors: Errors, confidence: float) -> Estimate:
    """Ratio R = A / B of two estimated totals, with its half-width. Unknown if B is 0.

    Formula: by linearisation, the error of R is that of the total of (a - R b) / B, a and b the counters of a launch (Sarndal,
    Swensson, Wretman 1992, section 5.6).

    Args:
        name: name of the ratio.
        pair: names of the counters a and b; one counter in two runs is such a pair too.
        errors: function from a linear combination of counters to its total with errors.
        confidence: confidence level of the half-width.

    >>> totals = {"a": 6.0, "b": 2.0}
    >>> def errors(combination):
    ...     value = sum(weight * totals[name] for weight, name in combination)
    ...     return TotalErrors(value, value, error=0.1 * abs(combination[0][0]), t=2.0)
    >>> found = ratio("a_per_b", ("a", "b"), errors, 0.95)
    >>> found.estimate, found.half_width
    (3.0, 0.1)
    """
    above, below = (errors([(1.0, counter)]) for counter in pair)
    if below.value == 0.0:
        return Estimate.unknown(name, confidence)
    R = above.value / below.value
    of = errors([(1.0 / below.value, pair[0]), (-R / below.value, pair[1])])
    simulated = above.simulated / below.simulated if below.simulated else math.nan
    return TotalErrors(R, simulated, of.error, of.degrees, of.t, of.guard).estimate(name, confidence)
