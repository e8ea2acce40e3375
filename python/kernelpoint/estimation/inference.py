"""From a sample to estimates with bounds: totals, totals of clusters, ratios of totals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.bounds import Kind, error_probability, stated
from kernelpoint.estimation.design import ErrorBudget, Method
from kernelpoint.estimation.estimators import Fit, Sample, estimate_totals
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.variance import Spread, pooled_spread, scales, variance_and_degrees


@dataclass(frozen=True)
class Targets:
    """What is asked for. looks: the kinds of the looks up to this one; empty where no bound may be stated."""

    budget: ErrorBudget
    method: Method
    ratios: Mapping[str, tuple[str, str]]
    counters: tuple[str, ...]
    looks: tuple[Kind, ...]

    def quantile(self, degrees: float) -> float:
        """Quantile of this look's share of the error probability; nan without a bound, infinite without knowledge."""
        if not self.looks:
            return math.nan
        if degrees <= 0.0:
            return math.inf
        alpha = error_probability(self.budget.bound, 1.0 - self.budget.confidence, self.looks)
        return two_sided(alpha, round(min(degrees, 1e9), 6))


@dataclass
class Inference:
    """Everything one look knows; fits and spreads by counter, in the order of targets.counters."""

    targets: Targets
    sample: Sample
    values: Floats
    exact: Floats
    exact_clusters: Ints
    fits: list[Fit]
    spreads: list[Spread]

    @property
    def n(self) -> Ints:
        """n_h, int64 [H]: units of each stratum with a result."""
        return self.sample.n

    def _groups(self, by_cluster: bool) -> tuple[NDArray[np.integer], int]:
        if by_cluster:
            return self.sample.clusters, int(self.sample.clusters.max(initial=-1)) + 1
        return np.zeros(len(self.sample.N), np.int64), 1

    def totals(self, index: int, by_cluster: bool) -> list[Estimate]:
        """Estimates of one counter: one for the workload, or one per cluster."""
        groups, count = self._groups(by_cluster)
        value = np.bincount(groups, weights=self.fits[index].totals, minlength=count)
        simulated = np.bincount(groups[self.sample.strata], weights=self.values[:, index], minlength=count)
        cells = self.exact_clusters if by_cluster else np.zeros(len(self.exact), np.int64)
        keep = cells >= 0
        certain = np.bincount(cells[keep], weights=self.exact[keep, index], minlength=count)
        V, degrees = variance_and_degrees(self.sample.N, self.n, self.spreads[index], groups, count)
        return [
            self._estimate(
                self.targets.counters[index], value[g] + certain[g], V[g], degrees[g], simulated[g] + certain[g]
            )
            for g in range(count)
        ]

    def _estimate(self, name: str, value: float, V: float, degrees: float, simulated: float) -> Estimate:
        """The estimate with the half-width that this look states; nan where it states none."""
        budget = self.targets.budget
        error = math.sqrt(max(float(V), 0.0))
        quantile = self.targets.quantile(float(degrees))
        computed = 0.0 if error == 0.0 and not math.isnan(quantile) else quantile * error
        unseen = value == 0.0 and bool((self.n < self.sample.N).any())
        if unseen:  # only zeros were drawn: what the others hold, nothing tells
            computed = math.nan
        half = computed if math.isnan(computed) else stated(computed, float(value), budget.relative_error)
        relative = half / abs(value) if value else (half and math.copysign(math.inf, half))
        if value and half == budget.relative_error * abs(value):
            relative = budget.relative_error  # Numerics: exactly the budget, whatever the division rounds to
        return Estimate(
            name, float(value), half, float(relative), error, float(degrees), budget.confidence, float(simulated)
        )

    def ratio(self, name: str) -> Estimate:
        """A ratio of totals R = A / B by linearisation: residuals (a_i - R b_i) / B (Sarndal et al., section 5.6)."""
        above, below = (self.targets.counters.index(c) for c in self.targets.ratios[name])
        top, bottom = (self.fits[i].totals.sum() + self.exact[:, i].sum() for i in (above, below))
        sums = self.values.sum(axis=0) + self.exact.sum(axis=0)
        if bottom == 0.0:
            nan = math.nan
            return Estimate(name, nan, nan, nan, nan, 0.0, self.targets.budget.confidence, nan)
        R = top / bottom
        residuals = (self.fits[above].residuals - R * self.fits[below].residuals) / bottom
        H = len(self.sample.N)
        size = [np.abs(Moments.of(self.sample.strata, self.values[:, i], H).mean) for i in (above, below)]
        scale = scales((size[0] + abs(R) * size[1]) / (2.0 * abs(bottom)), self.n)
        spread = pooled_spread(self.sample.N, Moments.of(self.sample.strata, residuals, H), scale)
        V, degrees = variance_and_degrees(self.sample.N, self.n, spread, *self._groups(False))
        return self._estimate(name, R, V[0], degrees[0], sums[above] / sums[below] if sums[below] else math.nan)

    def budgeted(self) -> list[Estimate]:
        """The estimates that the budget is about: one, or one per cluster."""
        return self.totals(
            self.targets.counters.index(self.targets.budget.counter), self.targets.budget.scope == "cluster"
        )

    @property
    def met(self) -> bool:
        """Whether every estimate the budget is about has its half-width within it."""
        if not self.targets.looks or not self.targets.counters:
            return False
        return all(e.relative_half_width <= self.targets.budget.relative_error for e in self.budgeted())

    def report(self, missing: int) -> Look:
        """What the look says; `missing` drawn units have no result."""
        counters = range(len(self.targets.counters))
        by_cluster = [self.totals(i, True) for i in counters]
        N = np.bincount(self.sample.clusters, weights=self.sample.N) if len(self.sample.clusters) else np.zeros(0)
        n = np.bincount(self.sample.clusters, weights=self.n, minlength=len(N))
        exact = np.bincount(self.exact_clusters[self.exact_clusters >= 0], minlength=len(N))
        clusters = [
            {
                "cluster": c,
                "units": int(N[c] + exact[c]),
                "simulated": int(n[c] + exact[c]),
                "estimates": {estimates[c].counter: estimates[c] for estimates in by_cluster},
            }
            for c in range(len(N))
        ]
        return Look(
            index=len(self.targets.looks),
            estimates={self.targets.counters[i]: self.totals(i, False)[0] for i in counters},
            clusters=clusters,
            ratios={
                name: self.ratio(name)
                for name, pair in self.targets.ratios.items()
                if set(pair) <= set(self.targets.counters)
            },
            met=self.met,
            assumptions=self._assumptions(),
            warnings=self._warnings(missing),
        )

    def _assumptions(self) -> list[str]:
        if not self.targets.looks:
            return []
        alone = int(((self.n == 1) & (self.sample.N > 1)).sum())
        known = int((self.n > 1).sum())
        return [
            f"{alone} strata have one draw; their spread relative to their mean is taken from the {known} strata with more",
            "relative spreads of strata are exchangeable; no values much rarer than one in a stratum's draws carry much of it",
        ]

    def _warnings(self, missing: int) -> list[str]:
        found = []
        if missing:
            found.append(f"{missing} drawn units have no result: no bound is stated")
        empty = int(((self.n == 0) & (self.sample.N > 0)).sum())
        if empty and not missing:
            found.append(f"{empty} strata have no draw: they are missing from the total, and no bound is stated")
        return found


def infer(
    targets: Targets,
    sample: Sample,
    values: Floats,
    exact: Floats,
    exact_clusters: Ints,
    pilot: Inference | None = None,
) -> Inference:
    """Fits and spreads of every counter.

    Args:
        sample: draws of the strata; values: float64 [n, counters], their results.
        exact: float64 [e, counters], take-all units; exact_clusters: int [e], their cluster or -1.
        pilot: the first look, whose spreads stand for all later ones (two-stage).
    """
    fits, spreads = [], []
    H = len(sample.N)
    for index in range(len(targets.counters)):
        y = np.ascontiguousarray(values[:, index])
        fit = estimate_totals(targets.method, y, sample)
        fits.append(fit)
        if pilot is not None:
            spreads.append(pilot.spreads[index])
            continue
        scale = scales(Moments.of(sample.strata, y, H).mean, sample.n)
        spreads.append(pooled_spread(sample.N, Moments.of(sample.strata, fit.residuals, H), scale))
    return Inference(targets, sample, values, exact, exact_clusters, fits, spreads)
