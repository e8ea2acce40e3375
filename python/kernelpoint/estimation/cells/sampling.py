"""A sample of units with predictions: one draw in each cell, more cells in each pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimate import Estimate
from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.cells.design import AssistedDesign
from kernelpoint.estimation.cells.fit import NO_SECOND, SharesOfSecond, Trust, shares_of_second
from kernelpoint.estimation.cells.part import Auxiliary, Part
from kernelpoint.estimation.cells.parts import Demand, Parts, TotalFit
from kernelpoint.estimation.inference import Combination, TotalErrors
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets, Spreads
from kernelpoint.estimation.quantiles import quantile
from kernelpoint.estimation.sampling import Ratios, Sampling
from kernelpoint.estimation.unseen import OpenUnit, breaking
from kernelpoint.repeated import Column


class CellSampling(Sampling):
    """Model-assisted sampling: the sum of the predictions of all launches is corrected by a sample with one launch in each
    cell. A cell is a group of launches with similar predictions.

    Only the number of cells depends on results. Which cells there are, and which launch of each is drawn (the one with the
    smallest random number), never does. So each sample contains all smaller ones.

    Args:
        design: predictions, groups (kernels), random numbers.
        budget: relative error allowed in the totals.
        ratios, ranges: as in `Sampling`.

    Attributes:
        target: counter that the budget's first target is about; for a ratio, its numerator.

    >>> x, u = 100.0 + np.arange(1000) % 7, np.random.default_rng(0).random(1000)
    >>> cells = CellSampling(AssistedDesign({"cycles": x}, np.zeros(1000, int), u), ErrorBudget(0.01))
    >>> cells.results.add(cells.drawn(), ("cycles",), 1.1 * x[cells.drawn()])
    >>> look = cells.look(0, cells.budget)
    >>> look.may_stop, look.estimates["cycles"].contains(1.1 * x.sum())
    (True, True)
    """

    design: AssistedDesign

    def __init__(
        self,
        design: AssistedDesign,
        budget: ErrorBudget,
        ratios: Ratios | None = None,
        ranges: RangeTargets = NO_RANGES,
    ) -> None:
        super().__init__(design.size, budget, ratios, ranges)
        self.target = self.counted(budget.counter)
        self.design = design = design.with_ranges(ranges, self.target)
        self._free = design.free
        self._certain = np.flatnonzero(np.asarray(design.groups) < 0)
        self.u = np.asarray(design.u, dtype=float)
        self._fits: dict[str, TotalFit] = {}
        self._states = False
        self._like: dict[str, str] = {}  # counters of two runs that are compared, and the counter that each is
        self._sampling_budget = budget  # of the last growth
        self._scales: dict[str, float] = {}  # of counters without predictions of their own
        self._second_shares: dict[str, SharesOfSecond] = {}  # by counter, of a second source of predictions
        self._has_at = 0, np.zeros(len(self._free), dtype=bool)  # number of results, units that have these
        self._parts = Parts(design, self._predicted_targets())
        self._parts.set(self._parts.first(budget))

    def _predicted_targets(self) -> dict[str, float]:
        """Counters for which cells are made, each with the smallest relative error that a target allows."""
        errors: dict[str, float] = {}
        for name, error in self.budget.targets.items():
            key = self._predicted_by(name)
            errors[key] = min(self.design.of_uncertain(key, error), errors.get(key, 1.0))
        return errors

    def _predicted_by(self, target: str) -> str:
        """The range, or the counter, whose predictions serve for a target."""
        return target if target in self.ranges.of else self.design.predicted_by(self.counted(target), self.target)

    # ---- which units ------------------------------------------------------------------------------------------------

    @property
    def cells(self) -> list[int]:
        """Number of cells (groups of launches with similar predictions) in each part of the run in the present pass (round of
        sampling).
        """
        return self._parts.present

    def restrict_to(self, other: CellSampling) -> None:
        """Reduce the sample to the launches that another run of the same design has drawn, too."""
        self._parts.set(np.minimum(self.cells, other.cells).tolist())

    def drawn(self) -> Ints:
        return np.unique(np.concatenate((self._free[self._parts.sample()], self._certain)))

    # ---- looks ------------------------------------------------------------------------------------------------------

    @property
    def _alpha(self) -> float:
        """Error probability of each look."""
        return 1.0 - self.budget.confidence

    @property
    def _simulated_free(self) -> NDArray[np.bool_]:
        """True for units that have a result, bool [free]; one array until the next result."""
        if self._has_at[0] != self.results.count:
            self._has_at = self.results.count, self.design.of_free(self.results.rows) >= 0
        return self._has_at[1]

    @property
    def _has(self) -> NDArray[np.bool_]:
        """True for units whose values enter the total, bool [free]."""
        return self._simulated_free

    def _results_of(self, combination: Combination, units: Ints) -> Floats:
        """Linear combination of the counters of some units, float64 [units]."""
        columns = [self.counters.index(name) for _, name in combination]
        return np.asarray(self.results.of(units)[:, columns] @ np.array([weight for weight, _ in combination]))

    def _values(self, combination: Combination, units: Ints) -> Floats:
        """Values of simulated units as they enter the total, float64 [units]."""
        return self._results_of(combination, units) - self.constant(combination) + self.design.departure(combination, units)

    def known(self, counter: str) -> Auxiliary:
        """Predictions and sizes that are used for a counter, for the launches that are sampled by chance."""
        scale, name = (
            self._scales.get(counter, 1.0),
            self.design.predicted_by(self._like.get(counter, counter), self.target),
        )
        return Auxiliary(
            *self._prediction(counter), self._has, name if scale == 1.0 and name not in self._second_shares else ""
        )

    def _prediction(self, counter: str) -> tuple[Column, Column]:
        """Prediction and size of a counter, of the free units; of one that has none of its own, in proportion to another's."""
        like = self._like.get(counter, counter)
        x, size = self.design.prediction(like, self.target)
        if (name := self.design.predicted_by(like, self.target)) in self._second_shares:
            x = Column(None, x[:] + self._second_shares[name].of_groups[self.design.free_groups] * self._change(name))
        scale = self._scales.get(counter, 1.0)
        return (x, size) if scale == 1.0 else (x * scale, size * (scale or 1.0))  # errors are relative to some size

    def _fit(self, combination: Combination) -> TotalFit:
        """The fit of a combination of counters. A change from one run to another is fitted on the mean prediction of both: its
        own is next to nothing.
        """
        (weight, name), *others = combination
        is_counter = weight == 1.0 and not others
        if is_counter and name in self._fits:
            return self._fits[name]
        names = [self._like.get(name, name) for _, name in combination]
        of_budget = not {*names}.isdisjoint(map(self.counted, self.budget.targets))
        expected = min(map(self.design.expected_error, names)) if of_budget and not self._like else 0.0
        least = min(map(self.design.least_error, names))
        certain = self._of_certain(name) if is_counter else np.zeros((3, 0))
        trust = Trust(least, of_budget, expected, certain, *(self._second(name) if is_counter else ()))
        known, added = self.known(name), np.zeros(len(self._free))
        if not is_counter:
            x, mean, size = np.zeros((3, len(self._free)))
            for weight, name in combination:
                expected_values, sizes = self._prediction(name)
                x += weight * expected_values[:]
                mean += 0.5 * abs(weight) * expected_values[:]
                size += (0.5 if self._like else 1.0) * abs(weight) * sizes[:]
            if self._like:
                x, added = mean, mean - x
            known = Auxiliary(x, size, self._has)
        fit = self._parts.fit(
            lambda places: self._values(combination, self._free[places]) + added[places],
            known,
            self._alpha,
            trust,
        )
        fit = replace(fit, exact=fit.exact - float(added.sum()))
        if is_counter:
            self._fits[name] = fit
        return fit

    def _of_certain(self, counter: str) -> Floats:
        """Results, predictions and sizes of units that are always simulated and have predictions, float64 [3, units]."""
        units = self._certain[self.results.rows[self._certain] >= 0]
        x, size = self.design.of_certain(self._like.get(counter, counter), self.target, units)
        scale, has = self._scales.get(counter, 1.0), np.isfinite(x)
        values = self._values([(1.0, counter)], units[has])
        return np.stack([values, x[has] * scale, size[has] * (scale or 1.0)])

    def _simulated(self, combination: Combination, units: Ints) -> float:
        """Sum of results over simulated units."""
        return float(self._results_of(combination, units[self.results.rows[units] >= 0]).sum())

    def errors(self, combination: Combination) -> TotalErrors:
        units, t = self.results.units, 0.0 if self._states else math.nan
        simulated = self._simulated(combination, units)
        if self._parts.whole:
            values = self._results_of(combination, units) + self.design.departure(combination, units)
            return TotalErrors(float(values.sum()), simulated, t=t)
        fit, alpha = self._fit(combination), self._alpha
        constant = self.constant(combination) * len(self._free)
        value = fit.estimate + constant + self._simulated(combination, self._certain)
        t += quantile(alpha if self._like else fit.fits[0].spent(alpha), fit.nu)  # doubts are of predictions, not of changes
        unseen = sum(abs(weight) * self._fit([(1.0, name)]).unseen_counts(alpha) for weight, name in combination)
        guard = max(fit.guard(alpha), unseen if len(combination) > 1 else 0.0)
        return TotalErrors(value, simulated, fit.error, fit.nu, t, guard)

    def begin_analysis(self, states: bool) -> None:
        """Start an interim analysis (end of a round of sampling): forget the estimates of the last one, and compute, for each
        counter without predictions of its own, its ratio to the counter whose predictions it uses, from all draws (combined
        ratio estimator, Cochran 1977, section 6.11; its bias is of order 1 / draws). Measured predictions are scaled, too. Of
        two sources of predictions, compute how much the second counts.

        Args:
            states: True if half-widths are stated.
        """
        self._fits, self._states, self._scales, self._second_shares = {}, states, {}, {}
        constants_of = self.design.known
        names = [name for name in self.counters if name not in constants_of or constants_of[name].is_observed]
        if self._parts.whole:
            return
        weights = np.where(self._has, self._weights_of_draws(), 0.0) if names else np.zeros(0)
        drawn = np.flatnonzero(weights)
        for name in names:
            x, _ = self.design.prediction(self._like.get(name, name), self.target)
            predicted = float(weights[drawn] @ x[drawn])
            total = float(weights[drawn] @ self._results_of([(1.0, name)], self._free[drawn]))
            if predicted > 0.0 and total >= 0.0:
                self._scales[name] = total / predicted
        for name, prediction in self.design.uncertain.items():
            if prediction.second is not None and name in self.counters:
                self._second_shares[name] = self._shares_of_second(name)

    def _second(self, counter: str) -> tuple[SharesOfSecond, Floats]:
        """`Trust.second` and `Trust.excess` of a counter."""
        name = self.design.predicted_by(self._like.get(counter, counter), self.target)
        if name not in self._second_shares:
            return NO_SECOND, np.zeros(0)
        excess = self.design.of_free(self.design.uncertain[name].excess)
        return self._second_shares[name], self._scales.get(counter, 1.0) * excess

    def _change(self, name: str) -> Floats:
        """Second prediction of a counter minus the first, of the free units."""
        return self.design.of_free(self.design.uncertain[name].change)

    def _shares_of_second(self, name: str) -> SharesOfSecond:
        """Shares of the second source of a counter's predictions (`shares_of_second`), by draws of the rest of the run."""
        drawn, scale, groups = self._parts.rest.sample(), self._scales.get(name, 1.0), self.design.free_groups
        drawn = drawn[self._has[drawn]]
        x, size = (scale * values[drawn] for values in self.design.prediction(name, name))
        r, change = self._values([(1.0, name)], self._free[drawn]) - x, scale * self._change(name)[drawn]
        return shares_of_second(r, change, size, groups[drawn].astype(np.int64), self.design.label_count)

    def begin_comparison(self, like: Mapping[str, str]) -> None:
        """Start the comparison of two runs. The sampling then has the counters of both runs, under different names.

        Args:
            like: name of a counter in one of the runs -> name of the counter whose predictions it uses.
        """
        self._like = dict(like)
        self.begin_analysis(True)

    def look(self, missing: int, budget: ErrorBudget) -> Look:
        states = not missing and budget.bound != "none"
        self.begin_analysis(states)
        stated = self._stated()
        targets = budget.targets.items() if states else ()
        new = [part for name, error in targets for part in self._with_outliers(name, stated, error)]
        if new:
            for part in new:
                part.apart = True
            self._fits = {}
            stated = self._stated()
        estimates = {name: stated[name] for name in self.counters}
        ratios = {name: stated[name] for name in self.ratios if name in stated}
        assumptions = self._assumptions() if states else []
        warnings = [f"{missing} sampled units have no result: no bound is stated"] if missing else []
        whole = not states or self._parts.whole
        open_unit = None if whole else self._open_unit(estimates[self.target].estimate)
        index = self.looks if states else 0
        goes_on = "the beginning or first launches are unlike the rest, and get an estimate of their own" if new else ""
        return Look(
            index,
            estimates,
            ratios,
            assumptions=assumptions,
            warnings=warnings,
            open_unit=open_unit,
            goes_on=goes_on,
            may_stop=states and not new,
        )

    def _with_outliers(self, target: str, stated: Mapping[str, Estimate], error: float) -> list[Part]:
        """Parts whose outliers may take more than the bound of a target leaves of ROOM of its error, and more than MATERIAL of
        that error.
        """
        counter = self.counted(target)
        if counter not in self._fits or target in self.ranges.of:
            return []
        estimate, values = stated[target], [(1.0, counter)]
        computed = estimate.computed_half_width / max(abs(estimate.estimate), 1e-300)
        room = max(constants.ROOM * error - computed, constants.MATERIAL * error)
        return self._parts.with_outliers(
            lambda places: self._values(values, self._free[places]),
            self.known(counter),
            self._alpha,
            Trust(
                self.design.least_error(counter),
                expected=self.design.expected_error(counter),
                second=self._second(counter)[0],
            ),
            room * abs(stated[counter].estimate),
        )

    def _assumptions(self) -> list[str]:
        """Sentences on the assumptions of the bound, and on launches that a sample of this size can miss."""
        fit = self._fits.get(self.target)
        return [] if fit is None else self._parts.assumptions(fit, 1.0 - self.budget.confidence, self.target)

    def _open_unit(self, total: float) -> OpenUnit | None:
        """The unit without a result of which most is expected, by `predict` of all free units; see breaking."""
        expected = self.predict(self._free, [self.target])[:, 0]
        expected[self._simulated_free] = 0.0
        place = int(np.argmax(expected))
        unit, eps = int(self._free[place]), self.budget.relative_error
        return breaking(unit, float(expected[place]), total, eps, 1.0 / float(self._parts.cell_sizes()[place]))

    # ---- growth -----------------------------------------------------------------------------------------------------

    def _allowed(self, target: str) -> float:
        """Relative error of a target that the sampling error may use."""
        return self._sampling_budget.allowed(target)

    def grow(self, budget: ErrorBudget, look: Look) -> bool:
        parts, n = self._parts, self._parts.rest.n
        if parts.whole:
            return False
        self._sampling_budget = budget
        early = self.looks <= constants.EARLY_PASSES
        most = math.ceil(constants.MAX_GROWTH_FACTOR * n) if early else parts.rest.count
        if early and (enough := parts.with_second_draws()) > n:  # till then groups' differences count as scatter
            most = min(most, enough)
        least = n + (not any(parts.apart)) if early else math.ceil(constants.MIN_GROWTH_FACTOR * n)
        if any(self._fits[self.counted(target)].has_doubted_part for target in self.budget.targets):
            least = max(
                least, min(2 * constants.LEAST_DRAWS, parts.rest.count)
            )  # few draws may agree although predictions fail
        most = max(most, least)
        if self.looks >= constants.MOST_LOOKS - 1:
            parts.set(parts.counts)
        else:
            demands = [self._demand(look, target) for target in self.budget.targets]
            parts.set(parts.needed(demands, self._alpha, least, most))
        return True

    def _demand(self, look: Look, target: str) -> Demand:
        """The half-width and the outlier allowance that a target leaves, in the unit of the predictions that serve for it."""
        counter, eps = self.counted(target), self._allowed(target)
        fit, total = (
            self._fits[counter],
            abs(look.by_name[target if target in self.ranges.of else counter].estimate),
        )
        name, scale = self._predicted_by(target), self._scales.get(counter, 1.0) or 1.0
        x, size = self.design.prediction(name, name)
        known, half = Auxiliary(x, size, self._has, name), eps * total / scale
        unseen = fit.draws.unseen_counts(1.0 - self.budget.confidence) / scale
        if target in self.ratios:
            of = look.ratios[target]
            half *= fit.error * abs(of.estimate) / max(total * of.std_error, 1e-300)
        elif target in self.ranges.of:  # what it states beyond t SE falls with it
            now, _ = fit.error_with({part: part.n for part in fit.parts}, known, self._alpha)
            half *= now * scale / max(look.ranges[target].half_width, 1e-300)
            unseen = 0.0
        guard = self.design.of_uncertain(name, eps) * float(size.sum())
        return Demand(fit, known, half, guard, unseen)

    # ---- state, predictions -----------------------------------------------------------------------------------------

    def expansions(self, units: Ints) -> Floats:
        if not len(units) or self._parts.whole:
            return np.ones(len(units))
        return self._of_all(self._weights_of_draws(), 1.0)[units]

    def _of_all(self, values: Floats, certain: float) -> Floats:
        """Values of all units: those of the free ones, float64 [free], and the same number for all others."""
        if len(self._free) == self.design.size:
            return values
        result = np.full(self.design.size, certain)
        result[self._free] = values
        return result

    def _weights_of_draws(self) -> Floats:
        """Number of launches that each draw with a result represents; 1 for all others, float64 [free]."""
        weights, drawn = np.ones(len(self._free)), self._parts.sample()
        weights[drawn] = np.where(self._has[drawn], self._parts.sizes_of_drawn_cells(), 1.0)
        return weights

    def _anew(self, units: Ints) -> CellSampling:
        """Sampling for the first pass, in which some units can have no result."""
        return CellSampling(self.design.as_take_all(units), self.budget, self.ratios, self.ranges)

    def leaving_out(self, units: Ints) -> CellSampling:
        other = self._anew(units)
        counts = other._parts.counts
        if self._parts.whole:
            other._parts.set(counts)
        elif len(counts) == len(self.cells):
            other._parts.set(np.minimum(self.cells, counts).tolist(), self._parts.apart)
        return other

    @property
    def covariate(self) -> Floats:
        return self.design.means[self.design.predicted_by(self.target, self.target)]

    def pass_state(self) -> dict[str, Any]:
        return {"cells": self.cells, "apart": self._parts.apart}

    def _restores(self, state: Mapping[str, Any]) -> bool:
        cells, apart = state.get("cells"), state.get("apart")
        limits = list(zip(self.cells, self._parts.counts, strict=True))
        fits = all(isinstance(one, list) and len(one) == len(limits) for one in (cells, apart)) and all(
            isinstance(n, int) and low <= n <= high and isinstance(is_apart, bool)
            for n, is_apart, (low, high) in zip(cells or (), apart or (), limits, strict=True)
        )
        if fits:
            self._parts.set(cells or (), apart)
        return fits

    def _predict(self, units: Ints, counters: Sequence[str]) -> Floats:
        """Corrected: x + level of the group + slope x, and what these leave of the estimate in proportion to the size. So
        over all units, predictions add up to the estimated total.
        """
        values = np.full((len(units), len(counters)), np.nan)
        inside: Any = slice(None)
        place: Any = slice(None) if units is self._free else units
        if units is not self._free and len(self._certain):
            inside = np.flatnonzero(np.asarray(self.design.groups)[units] >= 0)
            place = np.searchsorted(self._free, units[inside])
        has = np.flatnonzero(self._simulated_free)
        results = self.results.of(self._free[has])
        for column, name in enumerate(counters):
            if name in self._fits:
                of_draws, known = results[:, self.counters.index(name)], self.design.constant(name)
                corrected = self._fits[name].corrected(*self._prediction(name), self.design.free_groups, has, of_draws - known)
                corrected += known
                values[inside, column] = corrected[place]
        return values

    def unit_spreads(self, counter: str) -> Spreads | None:
        if self._parts.whole:
            return np.ones(self.design.size), np.zeros(self.design.size), np.zeros(self.design.size)
        if counter not in self._fits:
            return None
        known, fit, residuals = self.known(counter), self._fits[counter], np.zeros(self.design.size)
        drawn, has = self._parts.sample(), np.flatnonzero(self._has)
        drawn = drawn[self._has[drawn]]
        units, results = self._free[drawn], self._results_of([(1.0, counter)], self._free[has])
        results = results - self.design.constant(counter)
        predicted = fit.corrected(known.x, known.size, self.design.free_groups, has, results)[drawn]
        residuals[units] = np.nan_to_num(self._values([(1.0, counter)], units) - predicted)
        spreads = self._of_all(self._parts.unit_spreads(fit, known), 0.0)
        weights = self._of_all(self._parts.cell_sizes(), 1.0)
        return weights, residuals, spreads
