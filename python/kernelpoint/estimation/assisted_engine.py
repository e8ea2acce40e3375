"""The engine of a run whose every unit has a prediction: one draw in each cell, more cells in each pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.estimation.assisted import AssistedFit, CellSample, fit_total, quantile
from kernelpoint.estimation.assisted_design import AssistedDesign
from kernelpoint.estimation.base import BaseEngine, Frame
from kernelpoint.estimation.bounds import PASSES, relative, stated, unseen
from kernelpoint.estimation.design import ErrorBudget
from kernelpoint.estimation.look import Estimate, Look, unbounded_parts
from kernelpoint.estimation.measurement_error import Reach
from kernelpoint.estimation.moments import Floats, Ints

# Numerics and Model: from trials on pairs of model and truth; see README.md
SIZING_MARGIN = 1.15  # a sample is sized so that its half-width should be this much below the budget
MAX_GROWTH_FACTOR = 3.0  # the first two growths are at most by this
MIN_GROWTH_FACTOR = 1.5  # and every one after the third at least by this
MAX_CELLS = 50_000  # cells; a sample that needs more takes every unit

Combination = Sequence[tuple[float, str]]  # weights of counters: one counter, or a linearised ratio


class AssistedEngine(BaseEngine):
    """Model-assisted sampling: predictions of all units, corrected by a sample.

    Only the number of cells depends on results. Which cells there are (cells.py), and which unit of each is drawn (the one
    with the least permanent random number), never does. So samples nest, and no cell grows because of its own draw.

    Args:
        design: predictions, groups, permanent random numbers; budget: of scope "workload".
        ratios: name -> (counter above, counter below).

    Raises:
        ConfigError: the budget is on clusters.

    >>> x = 100.0 + np.arange(1000) % 7
    >>> u = np.random.default_rng(0).random(1000)
    >>> engine = AssistedEngine(AssistedDesign({"cycles": x}, np.zeros(1000, int), u), ErrorBudget(0.01))
    >>> for unit in engine.wanted():
    ...     engine.record(int(unit), ("cycles",), [1.1 * x[unit]])
    >>> look = engine.look()
    >>> look.met, look.estimates["cycles"].contains(1.1 * x.sum())
    (True, True)
    """

    thresholds: Floats | None = None  # of no use here: a unit is drawn by its cell, not by a number alone

    def __init__(
        self, design: AssistedDesign, budget: ErrorBudget, ratios: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        super().__init__(design.size, budget, ratios)
        if budget.scope != "workload":
            raise ConfigError(f"error_budget.scope: {budget.scope!r} is not allowed with predictions; give workload")
        self.design = design
        self._target = self.ratios.get(budget.counter, (budget.counter,))[0]
        self._free = design.free
        self._certain = np.flatnonzero(np.asarray(design.groups) < 0)
        self.u = np.asarray(design.u, dtype=float)
        self._u = self.u[self._free]
        self._cells = design.cells(self._target, budget.relative_error)
        self._least: dict[int, int] = {}
        self._fits: dict[str, AssistedFit] = {}
        self._last: Look | None = None
        self.n = self._pilot()

    # ---- which units ------------------------------------------------------------------------------------------------

    def _pilot(self) -> int:
        """Cells of the first pass: enough for a spread, for `assume`, and for a guard that can be met."""
        care, eps = self.design.care, self.budget.relative_error
        n = self._bounded(max(self._cells.first + (3 if eps >= 0.05 else 4), care.draws))
        while not self._all(n) and self._share(n) * care.odd > eps:
            n = self._bounded(n + 1)
        return n

    def _bounded(self, n: int) -> int:
        """As many cells, or all units where that is more than MAX_CELLS or than there are."""
        return len(self._free) if n > min(MAX_CELLS, len(self._free)) else n

    def _all(self, n: int) -> bool:
        return n >= len(self._free)

    def _share(self, n: int) -> float:
        """The largest part of the total that one of n draws stands for."""
        return 0.0 if self._all(n) else float(self._cells.leaves(n).shares.max(initial=0.0))

    def _sample(self) -> Ints:
        """The drawn unit (its place in `free`) of each leaf, in the order of the leaves."""
        if self._all(self.n):
            return np.arange(len(self._free))
        leaves = self._cells.leaves(self.n)
        for node, start, end in zip(leaves.node.tolist(), leaves.start.tolist(), leaves.end.tolist(), strict=True):
            if node not in self._least:
                units = self._cells.order[start:end]
                self._least[node] = int(units[np.argmin(self._u[units])])
        return np.array([self._least[node] for node in leaves.node.tolist()], dtype=np.int64)

    def drawn(self) -> Ints:
        """Units of the present sample and take-all units, int64, ascending."""
        return np.unique(np.concatenate((self._free[self._sample()], self._certain)))

    # ---- looks ------------------------------------------------------------------------------------------------------

    def _alpha(self, look: int) -> float:
        """Error probability of a look (1, 2, ...): all of it at each, or halved from look to look (`assume: hostile`)."""
        alpha = 1.0 - self.budget.confidence
        return alpha * 0.5**look if self.budget.bound == "sequential" and self.design.care.shares else alpha

    def _cell_sample(self, x: Floats, size: Floats) -> tuple[CellSample, Ints]:
        """The sample with the sums of its cells, and its units; cells whose draw has no result are left out."""
        leaves, sample = self._cells.leaves(self.n), self._sample()
        order, N = self._cells.order, leaves.units
        mean_x, mean, square = (np.add.reduceat(v[order], leaves.start) / N for v in (x, size, size * size))
        keep = self._results.rows[self._free[sample]] >= 0
        units = sample[keep]
        sampled = CellSample(
            x=x[units],
            size=size[units],
            group=self.design.free_groups[units].astype(np.int64),
            order=self._free[units],
            N=N[keep],
            mean_x=mean_x[keep],
            square=square[keep],
            spread=np.maximum(square - mean**2, 0.0)[keep],
            mixed=leaves.mixed[keep],
            X=float((N * mean_x)[keep].sum()),
            count=self.design.group_count,
        )
        return sampled, self._free[units]

    def sampled(self, counter: str) -> tuple[CellSample, Ints]:
        """The present sample with the predictions of a counter, and its units."""
        return self._cell_sample(*self.design.prediction(counter, self._target))

    @property
    def largest_share(self) -> float:
        """The largest part of the total that one draw stands for; 0 where every unit is drawn."""
        return self._share(self.n)

    def _values(self, combination: Combination, units: Ints) -> Floats:
        """The combination of the results of units, float64 [units]."""
        columns = [self.counters.index(name) for _, name in combination]
        return np.asarray(self._results.of(units)[:, columns] @ np.array([weight for weight, _ in combination]))

    def _fit(self, combination: Combination) -> tuple[AssistedFit, float]:
        """The fit of a combination of counters, and the total of its sizes."""
        x, size = np.zeros(len(self._free)), np.zeros(len(self._free))
        for weight, name in combination:
            predicted, sizes = self.design.prediction(name, self._target)
            x, size = x + weight * predicted, size + abs(weight) * sizes
        sample, units = self._cell_sample(x, size)
        return fit_total(self._values(combination, units), sample, self._alpha(self.looks)), float(size.sum())

    def _simulated(self, combination: Combination, units: Ints) -> float:
        """Sum over simulated units."""
        return float(self._values(combination, units[self._results.rows[units] >= 0]).sum())

    def _estimate(self, name: str, combination: Combination, budget: ErrorBudget, states: bool) -> Estimate:
        """The estimate of a combination of counters, with the half-width that this look states."""
        simulated = self._simulated(combination, np.flatnonzero(self._results.rows >= 0))
        if self._all(self.n):
            half = 0.0 if states else math.nan
            return Estimate(name, simulated, half, half, 0.0, math.inf, budget.confidence, simulated)
        fit, size = self._fit(combination)
        self._fits[name] = fit
        value = fit.estimate + self._simulated(combination, self._certain)
        guard = self._share(self.n) * fit.oddity(self.design.care.odd) * size
        half = math.nan
        if states:
            computed = fit.half_width(self._alpha(self.looks), self._cells.leaves(self.n).mixes)
            half = max(stated(computed, value, budget.relative_error, guard), guard)
        part = relative(half, value, budget.relative_error)
        return Estimate(name, value, half, part, fit.error, fit.spread.nu, budget.confidence, simulated)

    def _look(self, missing: int, budget: ErrorBudget) -> Look:
        states = not missing and budget.bound != "none"
        self._fits = {}
        estimates = {name: self._estimate(name, [(1.0, name)], budget, states) for name in self.counters}
        known = [name for name, pair in self.ratios.items() if set(pair) <= set(self.counters)]
        ratios = {name: self._ratio(name, estimates, budget, states) for name in known}
        target = ratios.get(budget.counter) or estimates.get(budget.counter)
        met = states and target is not None and target.relative_half_width <= budget.relative_error
        clusters, assumptions = self._groups() if estimates else [], self._assumptions() if states else []
        warnings = [f"{missing} drawn units have no result: no bound is stated"] if missing else []
        look = Look(self.looks if states else 0, estimates, clusters, ratios, met, [], assumptions, warnings)
        self._last = None if missing else look
        return look

    def _ratio(self, name: str, estimates: Mapping[str, Estimate], budget: ErrorBudget, states: bool) -> Estimate:
        """A ratio of totals R = A / B by linearisation (Sarndal et al., section 5.6): error of the total of (a - R b) / B."""
        above, below = (estimates[counter] for counter in self.ratios[name])
        if below.estimate == 0.0:
            return replace(above, counter=name, estimate=math.nan, half_width=math.nan, relative_half_width=math.nan)
        R = above.estimate / below.estimate
        pair = ((1.0 / below.estimate, above.counter), (-R / below.estimate, below.counter))
        found = self._estimate(name, pair, budget, states)
        self._fits.pop(name, None)
        half = max(found.half_width, budget.relative_error * abs(R)) if found.half_width > 0.0 else found.half_width
        simulated = above.simulated / below.simulated if below.simulated else math.nan
        part = relative(half, R, budget.relative_error)
        return replace(found, estimate=R, half_width=half, relative_half_width=part, simulated=simulated)

    def _groups(self) -> list[dict[str, Any]]:
        """Units, draws and estimates of each group; predictions corrected as a whole, so without bounds of their own."""
        groups, have = self.design.free_groups, self._results.rows[self._free] >= 0
        return unbounded_parts(
            groups, self.design.group_count, self.counters, self.predict(self._free), have, self.budget.confidence
        )

    def _assumptions(self) -> list[str]:
        """Sentences on what the statement rests on, and what a sample of this size cannot see."""
        fit = self._fits.get(self._target)
        if fit is None:
            return []
        shares = self._cells.leaves(self.n).shares
        effective = 1.0 / max(float((shares**2).sum()), 1e-300)
        return [
            f"one draw in each of {self.n} cells; relative errors of predictions are exchangeable between them",
            f"the draw that stands for most stands for {100 * shares.max():.2g} % of {self._target}; it may be "
            f"{100 * fit.oddity(self.design.care.odd):.2g} % off its prediction",
            unseen(min(effective, self.n), 1.0 - self.budget.confidence, self._target),
        ]

    # ---- growth -----------------------------------------------------------------------------------------------------

    def grow(self) -> bool:
        """More cells: as many as the last look says are needed, in few steps. False where the sample cannot grow."""
        last, self._last = self._last, None
        if last is None or last.met or self._all(self.n) or self.budget.bound == "none":
            return False
        everything = len(self._free)
        most = self._bounded(math.ceil(MAX_GROWTH_FACTOR * self.n)) if self.looks <= 2 else everything
        least = self._bounded(self.n + 1 if self.looks <= 3 else math.ceil(MIN_GROWTH_FACTOR * self.n))
        wanted = everything if self.looks >= PASSES - 1 else self._needed(last, least)
        self.n = self._bounded(min(wanted, max(most, least)))
        return True

    def _needed(self, look: Look, least: int) -> int:
        """The least number of cells, `least` or more, that should meet the budget with the spread of the last look."""
        eps, name = self.budget.relative_error, self.budget.counter
        fit, total = self._fits[self._target], abs(look.estimates[self._target].estimate)
        share = (
            1.0
            if name not in self.ratios
            else total * look.ratios[name].std_error / (max(fit.error * abs(look.ratios[name].estimate), 1e-300))
        )
        alpha = fit.spent(self._alpha(self.looks + 1))
        n = least
        while not self._all(n := self._bounded(n)):
            leaves = self._cells.leaves(n)
            nu = max(min(fit.spread.nu + n - self.n, 400.0), 1.0)
            half = SIZING_MARGIN * quantile(alpha, nu) * math.sqrt(fit.spread.variance(*leaves.sums)) * share
            apart = not (fit.doubted and leaves.mixes)
            guard = 1.02 * float(leaves.shares.max()) * fit.oddity(self.design.care.odd)
            if apart and half <= eps * total and guard <= eps:
                return n
            n = max(n + 1, int(1.08 * n))
        return n

    # ---- errors of results, state, predictions ----------------------------------------------------------------------

    def _reach(self) -> Reach:
        units = np.array(self._errors.units, dtype=np.int64)
        weights = self._of_draws(units, lambda sample: sample.influences)
        return Reach(weights, np.asarray(self.design.groups)[units], None, shared=False)

    def expansions(self, units: Ints) -> Floats:
        """See BaseEngine: the units of its cell."""
        return self._of_draws(units, lambda sample: sample.N)

    def _of_draws(self, units: Ints, values: Callable[[CellSample], Floats]) -> Floats:
        if self._all(self.n) or not len(units):
            return np.ones(len(units))
        sample, drawn = self.sampled(self._target)
        known = dict(zip(drawn.tolist(), values(sample).tolist(), strict=True))
        return np.array([known.get(unit, 1.0) for unit in units.tolist()])

    def _lacking(self, units: Ints) -> AssistedEngine:
        other = AssistedEngine(self.design.without(units), self.budget, self.ratios)
        other.n = len(other._free) if self._all(self.n) else other._bounded(self.n)
        return other

    @property
    def _frame(self) -> Frame:
        return self.design.groups, self.design.predictions[self.design.predicted_by(self._target, self._target)], None

    def _expanded_totals(self) -> dict[str, float]:
        whole = self._all(self.n)
        return {
            name: self._simulated([(1.0, name)], self._free) if whole else self._fit([(1.0, name)])[0].estimate
            for name in (self.counters if self._errors.known else ())
        }

    def pass_state(self) -> dict[str, Any]:
        """All that a pass adds to the engine's state, as plain values."""
        return {"cells": self.n}

    def restore_pass(self, state: Mapping[str, Any]) -> None:
        """Take the number of cells of a pass from a journal instead of sizing it again; it only grows.

        Raises:
            JournalError: fewer cells than before, or more than units.
        """
        n = state.get("cells")
        if not isinstance(n, int) or not self.n <= n <= len(self._free):
            raise JournalError("the cells of a pass in the journal do not fit this design")
        self.n = n

    def predict(self, units: Iterable[int]) -> Floats:
        """float64 [units, counters]: own result where simulated, else the corrected prediction; nan before the first look.

        Corrected: x + level of the group + slope x, and what these leave of the estimate in proportion to the size. So
        over all units, predictions add up to the estimated total. nan for take-all units without a result.
        """
        array = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, dtype=np.int64)
        values = np.full((len(array), len(self.counters)), np.nan)
        inside = np.flatnonzero(np.asarray(self.design.groups)[array] >= 0)
        place = np.searchsorted(self._free, array[inside])
        for name, fit in self._fits.items():
            values[inside, self.counters.index(name)] = self._corrected(name, fit)[place]
        known = self._results.rows[array] >= 0
        values[known] = self._results.of(array[known])
        return values

    def _corrected(self, name: str, fit: AssistedFit) -> Floats:
        """float64 [free]: predictions of units without a result; with the results they add up to the estimate."""
        x, size = self.design.prediction(name, self._target)
        m = x + fit.level[self.design.free_groups] + fit.slope * x
        without = self._results.rows[self._free] < 0
        left = fit.estimate - self._simulated([(1.0, name)], self._free) - float(m[without].sum())
        below = float(size[without].sum())
        return m + (left / below * size if below > 0.0 else 0.0)
