"""A sample from strata: thresholds, totals and bounds from its draws, growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError, shown
from kernelpoint.estimation.bounds import Kind
from kernelpoint.estimation.budget import ErrorBudget, Method
from kernelpoint.estimation.inference import Combination, TotalErrors
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets, Spreads
from kernelpoint.estimation.numbering import in_order, rank_in
from kernelpoint.estimation.sampling import Ratios, Sampling
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.strata.estimators import ESTIMATORS, StrataSample
from kernelpoint.estimation.strata.growth import next_sizes
from kernelpoint.estimation.strata.inference import Inference
from kernelpoint.estimation.unseen import OpenUnit, breaking

LEVELS = 10  # a stratum is halved this often to spread its sample; one of 2^LEVELS and more is spread as finely as that


def spread_over_run(u: Floats, strata: NDArray[np.integer]) -> Floats:
    """Random numbers in [0, 1), float64 [N], whose n smallest values in each stratum belong to launches spread evenly over the
    run, for every n.

    Method: scrambled van der Corput sequence (Owen 1995). A launch's position in its stratum, rotated by a random amount, is a
    fraction p. The bits of p are read in reverse, and a fair coin at each node of the binary tree decides which half comes
    first. So the 2^k smallest numbers have one launch in each of 2^k equal sections of the stratum. Because of the rotation,
    each launch has the same chance to be among the n smallest, and estimators stay unbiased. Coins and rotations are digits of
    `u`.

    Args:
        u: float64 [N], independent random numbers in [0, 1) that never change.
        strata: int [N], stratum of each launch; a launch with -1 keeps its number.

    >>> u = spread_over_run(np.random.default_rng(0).random(64), np.zeros(64, int))
    >>> bool(np.diff(np.sort(np.argsort(u)[:8])).max() < 16)
    True
    """
    order = in_order(strata)[np.count_nonzero(strata < 0) :]
    starts = np.flatnonzero(np.diff(strata[order], prepend=-1))
    N = np.diff(starts, append=len(order))
    turn = np.floor(np.modf(u[order[starts]] * 2.0**24)[0] * N).astype(np.int64)
    start, size = np.repeat(starts, N), np.repeat(N, N)
    place = np.arange(len(order)) - start
    units = order[start + (place - np.repeat(turn, N)) % size]  # by stratum and turned place
    digits = u[units]
    depth = np.minimum(np.floor(np.log2(size)), LEVELS).astype(np.int16)  # every part of the last level has a unit
    scale = 2.0**depth
    part = (place / size * scale).astype(np.int16)
    order_of_parts = np.zeros(len(units), dtype=np.int16)
    for level in range(int(depth.max(initial=0))):
        node = part >> np.maximum(depth - np.int16(level), 0)
        first = np.flatnonzero((place == 0) | (np.diff(node, prepend=-1) != 0))
        coin = np.repeat((digits[first] * 2.0 ** (level + 1)).astype(np.int16), np.diff(first, append=len(units)))
        bit = (part >> np.maximum(depth - np.int16(level + 1), 0) ^ coin) & 1
        order_of_parts |= np.where(level < depth, bit << level, 0)  # the first halves count least: they alternate fastest
    in_part = rank_in(np.cumsum((place == 0) | (np.diff(part, prepend=-1) != 0)), digits)
    spread = np.array(u, dtype=float)
    spread[units] = (order_of_parts + scale * in_part + digits) / (scale * np.ceil(size / scale))
    return spread


class StrataSampling(Sampling):
    """Sampling from strata: launch i of stratum h is drawn if its random number u_i is at most the threshold T_h. Thresholds
    only grow, so each sample contains all earlier ones.

    Args:
        design: strata, first sample sizes, random numbers, covariate.
        budget: relative error allowed in the totals.
        method: name of the estimator of totals, as `estimate` of `Engine`.
        ratios, ranges: as in `Sampling`.

    Raises:
        ConfigError: the design does not support the estimator.

    >>> u = np.array([0.3, 0.1, 0.2])
    >>> StrataSampling(Design(np.zeros(3, int), np.array([2]), u), ErrorBudget(0.1)).drawn().tolist()
    [1, 2]
    """

    design: Design

    def __init__(
        self,
        design: Design,
        budget: ErrorBudget,
        method: Method = "regression",
        ratios: Ratios | None = None,
        ranges: RangeTargets = NO_RANGES,
    ) -> None:
        if method not in ESTIMATORS:
            raise ConfigError(f"estimate: {shown(method)} is not allowed; give one of {', '.join(ESTIMATORS)}")
        if method in ("ratio", "separate_ratio") and design.x is None:
            raise ConfigError(f"estimate: {method!r} needs a covariate (design.x), which is missing; give regression or mean")
        if method == "separate_ratio" and design.chosen is None:
            raise ConfigError(
                "estimate: 'separate_ratio' is biased in small samples; it is allowed only if the design names its "
                "sample (design.chosen)"
            )
        super().__init__(len(design.strata), budget, ratios, ranges)
        self.design, self.method = design, method
        self._kinds: tuple[Kind, ...] = ("first",)
        self._population = design.sizes
        clusters = design.clusters
        self.clusters = np.zeros(len(self._population), np.int64) if clusters is None else np.asarray(clusters)
        self._certain = np.flatnonzero(np.asarray(design.strata) == -1)
        self._start = np.concatenate(([0], np.cumsum(self._population)))
        self.u = spread_over_run(design.u, design.strata) if design.balanced else design.u
        self._order = self._unit_order()
        self._inference: Inference | None = None  # of the last look
        self._observed: Ints = np.zeros(0, np.int64)  # its units that were drawn by chance
        self.sizes: Ints = np.minimum(np.maximum(design.first_sizes, 1), self._population).astype(np.int64)
        if design.chosen is not None:
            self.sizes = np.bincount(design.strata[design.chosen] + 1, minlength=len(self.sizes) + 1)[1:]

    def _unit_order(self) -> NDArray[np.integer]:
        """Units in order of (stratum, u); a purposive sample stands first in its stratum."""
        u = self.u
        if self.design.chosen is not None:
            u = np.full(len(u), 0.5)
            u[self.design.chosen] = 0.0
        return in_order(self.design.strata, u)[len(self._certain) :]

    @property
    def thresholds(self) -> Floats:
        last = np.maximum(self._start[:-1] + self.sizes - 1, 0)
        if not len(self._order):
            return np.full(len(self.sizes), -1.0)
        return np.where(self.sizes > 0, self.u[self._order[np.minimum(last, len(self._order) - 1)]], -1.0)

    def _prefixes(self, sizes: Ints) -> Ints:
        """First `count` units of every stratum, in the order of their random numbers."""
        ends = np.cumsum(sizes)
        offset = np.repeat(self._start[:-1] - (ends - sizes), sizes)
        return self._order[offset + np.arange(ends[-1] if len(ends) else 0)].astype(np.int64)

    def drawn(self) -> Ints:
        return np.unique(np.concatenate((self._prefixes(self.sizes), self._certain)))

    def restrict_to(self, observed: NDArray[np.bool_]) -> None:
        """Shorten the sample of each stratum: keep the draws (sampled launches) before the first launch, in the order of the
        random numbers, that is not `observed`.

        Args:
            observed: bool [N], for example launches with a trace.

        >>> one = StrataSampling(Design(np.zeros(3, int), np.ones(1, int), np.array([0.3, 0.1, 0.2])), ErrorBudget(0.1))
        >>> one.restrict_to(np.array([False, True, True]))
        >>> one.sizes.tolist()
        [2]
        """
        h = np.asarray(self.design.strata)[self._order]
        unknown = np.concatenate(([0], np.cumsum(~observed[self._order])))
        before = unknown[1:] == unknown[self._start[h]]
        self.sizes = np.bincount(h[before], minlength=len(self._population)).astype(np.int64)

    def with_spare(self, factor: float) -> Ints:
        """int64, ascending: indices of a sample `factor` times as large in every stratum, and of the launches that are always
        simulated. As long as the sample grows only within it, no other launch is drawn.

        >>> one = StrataSampling(Design(np.zeros(9, int), np.ones(1, int), np.linspace(0.9, 0.1, 9)), ErrorBudget(0.1))
        >>> one.drawn().tolist(), one.with_spare(2.0).tolist()
        ([8], [7, 8])
        """
        sizes = np.minimum(np.ceil(max(factor, 1.0) * self.sizes), self._population).astype(np.int64)
        return np.unique(np.concatenate((self._prefixes(sizes), self._certain)))

    def look(self, missing: int, budget: ErrorBudget) -> Look:
        design, with_result = self.design, self.results.rows >= 0
        units, certain = np.sort(self._prefixes(self.sizes)), self._certain[with_result[self._certain]]
        self._observed = units = units[with_result[units]]
        sample = StrataSample(
            np.asarray(design.strata)[units],
            self._population,
            self.clusters,
            None if design.x is None else design.x[units],
            design.covariate_totals,
            design.balanced,
            design.allowance,
            design.slow_excess,
        )
        empty = int(((sample.n == 0) & (sample.N > 0)).sum())
        states_bound = design.chosen is None and self.budget.bound != "none" and not missing and not empty
        self._inference = inference = Inference(
            budget,
            self.method,
            self.made_of,
            self.counters,
            self._kinds if states_bound else (),
            sample,
            self.results.of(units),
            self.results.of(certain),
            {name: design.constant(name) for name in self.counters},
        )
        warnings, stated = [], self._stated()
        if missing:
            warnings.append(f"{missing} sampled units have no result: no bound is stated")
        elif empty:
            warnings.append(f"{empty} strata have no sampled unit: they are missing from the total, and no bound is stated")
        return Look(
            index=len(inference.looks),
            estimates={name: stated[name] for name in self.counters},
            ratios={name: stated[name] for name in self.ratios if name in stated},
            may_stop=bool(inference.looks and self.counters),
            assumptions=inference.assumptions(),
            warnings=warnings,
            open_unit=None if missing else self._open_unit(inference),
        )

    def errors(self, combination: Combination) -> TotalErrors:
        assert self._inference is not None
        return self._inference.errors(combination)

    def _open_unit(self, inference: Inference) -> OpenUnit | None:
        """The next unit of the stratum with the largest T_h / N_h that is not drawn whole; see breaking."""
        budgeted, N, n = inference.budgeted_totals(), inference.sample.N, inference.n
        h = np.flatnonzero((n > 0) & (n < N))
        if budgeted is None or not len(h) or not inference.looks:
            return None
        _, totals, whole = budgeted
        means = totals[h] / N[h]
        first = h[int(np.argmax(means))]
        unit = int(self._order[self._start[first] + self.sizes[first]])
        eps = inference.budget.relative_error
        return breaking(unit, float(means.max()), whole, eps, float(n[first] / N[first]))

    def anew(self, budget: ErrorBudget, ratios: Ratios, left_out: Ints | None = None) -> StrataSampling:
        """Copy of the sampling without results, for another budget; the present sample stays, except launches, given by index,
        that cannot be drawn.

        >>> one = StrataSampling(Design(np.zeros(3, int), np.ones(1, int), np.array([0.3, 0.1, 0.2])), ErrorBudget(0.1))
        >>> one.anew(ErrorBudget(0.01), {}).drawn().tolist()
        [1]
        """
        design = self.design if left_out is None else self.design.as_take_all(left_out)
        other = StrataSampling(design, budget, self.method, ratios, self.ranges)
        other.u = self.u  # spread over the run as before, so that all that is drawn stays drawn
        other._order = other._unit_order()
        other.sizes = np.minimum(self.sizes, other._population)
        other._kinds = self._kinds
        return other

    def leaving_out(self, units: Ints) -> StrataSampling:
        return self.anew(self.budget, self.ratios, units)

    @property
    def covariate(self) -> Floats | None:
        return self.design.x

    def expansions(self, units: Ints) -> Floats:
        ratio = np.append(self.design.sizes / np.maximum(self.sizes, 1), 1.0)
        return np.asarray(ratio[np.asarray(self.design.strata)[units]], dtype=float)

    def grow(self, budget: ErrorBudget, look: Look) -> bool:
        last = self._inference
        if last is None or self.design.chosen is not None or bool((self.sizes >= self._population).all()):
            return False
        ranges, strata = {}, np.asarray(self.design.strata)
        for name in look.ranges:
            inside = np.bincount(strata[self.ranges.units(name) & (strata >= 0)], minlength=len(self._population))
            ranges[name] = inside / np.maximum(self._population, 1)
        grown, kind = next_sizes(replace(last, budget=budget, ranges=ranges), look)
        self._kinds = (*self._kinds, kind)
        self.sizes = np.minimum(self.sizes + np.maximum(grown - last.n, 0), self._population)
        return True

    def pass_state(self) -> dict[str, Any]:
        return {"sizes": self.sizes.tolist(), "kinds": list(self._kinds)}

    def _restores(self, state: Mapping[str, Any]) -> bool:
        try:
            sizes, kinds = np.asarray(state["sizes"], dtype=np.int64), tuple(map(str, state["kinds"]))
            fits = len(sizes) == len(self.sizes) and bool(((sizes >= self.sizes) & (sizes <= self._population)).all())
        except (LookupError, TypeError, ValueError, OverflowError):
            fits = False
        if fits:
            self.sizes, self._kinds = sizes, cast("tuple[Kind, ...]", kinds)
        return fits

    def _predict(self, units: Ints, counters: Sequence[str]) -> Floats:
        """The prediction of each unit's stratum."""
        values = np.full((len(units), len(counters)), np.nan)
        h = np.asarray(self.design.strata)[units]
        in_stratum = h >= 0
        if (last := self._inference) is None:
            return values
        for column, name in enumerate(counters):
            fit = last.fits[self.counters.index(name)]
            values[in_stratum, column] = fit.intercept[h[in_stratum]]
            if self.design.x is not None:
                values[in_stratum, column] += fit.slope[h[in_stratum]] * self.design.x[units[in_stratum]]
        return values

    def unit_spreads(self, counter: str) -> Spreads | None:
        if (last := self._inference) is None:
            return None
        index, strata = self.counters.index(counter), np.asarray(self.design.strata)
        sizes = np.append(last.sample.N / np.maximum(last.n, 1), 1.0)
        spreads = np.append(np.sqrt(last.plain_variances(index)), 0.0)
        residuals = np.zeros(len(strata))
        drawn = self._observed
        fit, h = last.fits[index], strata[drawn]
        x = 0.0 if self.design.x is None else self.design.x[drawn]
        residuals[drawn] = self.results.of(drawn)[:, index] - fit.intercept[h] - fit.slope[h] * x
        return sizes[strata], residuals, spreads[strata]
