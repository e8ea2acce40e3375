"""The engine of a run: passes, records, looks and growth of the sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError, HostError, JournalError
from kernelpoint.estimation.bounds import Kind
from kernelpoint.estimation.design import Design, ErrorBudget, Method
from kernelpoint.estimation.estimators import ESTIMATORS, Fit, Sample
from kernelpoint.estimation.growth import next_sizes
from kernelpoint.estimation.inference import Groups, Inference, Targets, infer
from kernelpoint.estimation.influence import influences
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.results import Results

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Engine:
    """Draws passes, takes results in any order, looks at the end of each pass, grows the sample until the budget is met.

    The state is a function of (design, budget, sizes and take-all failures per pass, results): not of the order in which
    results come, nor of time or threads. Thresholds never change inside a pass, and nothing stops inside one.

    Args:
        design: strata, first sizes, permanent random numbers, covariate.
        budget: error allowed, confidence, counter, scope, bound.
        estimate: "regression" (difference estimator with leave-one-out lines), "ratio" (combined) or "mean";
            "separate_ratio" for purposive designs only.
        ratios: name -> (counter above, counter below), e.g. {"ipc": ("instructions", "cycles")}.

    Raises:
        ConfigError: an estimator that the design cannot support.

    >>> u = np.random.default_rng(0).random(1000)
    >>> y = 100.0 + np.arange(1000) % 7
    >>> engine = Engine(Design(np.zeros(1000, np.int32), np.array([4]), u), ErrorBudget(0.01))
    >>> while True:
    ...     for unit in engine.wanted():
    ...         engine.record(int(unit), ("cycles",), [y[unit]])
    ...     look = engine.look()
    ...     if look.met or not engine.grow():
    ...         break
    >>> look.met, look.estimates["cycles"].contains(y.sum()), len(engine.drawn()) < 100
    (True, True, True)
    """

    def __init__(
        self,
        design: Design,
        budget: ErrorBudget,
        estimate: Method = "regression",
        ratios: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        if estimate not in ESTIMATORS:
            raise ConfigError(f"estimate: {estimate!r} is not allowed; give one of {', '.join(ESTIMATORS)}")
        if estimate in ("ratio", "separate_ratio") and design.x is None:
            raise ConfigError(
                f"estimate: {estimate!r} needs a covariate, and the design has none; give regression or mean"
            )
        if budget.scope == "cluster" and budget.counter in (ratios or {}):
            raise ConfigError(
                f"error_budget.scope: 'cluster' bounds totals, and {budget.counter!r} is a ratio of totals"
            )
        if estimate == "separate_ratio" and design.chosen is None:
            raise ConfigError("estimate: 'separate_ratio' is biased in small samples; it serves purposive designs only")
        self.design, self.budget, self.method = design, budget, estimate
        self.ratios = dict(ratios or {})
        self.looks = 0
        self._kinds: tuple[Kind, ...] = ("first",)
        self._population = design.sizes  # N_h before failures
        self.clusters = (
            np.zeros(len(self._population), np.int64) if design.clusters is None else np.asarray(design.clusters)
        )
        self._failed: set[int] = set()
        self._results = Results(len(design.strata))
        self._certain = np.flatnonzero(np.asarray(design.strata) == -1)
        self._start = np.concatenate(([0], np.cumsum(self._population)))
        self._order = self._unit_order()
        self.sizes: Ints = np.minimum(np.maximum(design.first_sizes, 1), self._population).astype(np.int64)
        if design.chosen is not None:
            self.sizes = np.bincount(np.asarray(design.strata)[design.chosen] + 1, minlength=len(self.sizes) + 1)[1:]
        self._X = self._covariate_totals()
        self._pilot: Inference | None = None
        self._last: Inference | None = None
        self._fits: list[Fit] | None = None

    def _unit_order(self) -> NDArray[np.int32] | Ints:
        """Units in order of (stratum, u); a purposive sample stands first in its stratum."""
        u = self.design.u
        if self.design.chosen is not None:
            u = np.ones(len(u))
            u[self.design.chosen] = 0.0
        order = np.lexsort((u, self.design.strata))[len(self._certain) :]
        return order.astype(np.int32) if len(u) < 2**31 else order

    def _covariate_totals(self) -> Floats | None:
        if self.design.x is None:
            return None
        totals = np.zeros(len(self._population) + 1)
        for start in range(0, len(self.design.x), 1 << 20):
            block = slice(start, start + (1 << 20))
            totals += np.bincount(self.design.strata[block] + 1, weights=self.design.x[block], minlength=len(totals))
        return totals[1:]

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the counters, in the order of the first record; empty before it."""
        return self._results.counters

    @property
    def thresholds(self) -> Floats:
        """T_h, float64 [H]: unit i of stratum h is drawn if u_i <= T_h; -1 for a stratum without draws."""
        last = np.maximum(self._start[:-1] + self.sizes - 1, 0)
        if not len(self._order):
            return np.full(len(self.sizes), -1.0)
        return np.where(self.sizes > 0, self.design.u[self._order[np.minimum(last, len(self._order) - 1)]], -1.0)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that grow with the number of units, beyond those of the design."""
        return int(self._order.nbytes + self._results.rows.nbytes + self._certain.nbytes)

    def _prefixes(self) -> Ints:
        """The units inside the thresholds, stratum by stratum."""
        ends = np.cumsum(self.sizes)
        offset = np.repeat(self._start[:-1] - (ends - self.sizes), self.sizes)
        return self._order[offset + np.arange(ends[-1] if len(ends) else 0)].astype(np.int64)

    def drawn(self) -> Ints:
        """Units inside the thresholds and take-all units, int64, ascending."""
        return np.unique(np.concatenate((self._prefixes(), self._certain, np.array(sorted(self._failed), np.int64))))

    def wanted(self) -> Ints:
        """Drawn units without a result, int64, ascending: what this pass (or its retry) still has to simulate."""
        drawn = self.drawn()
        return drawn[self._results.rows[drawn] < 0]

    missing = wanted

    def take_all(self, unit: int) -> None:
        """A failed decision: the unit leaves its stratum, enters exactly, never stands for others. Twice is allowed."""
        self._check(unit)
        if self.design.strata[unit] >= 0:
            self._failed.add(int(unit))

    def record(self, unit: int, counters: Sequence[str], values: Sequence[float]) -> None:
        """The counters of one simulated unit. Results of units outside the thresholds wait until they are drawn.

        Raises:
            HostError: unknown unit, second result of a unit, other counters than before, or a value that is not finite.
        """
        self._check(unit)
        self._results.add(np.array([unit]), tuple(counters), np.asarray(values, dtype=float).reshape(1, -1))

    def record_many(self, units: Iterable[int], counters: Sequence[str], values: Floats) -> None:
        """The same for many units: values is float64 [units, counters]."""
        array = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, dtype=np.int64)
        if len(array):
            self._check(int(array.min()))
            self._check(int(array.max()))
        self._results.add(array, tuple(counters), np.asarray(values, dtype=float).reshape(len(array), len(counters)))

    def _check(self, unit: int) -> None:
        if not 0 <= unit < len(self.design.strata):
            raise HostError(f"unit {unit} is not in the population of {len(self.design.strata)} units")

    def _sample(self) -> tuple[Sample, Ints, Ints]:
        """The sample of the strata, its units, and the take-all units, as far as they have results."""
        failed = np.array(sorted(self._failed), np.int64)
        N, X = self._population, self._X
        units = np.sort(self._prefixes())
        if len(failed):
            strata = self.design.strata[failed]
            N = N - np.bincount(strata, minlength=len(N))
            if X is not None and self.design.x is not None:
                X = X - np.bincount(strata, weights=self.design.x[failed], minlength=len(X))
            units = units[~np.isin(units, failed)]
        units = units[self._results.rows[units] >= 0]
        certain = np.union1d(self._certain, failed)
        certain = certain[self._results.rows[certain] >= 0]
        x = None if self.design.x is None else self.design.x[units]
        return Sample(np.asarray(self.design.strata)[units], N, self.clusters, x, X), units, certain

    def _infer(self, complete: bool) -> Inference:
        sample, units, certain = self._sample()
        states_bound = self.design.chosen is None and self.budget.bound != "none" and complete
        if states_bound and bool(((sample.n == 0) & (sample.N > 0)).any()):
            states_bound = False
        targets = Targets(self.budget, self.method, self.ratios, self.counters, self._kinds if states_bound else ())
        of_cluster = np.append(self.clusters, -1)[self.design.strata[certain]]  # stratum -1 has no cluster
        clusters = Groups(self.clusters, of_cluster, int(self.clusters.max(initial=-1)) + 1)
        exact = self._results.of(certain)
        return infer(targets, sample, self._results.of(units), exact, clusters, self._domains(certain), self._pilot)

    def _domains(self, certain: Ints) -> Groups:
        of_unit = self.design.domains
        if of_unit is None:
            return Groups(np.zeros(len(self.sizes), np.int64), np.zeros(len(certain), np.int64), 1)
        of_stratum = np.zeros(len(self.sizes) + 1, np.int64)
        of_stratum[self.design.strata] = (
            of_unit  # every stratum lies in one domain; the last place is the take-all units'
        )
        return Groups(of_stratum[:-1], of_unit[certain].astype(np.int64), int(of_unit.max(initial=0)) + 1)

    def look(self) -> Look:
        """The end of a pass: estimates of everything. Spends error probability, unless results are missing.

        Raises:
            ConfigError: the budget's counter is not among those that the host reports.
        """
        if self.counters and not set(self.ratios.get(self.budget.counter, (self.budget.counter,))) <= set(
            self.counters
        ):
            raise ConfigError(
                f"error_budget.counter: {self.budget.counter!r} is not reported; allowed: {', '.join(self.counters)}"
            )
        missing = len(self.missing())
        if not missing:
            self.looks += 1
        inference = self._infer(not missing)
        if self.budget.bound == "two_stage" and self._pilot is None and not missing and inference.may_be_pilot:
            self._pilot = inference
        self._last = None if missing else inference
        self._fits = inference.fits
        return inference.report(missing)

    def grow(self) -> bool:
        """Sizes for the next pass: joint Neyman allocation under the budget, from the last look.

        Returns:
            False where the sample cannot grow: all is drawn, the design is purposive, no bound is wanted, the budget is
            met, or results are missing (retry wanted() and look again, or end without a bound).
        """
        last = self._last
        if last is None or last.met or self.design.chosen is not None or self.budget.bound == "none":
            return False
        if bool((self.sizes >= self._population).all()):
            return False
        grown, kind = next_sizes(last, self.design.cost)
        self._kinds = (*self._kinds, kind)
        self.sizes = np.minimum(self.sizes + np.maximum(grown - last.n, 0), self._population)
        self._last = None
        return True

    def records(self) -> Iterator[tuple[int, Floats]]:
        """Every result so far: (unit, float64 [counters]), by unit."""
        units = np.flatnonzero(self._results.rows >= 0)
        return zip(units.tolist(), self._results.of(units), strict=True)

    def simulated_totals(self) -> dict[str, float]:
        """The sum of each counter over all results: what was simulated, with no estimate in it."""
        units = np.flatnonzero(self._results.rows >= 0)
        return dict(zip(self.counters, self._results.of(units).sum(axis=0).tolist(), strict=True))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each pass so far, the present one last; with `sizes` all that a pass adds to the engine's state."""
        return self._kinds

    def restore_pass(self, sizes: Ints, kinds: Sequence[Kind]) -> None:
        """Take the sizes and kinds of a pass from a journal instead of allocating them again; sizes only grow.

        Raises:
            JournalError: another number of strata, or a stratum that shrinks.
        """
        if len(sizes) != len(self.sizes) or bool((sizes < self.sizes).any() or (sizes > self._population).any()):
            raise JournalError("the sizes of a pass in the journal do not fit this design")
        self.sizes, self._kinds = np.asarray(sizes, dtype=np.int64), tuple(kinds)

    def predict(self, units: Iterable[int]) -> Floats:
        """float64 [units, counters]: own result where simulated, else the prediction of the unit's stratum.

        Over all units of the strata, predictions add up to the estimated total. nan before the first look, and for
        take-all units without a result.
        """
        array = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, dtype=np.int64)
        values = np.full((len(array), len(self.counters)), np.nan)
        h = np.asarray(self.design.strata)[array]
        known = h >= 0
        if self._fits is not None:
            for index, fit in enumerate(self._fits):
                values[known, index] = fit.intercept[h[known]]
                if self.design.x is not None:
                    values[known, index] += fit.slope[h[known]] * self.design.x[array[known]]
        values[np.isin(array, list(self._failed))] = np.nan
        simulated = self._results.rows[array] >= 0
        values[simulated] = self._results.of(array[simulated])
        return values

    def influences(self, units: Iterable[int]) -> Floats:
        """float64 [units]: how far the estimated total moves at most per unit of change of each result (influence.py);
        1 for take-all units.
        """
        sample, drawn, _ = self._sample()
        array = np.asarray(list(units), dtype=np.int64)
        place = np.minimum(np.searchsorted(drawn, array), max(len(drawn) - 1, 0))
        inside = drawn[place] == array if len(drawn) else np.zeros(len(array), dtype=bool)
        weight = np.ones(len(array))
        weight[inside] = influences(self.method, sample)[place[inside]]
        return weight

    def restore(
        self,
        units: Ints,
        counters: Sequence[str],
        values: Floats,
        looks: int,
        take_all: Mapping[int, int] | None = None,
    ) -> None:
        """Replay a run on a fresh engine: `looks` complete looks, each followed by the growth it led to.

        Args:
            units, counters, values: every result so far, as in record_many, in any order.
            looks: complete looks already taken; results of the pass under way are recorded after them.
            take_all: failed unit -> number of complete looks before its failure.

        Raises:
            JournalError: the results do not cover the passes that the looks stand for.
        """
        table = {int(unit): row for row, unit in enumerate(units)}
        failures = dict(take_all or {})
        for done in range(looks + 1):
            for unit, when in failures.items():
                if when == done:
                    self.take_all(unit)
            wanted = self.wanted()
            have = np.array([unit for unit in wanted.tolist() if unit in table], np.int64)
            self.record_many(have, counters, values[[table.pop(int(unit)) for unit in have]])
            if done == looks:
                break
            if len(have) < len(wanted):
                raise JournalError(f"pass {done + 1}: {len(wanted) - len(have)} of {len(wanted)} results are missing")
            self.look()
            if not self.grow() and done + 1 < looks:
                raise JournalError(f"pass {done + 1} ended the run, but the journal has {looks} looks")
        rest = np.array(sorted(table), np.int64)
        self.record_many(rest, counters, values[[table[int(unit)] for unit in rest]])
