"""From a sample to estimates with bounds: totals, totals of clusters, ratios of totals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimate import Estimate, PartTotals
from kernelpoint.estimation import constants
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.strata.estimators import ESTIMATORS, Fit, Sample
from kernelpoint.estimation.strata.influence import borrowed_totals, outlier_allowances, outlier_effects
from kernelpoint.estimation.strata.targets import Groups, Targets
from kernelpoint.estimation.strata.variance import (
    SlowDraws,
    Spread,
    pooled_spread,
    scales,
    variance_and_degrees,
)
from kernelpoint.estimation.unseen import OpenUnit, sentences


@dataclass(frozen=True)
class RangePart:
    """A range that is a target: its estimate, and the share of the units of each stratum that lie in it, float64 [H]."""

    estimate: Estimate
    shares: Floats


@dataclass
class Inference:
    """Everything one look knows; fits and spreads by counter, in the order of targets.counters; ranges by target."""

    targets: Targets
    sample: Sample
    values: Floats
    exact: Floats
    clusters: Groups
    domains: Groups
    fits: list[Fit]
    spreads: list[Spread]
    ranges: Mapping[str, RangePart] = field(default_factory=dict)

    @cached_property
    def n(self) -> Ints:
        """n_h, int64 [H]: number of units of each stratum with a result."""
        return self.sample.n

    @property
    def whole(self) -> Groups:
        """Grouping in which all strata form one group."""
        return Groups(np.zeros(len(self.sample.N), np.int64), np.zeros(len(self.exact), np.int64), 1)

    def plain_variances(self, index: int) -> Floats:
        """S_h^2 of a counter, float64 [H], including slow drift along the run, which matters for parts of the run."""
        squares = self.spreads[index].S2
        if not self.sample.balanced:
            return squares
        values, H = np.ascontiguousarray(self.values[:, index]), len(self.sample.N)
        scale = scales(Moments.of(self.sample.strata, values, H).mean, self.n)
        moments = Moments.of(self.sample.strata, self.fits[index].residuals, H)
        return np.maximum(squares, pooled_spread(self.sample.N, moments, scale).S2)

    def totals(self, index: int, groups: Groups) -> list[Estimate]:
        """Estimates of one counter, one for each group."""
        cell, count = groups.of_stratum, groups.count
        value = np.bincount(cell, weights=self.fits[index].totals, minlength=count)
        simulated = np.bincount(cell[self.sample.strata], weights=self.values[:, index], minlength=count)
        keep = groups.of_exact >= 0
        certain = np.bincount(groups.of_exact[keep], weights=self.exact[keep, index], minlength=count)
        V, degrees = variance_and_degrees(self.sample.N, self.n, self.spreads[index], cell, count)
        influence = self._outlier_effects(
            self.sizes(index), outlier_allowances(self.sample, self.values[:, index]), groups
        )
        undrawn = np.bincount(cell, weights=self.n < self.sample.N, minlength=count) > 0
        too_little_support = self._has_too_little_support(index, degrees)
        return [
            self._estimate(
                self.targets.counters[index],
                value[g] + certain[g],
                V[g],
                degrees[g],
                simulated[g] + certain[g],
                influence[g],
                bool(undrawn[g]),
                bool(too_little_support[g]),
            )
            for g in range(count)
        ]

    def sizes(self, index: int) -> Floats:
        """float64 [H]: amount that each stratum adds to a counter's total, as a measure of what one outlier can change.

        Model: a stratum that showed nothing but zeros (misses, DRAM traffic) may hold launches that are no zeros, and no
        spread tells of them. One in N_h / n_h may be as large as those that were seen elsewhere: it counts as N_h / allowance
        times their mean. Cycles are never zero, zeros of a profile are its clock's; but see borrowed_totals.
        """
        size = np.abs(self.fits[index].totals)
        if self.targets.counters[index] == "cycles":
            x, clusters = self.sample.X, self.sample.clusters
            return size if x is None or self.sample.slow_excess else borrowed_totals(size, x, clusters)
        nothing, usual = self._nothing(index)
        return np.where(nothing, self.sample.N * usual / self.sample.allowance, size)

    def _nothing(self, index: int) -> tuple[NDArray[np.bool_], float]:
        """Strata, bool [H], whose draws showed nothing of a counter, and the mean of what was seen elsewhere."""
        values = np.abs(self.values[:, index])
        seen = np.concatenate([values, np.abs(self.exact[:, index])])
        shown = np.bincount(self.sample.strata, weights=values, minlength=len(self.n))
        usual = float(seen[seen > 0.0].mean()) if bool(seen.any()) else 0.0
        return (shown == 0.0) & (self.n > 0) & (self.n < self.sample.N), usual

    def _has_too_little_support(self, index: int, degrees: Floats) -> NDArray[np.bool_]:
        """Groups whose total of a counter is hardly seen, from the degrees of freedom of each: bool like `degrees`. The budget
        is not about it, and its spread rests on few, or strata showed nothing of it and few draws show any.
        """
        wanted = self.targets.budget.targets
        if any(self.targets.counters[index] in self.targets.counters_of(name) for name in wanted):
            return np.zeros(len(degrees), dtype=bool)
        few = bool(self._nothing(index)[0].any()) and np.count_nonzero(self.values[:, index]) < constants.MIN_COUNTS
        return np.asarray((degrees < constants.MIN_DEGREES) | few)

    def _outlier_effects(self, size: Floats, allowance: Floats, groups: Groups) -> Floats:
        """Change of each group's total, float64 [groups], by undrawn outliers; arguments as of `outlier_effects`."""
        alpha = 1.0 - self.targets.budget.confidence
        return outlier_effects(self.sample, size, allowance, alpha, groups.of_stratum, groups.count)

    def _estimate(
        self,
        name: str,
        value: float,
        V: float,
        degrees: float,
        simulated: float,
        influence: float,
        undrawn: bool,
        too_little_support: bool = False,
    ) -> Estimate:
        """The estimate with the half-width that this look states; nan where it states none.

        Args:
            undrawn: whether any unit of what is estimated has not been drawn; too_little_support: see _has_too_little_support.
        """
        error = math.sqrt(max(float(V), 0.0))
        quantile = self.targets.quantile(float(degrees))
        computed = 0.0 if error == 0.0 and not math.isnan(quantile) else quantile * error
        if undrawn and (
            value == 0.0 or too_little_support
        ):  # only zeros were drawn: what the others hold, nothing tells
            computed = math.nan
        guard = float(influence) if undrawn else 0.0
        budget = self.targets.budget
        parts = float(value), computed, guard, error, float(degrees), float(simulated)
        return Estimate.bounded(name, *parts, budget.allowed(name), budget.confidence)

    def _ratio_parts(self, name: str) -> tuple[int, int, float, float]:
        """Columns of the two counters of a ratio, and the estimated totals of both."""
        above, below = (self.targets.counters.index(c) for c in self.targets.ratios[name])
        top, bottom = (float(self.fits[i].totals.sum() + self.exact[:, i].sum()) for i in (above, below))
        return above, below, top, bottom

    def ratio_spread(self, name: str) -> Spread:
        """Spread of the linearised residuals (a_i - R b_i) / B of a ratio R = A / B (Sarndal et al., section 5.6)."""
        above, below, top, bottom = self._ratio_parts(name)
        R = top / bottom
        residuals = (self.fits[above].residuals - R * self.fits[below].residuals) / bottom
        H = len(self.sample.N)
        size = [np.abs(Moments.of(self.sample.strata, self.values[:, i], H).mean) for i in (above, below)]
        scale = scales((size[0] + abs(R) * size[1]) / (2.0 * abs(bottom)), self.n)
        moments = Moments.of_neighbours if self.sample.balanced else Moments.of
        return pooled_spread(self.sample.N, moments(self.sample.strata, residuals, H), scale, self.sample.balanced)

    def ratio(self, name: str) -> Estimate:
        """Ratio of totals R = A / B with the bound of its linearisation; nan if B is 0."""
        above, below, top, bottom = self._ratio_parts(name)
        sums = self.values.sum(axis=0) + self.exact.sum(axis=0)
        if bottom == 0.0:
            return Estimate.unknown(name, self.targets.budget.confidence)
        whole = self.whole
        spread = self.ratio_spread(name)
        V, degrees = variance_and_degrees(self.sample.N, self.n, spread, whole.of_stratum, 1)
        simulated = sums[above] / sums[below] if sums[below] else math.nan
        size = [self.sizes(i) for i in (above, below)]
        allowance = np.maximum(*(outlier_allowances(self.sample, self.values[:, i]) for i in (above, below)))
        influence = self._outlier_effects(
            (size[0] + abs(top / bottom) * size[1]) / (2.0 * abs(bottom)), allowance, whole
        )
        undrawn = bool((self.n < self.sample.N).any())
        return self._estimate(name, top / bottom, V[0], degrees[0], simulated, influence[0], undrawn)

    def target_spread(self, name: str) -> Spread:
        """Spread of the residuals of a target; of a range what its variance sum N_hd (N_h / n_h - 1) S_h^2 takes for S_h^2."""
        if name in self.targets.ratios:
            return self.ratio_spread(name)
        index = self.targets.counters.index(self.targets.counters_of(name)[0])
        spread = self.spreads[index]
        if name not in self.ranges:
            return spread
        shares = self.ranges[name].shares
        return replace(spread, S2=self.plain_variances(index) * shares, pooled=spread.pooled * shares)

    @property
    def target_groups(self) -> Groups:
        """The groups that have to meet the budget, each by itself: domains (one where there are none)."""
        name = self.targets.budget.counter
        return self.whole if name in self.targets.ratios or name in self.targets.ranges else self.domains

    def budgeted(self) -> list[Estimate]:
        """Estimates to which the budget applies: one for each of `target_groups`."""
        name = self.targets.budget.counter
        if name in self.targets.ratios:
            return [self.ratio(name)]
        if name in self.ranges:
            return [self.ranges[name].estimate]
        return self.totals(self.targets.counters.index(name), self.target_groups)

    def shares_of_target(self) -> Floats:
        """The part of the total, range or domain that each stratum makes up, float64 [H], as `sizes` has it."""
        index, groups = self.targets.counters.index(self.targets.counted), self.target_groups
        if (part := self.ranges.get(self.targets.budget.counter)) is not None:
            return self.sizes(index) * part.shares / (abs(part.estimate.estimate) or 1.0)
        whole = np.bincount(groups.of_stratum, weights=np.abs(self.fits[index].totals), minlength=groups.count)
        keep = groups.of_exact >= 0
        whole += np.bincount(groups.of_exact[keep], weights=np.abs(self.exact[keep, index]), minlength=groups.count)
        return np.asarray(self.sizes(index) / np.where(whole > 0.0, whole, 1.0)[groups.of_stratum])

    def each(self) -> list[Inference]:
        """Same analysis for the budget of each target alone."""
        return [replace(self, targets=replace(self.targets, budget=one)) for one in self.targets.budget.each()]

    def _parts(self, groups: Groups) -> list[PartTotals]:
        """Statement of a look on each group."""
        by_counter = [self.totals(i, groups) for i in range(len(self.targets.counters))]
        units, simulated = groups.units(self.sample.N), groups.units(self.n)
        return [
            PartTotals(g, units[g], simulated[g], {estimates[g].counter: estimates[g] for estimates in by_counter})
            for g in range(groups.count)
        ]

    def report(self, missing: int, open_unit: OpenUnit | None = None) -> Look:
        """Make the interim analysis record; `missing` drawn units have no result."""
        counters = self.targets.counters
        return Look(
            index=len(self.targets.looks),
            estimates={name: self.totals(i, self.whole)[0] for i, name in enumerate(counters)},
            clusters=self._parts(self.clusters),
            domains=self._parts(self.domains) if self.domains.count > 1 else [],
            ratios={name: self.ratio(name) for name, pair in self.targets.ratios.items() if set(pair) <= set(counters)},
            may_stop=bool(self.targets.looks and counters),
            assumptions=self._assumptions(),
            warnings=self._warnings(missing),
            open_unit=open_unit,
        )

    def _assumptions(self) -> list[str]:
        if not self.targets.looks:
            return []
        alone = int(((self.n == 1) & (self.sample.N > 1)).sum())
        measured = int((self.n > 1).sum())
        return [
            f"{alone} strata have one draw; their spread relative to their mean is taken from the {measured} strata with more",
            "relative spreads of strata are exchangeable",
            *self._unseen(),
        ]

    def budgeted_totals(self) -> tuple[str, Floats, float] | None:
        """Totals of `Targets.counted`: in each stratum, float64 [H], and in all; None without results."""
        name = self.targets.counted
        if name not in self.targets.counters:
            return None
        index = self.targets.counters.index(name)
        totals = np.abs(self.fits[index].totals)
        return name, totals, float(totals.sum() + np.abs(self.exact[:, index]).sum())

    def _unseen(self) -> list[str]:
        """Sentences on units that no draw is of."""
        budget = self.targets.budget
        if (found := self.budgeted_totals()) is None:
            return []
        name, totals, whole = found
        draws = np.maximum(self.n, 1)
        undrawn = self.sample.N - self.n
        shares = np.repeat(np.where(undrawn > 0, totals, 0.0) / draws, draws) / max(whole, 1e-300)
        return sentences(shares, int(undrawn.sum()), 1.0 - budget.confidence, name)

    def _warnings(self, missing: int) -> list[str]:
        found = []
        if missing:
            found.append(f"{missing} sampled units have no result: no bound is stated")
        empty = int(((self.n == 0) & (self.sample.N > 0)).sum())
        if empty and not missing:
            found.append(
                f"{empty} strata have no sampled unit: they are missing from the total, and no bound is stated"
            )
        return found


def infer(
    targets: Targets,
    sample: Sample,
    values: Floats,
    exact: Floats,
    clusters: Groups,
    domains: Groups,
) -> Inference:
    """Compute fits and spreads of every counter.

    Args:
        sample: draws of the strata; values: float64 [n, counters], their results.
        exact: float64 [e, counters], take-all units.
        clusters, domains: the parts of the population that are reported, and may have to meet the budget, by themselves.
    """
    fits, spreads = [], []
    H = len(sample.N)
    for index in range(len(targets.counters)):
        y = np.ascontiguousarray(values[:, index])
        fit = ESTIMATORS[targets.method](y, sample)
        fits.append(fit)
        scale = scales(Moments.of(sample.strata, y, H).mean, sample.n)
        moments = Moments.of_neighbours if sample.balanced else Moments.of
        spread = pooled_spread(
            *(sample.N, moments(sample.strata, fit.residuals, H), scale, sample.balanced),
            least=SlowDraws.of(sample.strata, y, H).mean_square(scale),
        )
        spreads.append(spread)
    return Inference(targets, sample, values, exact, clusters, domains, fits, spreads)
