"""Value with a half-width: a total, a ratio, a difference or an error, in runs, journals and reports."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

from kernelpoint.typed import Range


@dataclass(frozen=True)
class Estimate:
    """Estimated value, mostly a total or a ratio of totals, with its confidence interval. Fields that are unknown are nan.

    Sums and quotients of estimates assume the worst combination of errors, because their correlation is unknown.

    Attributes:
        counter: name of the counter; empty if the value belongs to no counter.
        estimate: the value.
        half_width: half-width of the confidence interval; nan if no bound is stated, 0 for an exact value.
        relative_half_width: half_width / |estimate|.
        std_error: square root of the estimated variance.
        degrees_of_freedom: degrees of freedom of that variance.
        confidence: confidence level of the interval.
        simulated: sum of the counter over the simulated launches.
        computed_half_width: half-width before it is raised to the error budget; nan if not stored.
        at_most: upper limit of the value at the confidence level, of a counter of which too little was simulated for a useful
            half-width; nan if none is stated.

    >>> Estimate.of(200.0, 4.0).contains(203.0)
    True
    >>> sum_of_both = Estimate.of(200.0, 4.0) + Estimate.of(100.0, 1.0)
    >>> sum_of_both.estimate, sum_of_both.half_width
    (300.0, 5.0)
    >>> rate = Estimate.of(8.0, 0.4) / Estimate.of(4.0, 0.0)
    >>> rate.estimate, rate.half_width
    (2.0, 0.1)
    """

    counter: str = ""
    estimate: float = math.nan
    half_width: float = math.nan
    relative_half_width: float = math.nan
    std_error: float = math.nan
    degrees_of_freedom: float = math.nan
    confidence: float = math.nan
    simulated: float = math.nan
    computed_half_width: float = math.nan
    at_most: float = math.nan

    @classmethod
    def of(
        cls,
        estimate: float,
        half_width: float = math.nan,
        std_error: float = math.nan,
        degrees_of_freedom: float = math.nan,
        *,
        counter: str = "",
        confidence: float = math.nan,
        simulated: float = math.nan,
        computed_half_width: float = math.nan,
    ) -> Estimate:
        """Make an estimate from some of its attributes; the others get their defaults."""
        part = relative(half_width, estimate, 0.0)
        spread = std_error, degrees_of_freedom
        return cls(counter, estimate, half_width, part, *spread, confidence, simulated, computed_half_width)

    @classmethod
    def exact(cls, estimate: float, **more: Any) -> Estimate:
        """Make an estimate without error.

        >>> Estimate.exact(7.0).half_width
        0.0
        """
        return cls.of(estimate, 0.0, 0.0, math.inf, computed_half_width=0.0, **more)

    @classmethod
    def unknown(cls, counter: str, confidence: float) -> Estimate:
        """Make an estimate for a ratio that has no value because its denominator is 0."""
        return cls(counter, degrees_of_freedom=0.0, confidence=confidence)

    def moved(self, estimate: float, half_width: float, **more: Any) -> Estimate:
        """Copy with another value and another half-width. `more` replaces further fields.

        >>> Estimate.of(200.0, 4.0).moved(400.0, 10.0).relative_half_width
        0.025
        """
        part = relative(half_width, estimate, 0.0)
        return replace(self, estimate=estimate, half_width=half_width, relative_half_width=part, **more)

    def __add__(self, other: Estimate) -> Estimate:
        """Sum A + B; its half-width is a + b, the sum of both half-widths, as if both errors had the same sign."""
        return self.moved(
            self.estimate + other.estimate,
            self.half_width + other.half_width,
            std_error=self.std_error + other.std_error,
            degrees_of_freedom=_degrees(self, other),
            simulated=self.simulated + other.simulated,
            computed_half_width=self.computed_half_width + other.computed_half_width,
            at_most=self.at_most + other.at_most,
        )

    def __truediv__(self, other: Estimate) -> Estimate:
        """Quotient R = A / B; its half-width is (a + |R| b) / |B| with a and b the half-widths of A and B, as if both errors
        had opposite signs."""
        if not other.estimate:
            return Estimate.unknown(self.counter, self.confidence)
        value, below = self.estimate / other.estimate, abs(other.estimate)
        return self.moved(
            value,
            (self.half_width + abs(value) * other.half_width) / below,
            std_error=(self.std_error + abs(value) * other.std_error) / below,
            degrees_of_freedom=_degrees(self, other),
            simulated=self.simulated / other.simulated if other.simulated else math.nan,
            computed_half_width=(self.computed_half_width + abs(value) * other.computed_half_width) / below,
            at_most=math.nan,
        )

    def no_narrower_than(self, relative_error: float, nonresponse: float = 0.0) -> Estimate:
        """Copy with a half-width of at least `relative_error` x |estimate|, plus `nonresponse`. An estimate without sampling
        error is unchanged.

        A run stops when its estimated variance is small, and so more often when the variance is underestimated. In tests with
        rare slow launches, intervals of t SE covered the true value too seldom (t: quantile of Student's distribution, SE:
        standard error); intervals of the error budget did not. So a run states at least its error budget, as in fixed-width
        sequential estimation (Chow and Robbins 1965). t SE can be computed from `std_error` and `degrees_of_freedom`.

        Args:
            relative_error: error budget.
            nonresponse: addition to the half-width for launches without a result.

        >>> [Estimate.of(100.0, half, std_error=half).no_narrower_than(0.02).half_width for half in (0.0, 1.0, 3.0)]
        [0.0, 2.0, 3.0]
        >>> Estimate.of(100.0, 1.5, std_error=0.5).no_narrower_than(0.02, nonresponse=1.0).half_width
        3.0
        """
        least = relative_error * abs(self.estimate) + nonresponse
        if not (self.half_width < least and self.std_error > 0.0):
            return self
        return replace(self, half_width=least, relative_half_width=relative(least, self.estimate, relative_error))

    @property
    def is_bounded(self) -> bool:
        """True if a half-width is stated."""
        return not math.isnan(self.half_width)

    def meets(self, relative_error: float) -> bool:
        """True if the half-width is at most `relative_error` x |estimate|, up to rounding. A run may stop when this is true of
        every target at the end of a pass.

        >>> Estimate.of(200.0, 4.0).meets(0.02)
        True
        """
        return self.half_width <= relative_error * abs(self.estimate) * (1.0 + 1e-9)

    def contains(self, truth: float) -> bool:
        """True if the confidence interval contains the value `truth`, up to rounding."""
        return bool(abs(self.estimate - truth) <= self.half_width + 1e-9 * abs(truth))


@dataclass(frozen=True, slots=True)
class PartTotals:
    """Totals of one part of a run: of a process, or of a cluster (group of similar launches).

    Attributes:
        number: index of the process or cluster.
        launches: number of launches in the part.
        simulated: number of these launches with a result.
        estimates: estimate of each counter.
    """

    number: Annotated[int, Range(0, 2**64)]
    launches: Annotated[int, Range(0, 2**40)]
    simulated: Annotated[int, Range(0, 2**40)]
    estimates: dict[str, Estimate]


def _degrees(*parts: Estimate) -> float:
    """Degrees of freedom of a sum of estimates: the smallest among the terms that have an error."""
    return min((part.degrees_of_freedom for part in parts if part.std_error != 0.0), default=math.inf)


def relative(half_width: float, estimate: float, relative_error: float) -> float:
    """Relative half-width, half_width / |estimate|; infinite if only the estimate is 0.

    Numerics: the result is exactly `relative_error` if the half-width is `relative_error` times the estimate, however the
    division rounds.

    >>> relative(0.03 * 7.0, 7.0, 0.03), relative(0.0, 0.0, 0.03), relative(1.0, 0.0, 0.03)
    (0.03, 0.0, inf)
    """
    if estimate == 0.0:
        return half_width and math.copysign(math.inf, half_width)
    return relative_error if half_width == relative_error * abs(estimate) else half_width / abs(estimate)
