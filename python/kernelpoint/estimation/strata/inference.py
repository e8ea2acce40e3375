"""From a sample of strata to the errors of linear combinations of counters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.bounds import Kind, error_probability
from kernelpoint.estimation.budget import ErrorBudget, Method
from kernelpoint.estimation.inference import Combination, Errors, TotalErrors
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.strata.allocation import sampling_factors
from kernelpoint.estimation.strata.estimators import ESTIMATORS, Fit, StrataSample
from kernelpoint.estimation.strata.variance import (
    SlowDraws,
    StrataVariances,
    alone,
    collapsed,
    pooled_spread,
    scales,
    variance_and_degrees,
)
from kernelpoint.estimation.unseen import sentences, unseen_slow


@dataclass
class Inference:
    """Interim analysis of a sample from H strata: totals, spreads and half-widths of all counters.

    Attributes:
        budget: error allowed.
        method: name of the estimator of totals.
        made_of: counters of each target that is no counter itself: those of a ratio, the counter summed over a range.
        counters: names of the columns of `values`.
        looks: kind of each pass (round of sampling) so far; empty if no half-width can be stated.
        sample: sampled launches of the strata.
        values: float64 [n, counters], results of the sampled launches.
        exact: float64 [e, counters], results of launches that are always simulated.
        constants: part of each counter, by name, that is the same for every launch (launch latency); it may hide no outlier.
        ranges: for each target that is a total over a range (part of the run), float64 [H], share of the launches of each
            stratum that lie in the range; set for the growth of the sample.
        paired: True if the counters are one counter in two runs over the same units, so that a combination is a change.
    """

    budget: ErrorBudget
    method: Method
    made_of: Mapping[str, tuple[str, ...]]
    counters: tuple[str, ...]
    looks: tuple[Kind, ...]
    sample: StrataSample
    values: Floats
    exact: Floats
    constants: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, Floats] = field(default_factory=dict)
    paired: bool = False

    @property
    def counted(self) -> str:
        """Counter that the budget's first target is about: the numerator of a ratio, the counter summed over a range, or the
        target itself.
        """
        return self.made_of.get(self.budget.counter, (self.budget.counter,))[0]

    def quantile(self, degrees: float, looks: tuple[Kind, ...] | None = None) -> float:
        """Two-sided quantile of Student's t distribution for the error probability that this interim analysis (end of a round
        of sampling) may use; nan if no half-width can be stated, infinite for 0 degrees of freedom.

        Args:
            degrees: degrees of freedom.
            looks: kinds of passes, the last of which decides the error probability; None: `self.looks`.
        """
        if not (looks := looks or self.looks):
            return math.nan
        if degrees <= 0.0:
            return math.inf
        alpha = error_probability(self.budget.bound, 1.0 - self.budget.confidence, looks)
        degrees = min(degrees, 1e9)
        step = 10.0 ** (math.floor(math.log10(degrees)) - 2)
        return two_sided(alpha, step * math.floor(degrees / step))  # Numerics: three digits down, for the cache

    @cached_property
    def fits(self) -> list[Fit]:
        """Estimated totals and predictions of each counter, in the order of `counters`."""
        estimator = ESTIMATORS[self.method]
        return [estimator(np.ascontiguousarray(column), self.sample) for column in self.values.T]

    @cached_property
    def spreads(self) -> list[StrataVariances]:
        """Variances of each counter's residuals inside strata, pooled over strata, in the order of `counters`."""
        return [self.spread([(1.0, name)]) for name in self.counters]

    @cached_property
    def slow(self) -> list[SlowDraws]:
        """Slow sampled launches in each counter, in the order of `counters`."""
        return [SlowDraws.of(self.sample.strata, np.ascontiguousarray(y), len(self.sample.N)) for y in self.values.T]

    @cached_property
    def n(self) -> Ints:
        """int64 [H]: number of sampled launches with a result in each stratum."""
        return self.sample.n

    def plain_variances(self, index: int) -> Floats:
        """Variance of a counter's residuals in each stratum, float64 [H], with slow drift along the run, which matters for
        parts of the run.

        Args:
            index: index of the counter in `counters`.
        """
        squares = self.spreads[index].S2
        if not self.sample.balanced:
            return squares
        moments = Moments.of(self.sample.strata, self.fits[index].residuals, len(self.sample.N))
        scale = self._scale([(1.0, self.counters[index])])
        return np.maximum(squares, pooled_spread(self.sample.N, moments, scale).S2)

    # ---- linear combinations ----------------------------------------------------------------------------------------

    def _columns(self, combination: Combination) -> list[tuple[float, int]]:
        return [(weight, self.counters.index(name)) for weight, name in combination]

    def _residuals(self, combination: Combination) -> Floats:
        return np.asarray(sum(weight * self.fits[k].residuals for weight, k in self._columns(combination)))

    def _scale(self, combination: Combination) -> Floats:
        """Scale of the residuals of each stratum, float64 [H], for relative spreads."""
        means = [
            abs(weight) * np.abs(Moments.of(self.sample.strata, self.values[:, k], len(self.sample.N)).mean)
            for weight, k in self._columns(combination)
        ]
        return scales(np.asarray(sum(means)) / len(means), self.n)

    def spread(self, combination: Combination) -> StrataVariances:
        """Variances of the residuals of a linear combination of counters inside strata, pooled over strata."""
        sample, scale, H = self.sample, self._scale(combination), len(self.sample.N)
        moments = (Moments.of_neighbours if sample.balanced else Moments.of)(sample.strata, self._residuals(combination), H)
        least: Floats | float = 0.0
        if len(combination) == 1:
            least = self.slow[self._columns(combination)[0][1]].mean_square(scale)
        return pooled_spread(sample.N, moments, scale, sample.balanced, least)

    def errors(self, combination: Combination) -> TotalErrors:
        """Estimated total of a linear combination of counters, with its errors.

        The change between two runs (`paired`) may be concentrated in few strata, because what divides two configurations (a
        working set that fits into one cache and not into the other) is in few of them. So two more variances are estimated
        (`collapsed`, `alone`), and the widest of the three intervals is used.

        Args:
            combination: pairs (weight, counter).
        """
        sample, columns = self.sample, self._columns(combination)
        value = sum(weight * self._total(k) for weight, k in columns)
        simulated = sum(weight * float(self.values[:, k].sum() + self.exact[:, k].sum()) for weight, k in columns)
        if not bool((self.n < sample.N).any()):
            return TotalErrors(value, simulated, t=0.0 * self.quantile(math.inf))
        spread = self.spreads[columns[0][1]] if len(columns) == 1 else self.spread(combination)
        variances = [variance_and_degrees(sampling_factors(sample.N, self.n), spread)]
        if self.paired:
            residuals = self._residuals(combination)
            moved = np.asarray(sum(weight * self.values[:, k] for weight, k in columns))
            variances += [collapsed(sample, residuals, self._scale(combination)), alone(sample, residuals, moved)]
        t, V, degrees = max(
            ((self.quantile(degrees), V, degrees) for V, degrees in variances),
            key=lambda wide: wide[0] * math.sqrt(wide[1]) if wide[1] > 0.0 else 0.0,
        )
        if any(self._is_hardly_seen(k) for _, k in columns):
            t = math.nan  # what the others hold, nothing tells
        guard = 0.0 if self.paired else self._guard(columns)
        return TotalErrors(value, simulated, math.sqrt(max(V, 0.0)), degrees, t, guard)

    def outlier_allowances(self, index: int) -> Floats:
        """float64 [H]: largest deviation that is assumed of one undrawn launch in each stratum, relative to `sizes`:
        `StrataSample.allowance`, or, if slow launches may occur, the excess of the slow sampled launches if that is larger.

        Args:
            index: index of the counter in `counters`.
        """
        allowance = np.full(len(self.n), self.sample.allowance)
        if not self.sample.slow_excess:
            return allowance
        size, excess = self.sizes(index), self.slow[index].mean(self._scale([(1.0, self.counters[index])]))
        whole = size + self._constant(index)  # of which the excess is measured
        return np.maximum(allowance, excess * np.divide(whole, size, out=np.ones(len(size)), where=size > 0.0))

    def _guard(self, columns: list[tuple[float, int]]) -> float:
        """Largest change of a total by outliers: the most influential draw is wrong by the outlier allowance, or as many
        undrawn units are slow as the sample can miss (unseen_slow).
        """
        sample, n = self.sample, self.n
        size = np.asarray(sum(abs(weight) * self.sizes(k) for weight, k in columns)) / len(columns)
        rest = np.where(n < sample.N, 1.0 - n / np.maximum(sample.N, 1), 0.0) * size
        allowance = np.maximum.reduce([self.outlier_allowances(k) for _, k in columns])
        most = float((allowance * rest / np.maximum(n, 1)).max(initial=0.0))
        return max(
            most, sample.slow_excess and sample.slow_excess * unseen_slow(sample.N, n, size, 1.0 - self.budget.confidence)
        )

    def _total(self, index: int) -> float:
        return float(self.fits[index].totals.sum() + self.exact[:, index].sum())

    # ---- what no draw shows -----------------------------------------------------------------------------------------

    def sizes(self, index: int) -> Floats:
        """float64 [H]: amount of a counter's total that may lie in each stratum, without its constant part: the base for the
        effect of an outlier.

        - Cycles: the larger of the stratum's estimated total and the total that its cluster suggests (total over covariate in
          the cluster, times the stratum's covariate), because all draws (sampled launches) may be short launches by chance.
          Without a covariate, or where launches may be slow: the estimated total.
        - Another counter that is 0 in all draws of a stratum with undrawn launches: N_h m / allowance, for N_h launches and the
          mean m of the counter where it is not 0. Model: one in N_h / n_h launches is as large as m, n_h the number of draws.
        - Otherwise: the estimated total.

        Args:
            index: index of the counter in `counters`.
        """
        size = np.maximum(np.abs(self.fits[index].totals) - self._constant(index), 0.0)
        if self.counters[index] == "cycles":
            X, clusters = self.sample.X, self.sample.clusters
            if X is None or self.sample.slow_excess:
                return size
            of_clusters, x = (np.bincount(clusters, weights=values) for values in (size, X))
            each = np.divide(of_clusters, x, out=np.zeros(len(x)), where=x > 0.0)
            return np.maximum(size, each[clusters] * X)
        nothing, usual = self._nothing(index)
        return np.where(nothing, self.sample.N * usual / self.sample.allowance, size)

    def _constant(self, index: int) -> Floats:
        """float64 [H]: constant part of a counter's total in each stratum."""
        return np.asarray(self.constants.get(self.counters[index], 0.0) * self.sample.N)

    def _nothing(self, index: int) -> tuple[NDArray[np.bool_], float]:
        """Strata in whose draws a counter is always 0, bool [H], and the counter's mean in all other draws."""
        values = np.abs(self.values[:, index])
        seen = np.concatenate([values, np.abs(self.exact[:, index])])
        shown = np.bincount(self.sample.strata, weights=values, minlength=len(self.n))
        usual = float(seen[seen > 0.0].mean()) if bool(seen.any()) else 0.0
        return (shown == 0.0) & (self.n > 0) & (self.n < self.sample.N), usual

    def _is_hardly_seen(self, index: int) -> bool:
        """True if no bound on a counter can be stated: it is 0 in all draws (of two runs, in those of the strata, for no
        allowance is added to a change), or the budget is not about it, and its spread rests on few, or strata showed nothing
        of it and few draws show any.
        """
        name = self.counters[index]
        if self._total(index) == 0.0 or (self.paired and not self.fits[index].totals.any()):
            return True
        if any(name in self.made_of.get(target, (target,)) for target in self.budget.targets):
            return False
        _, degrees = variance_and_degrees(sampling_factors(self.sample.N, self.n), self.spreads[index])
        few = np.count_nonzero(self.values[:, index]) < constants.MIN_COUNTS
        # t has no finite variance with 2 degrees of freedom or fewer
        return degrees < 2.0 or bool(few and self._nothing(index)[0].any())

    # ---- targets ----------------------------------------------------------------------------------------------------

    def target_spread(self) -> StrataVariances:
        """Variances, inside strata, of the residuals of the budget's first target. For a range (part of the run), they are
        multiplied by the share of the stratum's launches in the range.
        """
        name, index = self.budget.counter, self.counters.index(self.counted)
        if below := self.made_of.get(name, ())[1:]:  # a ratio
            top, bottom = self._total(index), self._total(self.counters.index(below[0]))
            return self.spread([(1.0 / bottom, self.counted), (-top / bottom**2, below[0])])
        spread = self.spreads[index]
        if name not in self.ranges:
            return spread
        shares = self.ranges[name]
        return replace(spread, S2=self.plain_variances(index) * shares, pooled=spread.pooled * shares)

    def shares_of_target(self, estimate: float) -> Floats:
        """float64 [H]: share of each stratum in the total of the budget's first target, which is estimated as `estimate`."""
        index = self.counters.index(self.counted)
        if (inside := self.ranges.get(self.budget.counter)) is not None:
            return self.sizes(index) * inside / (abs(estimate) or 1.0)
        whole = float(np.abs(self.fits[index].totals).sum() + np.abs(self.exact[:, index]).sum())
        return np.asarray(self.sizes(index) / (whole or 1.0))

    # ---- statements -------------------------------------------------------------------------------------------------

    def assumptions(self) -> list[str]:
        """Sentences for the report: assumptions of a half-width, and kinds of launches that the sample may miss."""
        if not self.looks:
            return []
        single, measured, unseen = int(((self.n == 1) & (self.sample.N > 1)).sum()), int((self.n > 1).sum()), []
        if (budgeted := self.budgeted_totals()) is not None:
            name, totals, whole = budgeted
            draws, undrawn = np.maximum(self.n, 1), self.sample.N - self.n
            shares = np.repeat(np.where(undrawn > 0, totals, 0.0) / draws, draws) / max(whole, 1e-300)
            unseen = sentences(shares, int(undrawn.sum()), 1.0 - self.budget.confidence, name)
        return [
            f"{single} strata have one draw; their spread relative to their mean is taken from the {measured} strata with more",
            "relative spreads of strata are exchangeable",
            *unseen,
        ]

    def budgeted_totals(self) -> tuple[str, Floats, float] | None:
        """Name of the budget's counter, its estimated total in each stratum (float64 [H]), and the total of all launches; None
        without results.
        """
        name = self.counted
        if name not in self.counters:
            return None
        index = self.counters.index(name)
        totals = np.abs(self.fits[index].totals)
        return name, totals, float(totals.sum() + np.abs(self.exact[:, index]).sum())


PAIR = "first", "second"  # names of a counter in two runs


def errors_of_change(
    sample: StrataSample, values: Floats, exact: Floats, method: Method = "regression", alpha: float = 0.05
) -> Errors:
    """Make the function that estimates totals of one counter in two runs over the same launches, with errors, from the launches
    that both runs simulated. The counter is named "first" in one run and "second" in the other.

    Args:
        sample: common sampled launches, a simple random sample of each stratum.
        values: float64 [n, 2], value of each sampled launch in both runs.
        exact: float64 [k, 2], values of launches that are always simulated.
        method: name of the estimator of totals.
        alpha: error probability of a half-width.

    >>> from kernelpoint.estimation.inference import ratio
    >>> u = np.arange(100.0)
    >>> sample = StrataSample(np.zeros(10, int), np.array([100]), np.zeros(1, int))
    >>> a = 50.0 + u[:10]
    >>> errors = errors_of_change(sample, np.column_stack([a, 2.0 * a]), np.zeros((0, 2)), "mean")
    >>> change = ratio("", PAIR[::-1], errors, 0.95)
    >>> change.estimate, change.half_width < 0.02
    (2.0, True)
    """
    budget = ErrorBudget(0.5, 1.0 - alpha, PAIR[0], "none", {PAIR[1]: 0.5})
    return Inference(budget, method, {}, PAIR, ("first",), sample, values, exact, paired=True).errors
