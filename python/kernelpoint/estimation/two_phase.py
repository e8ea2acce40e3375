"""Two-phase sampling: predictions are known of a first sample only (traced launches), results of a second one within it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.bounds import error_probability
from kernelpoint.estimation.budget import Assume, ErrorBudget
from kernelpoint.estimation.cells.design import AssistedDesign
from kernelpoint.estimation.cells.parts import next_number
from kernelpoint.estimation.cells.sampling import CellSampling
from kernelpoint.estimation.inference import Combination, TotalErrors
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.quantiles import quantile, satterthwaite
from kernelpoint.estimation.sampling import Ratios
from kernelpoint.estimation.strata.sampling import StrataSampling


def donors(strata: NDArray[np.integer], sample: NDArray[np.bool_]) -> Ints:
    """Choose the sampled launch that represents each launch, int64 [N]. A sampled launch represents itself. The other launches
    of a stratum are divided equally, in order, among the sampled launches of the stratum.

    Args:
        strata: int [N], stratum of each launch; -1: none.
        sample: bool [N], True for sampled launches.

    >>> donors(np.array([0, 0, 0, 0, 0, -1, 1]), np.array([False, True, False, False, True, True, False])).tolist()
    [1, 1, 1, 4, 4, 5, 6]
    """
    strata = np.asarray(strata)
    count = int(strata.max(initial=-1)) + 1
    donor = np.arange(len(strata))
    of = [np.flatnonzero(chosen & (strata >= 0)) for chosen in (sample, ~sample)]
    given, others = (units[np.argsort(strata[units], kind="stable")] for units in of)
    m, extra = (np.bincount(strata[units], minlength=count) for units in (given, others))
    start, first = (np.cumsum(sizes) - sizes for sizes in (m, extra))
    h = strata[others]
    rank = np.arange(len(others)) - first[h]
    place = start[h] + rank * m[h] // np.maximum(extra[h], 1)
    served = m[h] > 0
    donor[others[served]] = given[place[served]]
    return donor


@dataclass(frozen=True)
class TwoPhaseDesign:
    """Design for two-phase sampling: a first sample of launches is traced; a second sample, within the first, is simulated.
    Only traced launches have predictions and can be simulated.

    Args:
        first: sampling from strata that drew the first sample, without results. Its design has the launch latency.
        observed: bool [N], True for traced launches.
        predictions: by counter, float64 [N], finite for traced launches.
        groups: int [N], group (kernel) of each launch, within which predictions may share an error; -1: always simulated.
        u: float64 [N], random numbers that draw the second sample, independent of those of the first.
        assume: errors that predictions may hide; see AssistedDesign.

    >>> from kernelpoint.estimation.budget import ErrorBudget
    >>> from kernelpoint.estimation.strata.design import Design
    >>> strata, u = np.zeros(10, dtype=int), np.random.default_rng(0).random(10)
    >>> first = StrataSampling(Design(strata, np.array([4]), u), ErrorBudget(0.05))
    >>> traced = np.isin(np.arange(10), first.drawn())
    >>> design = TwoPhaseDesign(first, traced, {"cycles": np.where(traced, 900.0, np.nan)}, strata, 1.0 - u)
    >>> int(design.sample.sum())
    4
    """

    first: StrataSampling
    observed: NDArray[np.bool_]
    predictions: Mapping[str, Floats]
    groups: NDArray[np.integer]
    u: Floats
    assume: Assume = "ordinary"

    @property
    def sample(self) -> NDArray[np.bool_]:
        """bool [N], True for the usable first sample: launches that are always simulated, and traced launches that `first`
        draws. In each stratum, launches after the first untraced one in the order of sampled launches are left out.
        """
        inside = np.zeros(len(self.observed), dtype=bool)
        inside[self.first.drawn()] = True
        return inside & self.observed

    def leaving_out(self, units: Ints) -> TwoPhaseDesign:
        """Same design if the launches with the given indices can have no result. Others represent their stratum."""
        observed, groups = self.observed.copy(), np.array(self.groups)
        observed[units], groups[units] = False, -1
        first = self.first.leaving_out(units)
        first.restrict_to(observed)
        return replace(self, first=first, observed=observed, groups=groups)


class TwoPhaseSampling(CellSampling):
    """Two-phase sampling: a first sample of launches is traced, and a second sample of the traced launches is simulated. Each
    untraced launch is replaced by a copy of a traced one, its donor (hot deck); then `CellSampling` is used.

    Formula: the estimate is that of CellSampling for sum_i yhat(donor(i)), yhat the result or corrected prediction; a drawn
    launch is simulated as its donor. Half-width: t sqrt(V1 + V2), and no less than the allowance for slow launches in either
    sample.
        V2: variance of the second sample, given the first.
        V1 = sum_h (A_h + D_h) S_h^2: variance of the first sample, sum over strata h (Sarndal, Swensson, Wretman 1992, section
            9.3).
        A_h = N_h^2 (1 - m_h / N_h) / m_h, for m_h traced launches of N_h.
        D_h: addition because donors represent different numbers of launches.
        S_h^2: variance of corrected predictions within strata, pooled, plus the squared error of predictions.

    If V1 alone exceeds the budget, the first sample must grow: then `drawn` also names launches that are not traced yet.

    >>> from kernelpoint.estimation import Design, Engine
    >>> strata, u = np.arange(4000) % 40, np.random.default_rng(0).random(4000)
    >>> first = StrataSampling(Design(strata, np.full(40, 5), u), ErrorBudget(0.05))
    >>> y = 100.0 + strata + np.random.default_rng(1).random(4000)
    >>> x = np.full(4000, np.nan)
    >>> observed = np.zeros(4000, bool)
    >>> observed[first.drawn()] = True
    >>> x[observed] = 0.9 * y[observed]
    >>> design = TwoPhaseDesign(first, observed, {"cycles": x}, strata, np.random.default_rng(2).random(4000))
    >>> engine = Engine(design, ErrorBudget(0.05))
    >>> for unit in engine.wanted():
    ...     engine.record(int(unit), ("cycles",), [y[unit]])
    >>> look = engine.look()
    >>> look.met, look.estimates["cycles"].contains(y.sum()), bool(observed[engine.drawn()].all()), len(engine.drawn()) < 100
    (True, True, True, True)
    """

    def __init__(self, phases: TwoPhaseDesign, budget: ErrorBudget, ratios: Ratios | None = None) -> None:
        self._phases = phases
        self._sample = phases.sample
        self._donor = donors(np.asarray(phases.first.design.strata), self._sample)
        self._first: StrataSampling | None = None  # at the last analysis
        self._more: StrataSampling | None = None  # the first sample that this one has to grow from
        predictions = {name: values[self._donor] for name, values in phases.predictions.items()}
        latency = phases.first.design.latency
        super().__init__(AssistedDesign(predictions, phases.groups, phases.u, phases.assume, latency), budget, ratios)
        self._weights = self._first_weights()

    def _first_weights(self) -> tuple[Floats, float]:
        """Variance factor A_h + D_h of each stratum of the first sample, float64 [H], and the factor by which D_h (the
        hot deck) enlarges the whole.
        """
        strata = np.asarray(self._phases.first.design.strata)
        N, inside = self._phases.first.design.sizes, np.flatnonzero(self._sample & (strata >= 0))
        copies = np.bincount(self._donor, minlength=len(strata))[inside].astype(float)
        h = strata[inside]
        m = np.bincount(h, minlength=len(N))
        A = np.where(m < N, N * (N - m) / np.maximum(m, 1), 0.0)
        D = np.bincount(h, weights=(copies - (N / np.maximum(m, 1))[h]) ** 2, minlength=len(N))
        size = self.design.uncertain[self.design.predicted_by(self.target, self.target)].mean
        mean2 = (np.bincount(h, weights=size[inside], minlength=len(N)) / np.maximum(m, 1)) ** 2
        added = float((D * mean2).sum()) / max(float((A * mean2).sum()), 1e-300)
        return A + D, 1.0 + added

    # ---- which units ------------------------------------------------------------------------------------------------

    def drawn(self) -> Ints:
        """int64, ascending: indices of the launches to simulate. Some are not traced yet if the first sample must grow."""
        inside = np.unique(self._donor[super().drawn()])
        return inside if self._more is None else np.union1d(inside, self._more.drawn())

    def unit_spreads(self, counter: str) -> None:
        """Return None: the error of the first sample (traced launches) cannot be divided among parts of the run."""

    def with_spare(self, factor: float) -> Ints:
        """int64, ascending: indices of the traced launches (the first sample), which already contain spare launches; `factor`
        has no effect.
        """
        return np.flatnonzero(self._sample) if self._more is None else self._more.with_spare(1.0)

    @property
    def _has(self) -> NDArray[np.bool_]:
        return np.asarray(self.results.rows[self._donor[self._free]] >= 0)

    def _results_of(self, combination: Combination, units: Ints) -> Floats:
        return super()._results_of(combination, self._donor[units])

    # ---- looks ------------------------------------------------------------------------------------------------------

    def begin_analysis(self, states: bool) -> None:
        super().begin_analysis(states)
        self._first = self._first_with_results(self.budget)[0] if self.counters else None

    def _first_with_results(self, budget: ErrorBudget) -> tuple[StrataSampling, Look]:
        """Analyse the first sample, with results where there are some and corrected predictions for all other units."""
        share = constants.FIRST_SHARE / math.sqrt(self._weights[1])
        first = self._phases.first.anew(replace(budget, relative_error=share * budget.relative_error), {})
        if not self._parts.whole:
            for name in self.counters:
                self._fit([(1.0, name)])
        units = np.flatnonzero(self._sample)
        least = [self.design.constant(name) for name in self.counters]
        first.results.add(units, self.counters, np.maximum(self.predict(units), least))
        return first, first.look(len(np.setdiff1d(first.drawn(), units, assume_unique=True)), first.budget)

    def errors(self, combination: Combination) -> TotalErrors:
        second, first = super().errors(combination), self._errors_of_first(combination)
        value, alpha, V2 = second.value, self._alpha, second.error**2
        if self._parts.whole:
            value = float((self._values(combination, self._free) + self.constant(combination)).sum())
        else:
            alpha = self._fit(combination).fits[0].spent(alpha)
        nu = satterthwaite((first.error**2, V2), (first.degrees, second.degrees))
        t = (0.0 if self._states else math.nan) + quantile(min(alpha, self._first_alpha), nu)
        guard = max(second.guard, first.guard)
        return TotalErrors(value, second.simulated, math.sqrt(first.error**2 + V2), nu, t, guard)

    @property
    def _first_alpha(self) -> float:
        """Error probability that the first sample may use: as much as the first interim analysis of strata."""
        return error_probability(self.budget.bound, 1.0 - self.budget.confidence, ("first",))

    def _errors_of_first(self, combination: Combination) -> TotalErrors:
        """Errors of the first sample alone: scatter of the corrected predictions, and of the results around them."""
        assert self._first is not None
        errors = self._first.errors(combination)
        variance = self._weights[1] * errors.error**2
        return replace(errors, error=math.sqrt(variance + self._scatter(combination)))

    def _scatter(self, combination: Combination) -> float:
        """Variance that the first sample adds because predictions scatter; 0 where every unit of it is simulated."""
        if self._parts.whole:
            return 0.0
        strata, weights = np.asarray(self._phases.first.design.strata), self._weights[0]
        inside = np.flatnonzero(self._sample[self._free] & (strata[self._free] >= 0))
        h = strata[self._free[inside]]
        size = np.asarray(sum(abs(weight) * self._prediction(name)[1][inside] for weight, name in combination))
        m = np.bincount(h, minlength=len(weights))
        squares = np.bincount(h, weights=(size / len(combination)) ** 2, minlength=len(weights)) / np.maximum(m, 1)
        return self._fit(combination).fits[0].spread.K * float((weights * squares).sum())

    def _predict(self, units: Ints, counters: Sequence[str]) -> Floats:
        """Predictions as in CellSampling; in a part that is drawn whole, a unit has the result of its donor."""
        values = super()._predict(units, counters)
        lacking = np.flatnonzero(np.isnan(values).any(axis=1))
        donor = self._donor[units[lacking]]
        has_result = self.results.rows[donor] >= 0
        values[lacking[has_result]] = self.results.of(donor[has_result])[:, [self.counters.index(name) for name in counters]]
        return values

    def _assumptions(self) -> list[str]:
        sentences = super()._assumptions()
        assert self._first is not None
        total = self._first.errors([(1.0, self.target)])
        share = 100.0 * math.sqrt(self._weights[1]) * total.error / max(abs(total.value), 1e-300)
        counts = f"{int(self._sample.sum()):,} of {len(self._sample):,} units are observed"
        return [f"{counts}, which leaves a standard error of {share:.2g} % of {self.target}", *sentences]

    # ---- growth -----------------------------------------------------------------------------------------------------

    def _allowed(self, target: str) -> float:
        """Relative error that is left for the second sample; the first one is sized for the first target."""
        eps, first = super()._allowed(target), self._error_of_first()
        return math.sqrt(max(eps * eps - first * first, (constants.LEAST_SECOND_SHARE * eps) ** 2))

    def _error_of_first(self) -> float:
        """Relative half-width that the first sample alone leaves."""
        first = self._errors_of_first([(1.0, self.target)])
        return quantile(self._first_alpha, max(first.degrees, 1.0)) * first.error / max(abs(first.value), 1e-300)

    def _first_is_short(self) -> bool:
        """True if only a larger first sample can meet the budget: all of it is simulated, or trusted predictions show
        it. A wrong model then costs draws, not traces.
        """
        if self._parts.whole:
            return True
        counter = [(1.0, self.target)]
        first, scatter = self._errors_of_first(counter), self._scatter(counter)
        if self._fit(counter).fits[0].doubted or scatter > constants.MOST_SCATTER * (first.error**2 - scatter):
            return False
        eps = self.budget.relative_error
        return self._error_of_first() > eps or first.guard > eps * abs(first.value)

    def grow(self, budget: ErrorBudget, look: Look) -> bool:
        """Enlarge the second sample, of simulated launches. If the error of the first sample, of traced launches, is too large
        by itself, enlarge the first. Returns False if neither can grow.
        """
        if self._first is None:
            return False
        if not self._first_is_short():
            return self._grow_second(budget, look)
        more, first = self._first_with_results(self.budget)
        if first.meets(more.budget) or not more.grow(more.budget, first):
            if not self._parts.whole or bool(self._sample.all()):
                return self._grow_second(budget, look)
            more.restrict_to(np.ones(len(self._sample), dtype=bool))  # it is nearly everything: take the rest
        self._more = more
        return True

    def _grow_second(self, budget: ErrorBudget, look: Look) -> bool:
        """Enlarge the second sample until at least one more unit must be simulated, or all of the first sample is."""
        if not super().grow(budget, look):
            return False
        while not self._parts.whole and bool((self.results.rows[self.drawn()] >= 0).all()):
            n = next_number(self._parts.rest.n)
            least = dict.fromkeys(self._parts.others, max(self.cells))
            self._parts.set(self._parts.counts if n >= self._parts.rest.count else self._parts.cells(n, least))
        return True

    def _anew(self, units: Ints) -> CellSampling:
        return TwoPhaseSampling(self._phases.leaving_out(units), self.budget, self.ratios)

    def expansions(self, units: Ints) -> Floats:
        of_units = super().expansions(np.arange(self.design.size))
        drawn = CellSampling.drawn(self)
        of_donors = np.bincount(self._donor[drawn], weights=of_units[drawn], minlength=self.design.size)
        return np.asarray(of_donors[units], dtype=float)
