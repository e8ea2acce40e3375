"""A sampling design at work: the units that it draws, the table of their results, and the totals that these tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelpoint.errors import HostError, JournalError, shown
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.cells.design import AssistedDesign
from kernelpoint.estimation.inference import Combination, TotalErrors, ratio
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets, Spreads, Tree, UnitErrors, subtotals
from kernelpoint.estimation.strata.design import Design

Ratios = Mapping[str, tuple[str, str]]  # name -> (counter above, counter below)


class Results:
    """Table of results: the counters of the simulated launches in a population of N launches.

    Attributes:
        rows: int32 [N], row of each launch in the table; -1: the launch has no result.
        counters: names of the columns, in the order of the first result.
        count: number of launches with a result.

    >>> results = Results(3)
    >>> results.add(np.array([2]), ("cycles", "instructions"), np.array([[10.0, 4.0]]))
    >>> results.add(np.array([0]), ("instructions", "cycles"), np.array([[8.0, 20.0]]))
    >>> results.of(results.units).tolist()
    [[20.0, 8.0], [10.0, 4.0]]
    """

    def __init__(self, units: int) -> None:
        self.rows = np.full(units, -1, dtype=np.int32)
        self.counters: tuple[str, ...] = ()
        self.count = 0
        self._table: Floats = np.zeros((64, 0))
        self._units: Ints = np.zeros(64, np.int64)  # of each row
        self._sorted: Ints = np.zeros(0, np.int64)

    def add(self, units: Iterable[int], counters: Sequence[str], values: ArrayLike) -> None:
        """Store the results of several launches; if one is refused, none is stored.

        Args:
            units: indices of the n launches.
            counters: names of the columns of `values`.
            values: float64 [n, counters].

        Raises:
            HostError: a launch is unknown or has a result already, the counters are not those of earlier results, or a value is
                not finite.
        """
        units = np.asarray(units if isinstance(units, np.ndarray) else list(units), dtype=np.int64)
        counters, values = tuple(counters), np.asarray(values, dtype=float)
        if values.size == len(units) * len(counters):
            values = values.reshape(len(units), len(counters))
        if len(units) and not 0 <= units.min() <= units.max() < len(self.rows):
            outside = units[(units < 0) | (units >= len(self.rows))][0]
            raise HostError(f"got a result of launch {outside}, which is not in the plan; allowed: 0 to {len(self.rows) - 1}")
        names = self.counters or counters
        if not counters or len(set(counters)) != len(counters):
            raise HostError(
                f"a result of launches has the counters {shown(counters)}; give at least one counter, and each name once"
            )
        if counters != names and sorted(counters) != sorted(names):
            raise HostError(
                f"launch {units[0]}: its result has the counters {shown(counters)}, earlier results {shown(names)}; give "
                "the same counters for every launch"
            )
        if values.shape != (len(units), len(names)):
            raise HostError(
                f"results of {len(units)} launches: got an array of shape {values.shape}; expected "
                f"{(len(units), len(names))}, one row for each launch and one value for each counter"
            )
        values = values if counters == names else values[:, [counters.index(name) for name in names]]
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise HostError(f"launch {units[bad]}: counters {names} are {values[bad].tolist()}; allowed: finite numbers")
        twice = units[self.rows[units] >= 0]
        if len(twice) or len(np.unique(units)) != len(units):
            raise HostError(f"launch {twice[0] if len(twice) else units[0]}: got a second result; give one for each launch")
        if not self.counters:
            self.counters = counters
            self._table = np.zeros((64, len(counters)))
        needed = self.count + len(units)
        if needed > len(self._table):
            grown = np.zeros((max(needed, 2 * len(self._table)), len(self.counters)))
            grown[: self.count] = self._table[: self.count]
            self._table, self._units = grown, np.resize(self._units, len(grown))
        self._table[self.count : needed] = values
        self._units[self.count : needed] = units
        self.rows[units] = np.arange(self.count, needed, dtype=np.int32)
        self.count = needed

    @property
    def units(self) -> Ints:
        """int64, ascending: indices of the launches with a result."""
        if len(self._sorted) != self.count:
            self._sorted = np.sort(self._units[: self.count])
        return self._sorted

    @property
    def totals(self) -> dict[str, float]:
        """Sum of each counter over the simulated launches only."""
        return dict(zip(self.counters, self.of(self.units).sum(axis=0).tolist(), strict=True))

    def of(self, units: Ints) -> Floats:
        """float64 [units, counters]: results of the given launches, which all have one."""
        return self._table[self.rows[units]]


class Sampling(ABC):
    """Interface of a sampling method: chooses launches to simulate, and estimates totals of the simulator's counters.

    A method treats results as exact and complete. `Engine` adds the errors of results, launches without a result, and the
    decision to stop.

    Args:
        units: number N of launches in the population.
        budget: relative error allowed in the totals.
        ratios: name of a ratio -> (counter in its numerator, counter in its denominator).
        ranges: targets of the budget that are totals of a part of the run.

    Attributes:
        design: strata of the launches, or groups (kernels) and predictions; fixed before the first draw.
        made_of: counters of each target that is no counter itself: those of a ratio, the counter summed over a range.
        results: results of the simulated launches.
        looks: number of interim analyses so far; one is made at the end of each pass (round of sampling).
        u: float64 [N], random number of each launch, by which launches are drawn; it never changes.
    """

    design: Design | AssistedDesign
    u: Floats

    def __init__(self, units: int, budget: ErrorBudget, ratios: Ratios | None = None, ranges: RangeTargets = NO_RANGES) -> None:
        self.budget, self.ratios, self.ranges = budget, dict(ratios or {}), ranges
        self.made_of: Mapping[str, tuple[str, ...]] = {**self.ratios, **{name: (of,) for name, (of, *_) in ranges.of.items()}}
        self.results = Results(units)
        self.looks = 0

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the simulator's counters, in the order of the first result; empty before the first result."""
        return self.results.counters

    def counted(self, target: str) -> str:
        """Counter that a target of the error budget is about: the numerator of a ratio, the counter summed over a range (part
        of the run), or the target itself.
        """
        return self.made_of.get(target, (target,))[0]

    def constant(self, combination: Combination) -> float:
        """Part of a linear combination of counters that is the same for every launch: of cycles, the launch latency."""
        return sum(weight * self.design.constant(counter) for weight, counter in combination)

    # ---- units ------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def covariate(self) -> Floats | None:
        """float64 [N]: work of each launch, known without simulation, or predicted; None: it is not known."""

    @abstractmethod
    def drawn(self) -> Ints:
        """int64, ascending: indices of the launches to simulate: the present sample, and the launches that are always
        simulated.
        """

    @abstractmethod
    def grow(self, budget: ErrorBudget, look: Look) -> bool:
        """Set the sample sizes of the next pass (round of sampling) from the last interim analysis.

        Returns:
            False if the sample cannot grow.
        """

    def with_spare(self, factor: float) -> Ints:
        """int64, ascending: indices of a sample `factor` times as large as the present one. Later passes (rounds of sampling)
        draw only launches of this larger sample as long as it suffices, so that its launches can be traced in advance.

        Raises:
            NotImplementedError: the method cannot tell launches that it may draw later.
        """
        raise NotImplementedError

    @property
    def thresholds(self) -> Floats | None:
        """float64 [H], one number for each of H strata: launch i of stratum h is drawn if u[i] <= thresholds[h]. None if the
        method does not draw by thresholds.
        """
        return None

    @abstractmethod
    def pass_state(self) -> dict[str, Any]:
        """State of the present pass (round of sampling) for the journal, from which a run can resume, as JSON types."""

    @abstractmethod
    def _restores(self, state: Mapping[str, Any]) -> bool:
        """Set the sample of a pass from its state; False, and nothing is set, if the state does not fit this design."""

    def restore_pass(self, state: Mapping[str, Any]) -> None:
        """Set the sample of a pass (round of sampling) from the journal (record from which a run can resume), instead of
        computing it.

        Args:
            state: value that `pass_state` returned.

        Raises:
            JournalError: the state does not fit this design: it has another form, or numbers of draws below the present ones or
                above those of the launches.
        """
        if not self._restores(state):
            raise JournalError(
                "the journal is of another plan: its sample sizes for a round of sampling are impossible here; name "
                "another with `journal:`"
            )

    @abstractmethod
    def leaving_out(self, units: Ints) -> Sampling:
        """Copy of this sampling, without results, in which the launches with the given indices cannot be drawn. Sample sizes
        stay.
        """

    # ---- estimates --------------------------------------------------------------------------------------------------

    @abstractmethod
    def look(self, missing: int, budget: ErrorBudget) -> Look:
        """Analyse the results at the end of a pass (round of sampling): estimates of all counters and ratios, with half-widths.

        Args:
            missing: number of drawn launches without a result. If it is above 0, no half-width is stated.
            budget: part of the error budget that errors of the results leave for sampling.

        `Engine` sets `Look.met`.
        """

    @abstractmethod
    def errors(self, combination: Combination) -> TotalErrors:
        """Estimated total of a linear combination of counters, with its errors, at the last interim analysis (end of a round of
        sampling).

        Args:
            combination: pairs (weight, counter): one counter, a linearised ratio, or the difference between two runs.
        """

    def _stated(self) -> dict[str, Estimate]:
        """Estimates of all counters and ratios, by name, at the last interim analysis."""
        level, reported = self.budget.confidence, {*self.counters}
        totals = {name: self.errors([(1.0, name)]).estimate(name, level) for name in self.counters}
        pairs = {name: pair for name, pair in self.ratios.items() if {*pair} <= reported}
        return totals | {name: ratio(name, pair, self.errors, level) for name, pair in pairs.items()}

    def range_estimates(self, look: Look) -> dict[str, Estimate]:
        """Estimated totals, by name, of the ranges (parts of the run) that are targets of the budget, from the sample of the
        whole run.

        Args:
            look: interim analysis (end of a round of sampling) of the whole run. Its computed half-widths are used, before they
                are raised to the budget.
        """
        totals = {}
        for counter in {counter for counter, *_ in self.ranges.of.values()} & look.estimates.keys():
            whole = look.estimates[counter]
            values = np.nan_to_num(self.predict(np.arange(len(self.results.rows)), [counter])[:, 0])
            spreads = None if whole.half_width == 0.0 else self.unit_spreads(counter)
            errors = None if spreads is None else UnitErrors(*spreads, np.zeros(len(values)), np.asarray(self.design.labels))
            whole, has_result = whole.moved(whole.estimate, whole.computed_half_width), self.results.rows >= 0
            sampled = np.isin(np.arange(len(values)), self.drawn()) & has_result
            for name in (name for name, (of, *_) in self.ranges.of.items() if of == counter):
                inside, correction, remaining = self.ranges.units(name), np.zeros(len(values)), None
                if errors is not None:
                    correction, remaining = errors.within(inside, sampled)
                tree = Tree(np.array([-1, 0]), inside.astype(np.int64))
                parts = subtotals(tree, whole, values + correction, has_result, remaining, False)
                totals[name] = replace(parts[1], counter=name)
        return {name: totals[name] for name in self.ranges.of if name in totals}

    def predict(self, units: Ints, counters: Sequence[str] | None = None) -> Floats:
        """float64 [units, counters]: result of each simulated launch, and prediction of each other launch. The sum over all
        launches is the estimated total. Before the first interim analysis (end of a round of sampling), launches without a
        result have nan.

        Args:
            units: int64, indices of launches.
            counters: names; None: all. To ask for one counter at a time takes the least memory.
        """
        names = self.counters if counters is None else counters
        columns = [self.counters.index(name) for name in names]
        simulated = self.results.rows[units] >= 0
        if simulated.all():  # no prediction is asked for, and one may cost a pass over all units
            return self.results.of(units)[:, columns]
        values = self._predict(units, names)
        values[simulated] = self.results.of(units[simulated])[:, columns]
        return values

    @abstractmethod
    def _predict(self, units: Ints, counters: Sequence[str]) -> Floats:
        """float64 [units, counters]: predictions, whatever is simulated."""

    @abstractmethod
    def expansions(self, units: Ints) -> Floats:
        """float64 [units]: number of launches that each drawn launch represents, itself included, in the present sample; 1 for
        all other launches.
        """

    @abstractmethod
    def unit_spreads(self, counter: str) -> Spreads | None:
        """Weight, residual (result minus prediction) and standard deviation of the prediction error of each launch, float64 [N]
        each, as in `UnitErrors`; None if the last interim analysis (end of a round of sampling) states no half-width.
        """
