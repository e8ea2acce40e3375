"""The engine of a run: passes, results, interim analyses, and the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import index

import numpy as np

from kernelpoint.arguments import checked
from kernelpoint.errors import ConfigError, HostError, did_you_mean, shown
from kernelpoint.estimate import Estimate
from kernelpoint.estimation.budget import ErrorBudget, Method
from kernelpoint.estimation.cells.design import AssistedDesign
from kernelpoint.estimation.cells.sampling import CellSampling
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets, UnitErrors
from kernelpoint.estimation.nonsampling.nonresponse import Values, values_of, with_nonresponse
from kernelpoint.estimation.nonsampling.systematic_error import SystematicErrors
from kernelpoint.estimation.sampling import Ratios, Sampling
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.strata.sampling import StrataSampling
from kernelpoint.estimation.two_phase import TwoPhaseDesign, TwoPhaseSampling


class Engine:
    """Engine of a sampled run: draws passes, takes results in any order, analyses each pass, and grows the sample until the
    budget is met.

    The state is a function of (design, budget, state of each pass, results): not of the order in which
    results come, nor of time or threads. Nothing is drawn, and nothing stops, inside a pass. At the beginning of each pass
    `pass_state()` goes into the journal; a fresh engine that is given, in the same order, every `restore_pass`, `record` and
    `look` of a journal is in the state that it was in.

    Args:
        design: strata, or predictions of every unit, or of the units of a first sample.
        budget: error allowed, confidence, counter, scope, bound.
        estimate: of strata: "regression" (difference estimator with leave-one-out lines), "ratio" (combined) or "mean";
            "separate_ratio" for purposive designs only.
        ratios: name -> (counter above, counter below), e.g. {"ipc": ("instructions", "cycles")}.
        ranges: the targets of the budget that are about parts of the population.

    Raises:
        ConfigError: an estimator or a budget that the design cannot support.

    Attributes:
        sampling: the design at work (strata, cells, or one of two stages).
        results: the results so far, by unit.

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

    @checked
    def __init__(
        self,
        design: Design | AssistedDesign | TwoPhaseDesign,
        budget: ErrorBudget,
        estimate: Method = "regression",
        ratios: Ratios | None = None,
        ranges: RangeTargets = NO_RANGES,
    ) -> None:
        self._begin(_sampling(design, budget, estimate, ratios, ranges))

    def _begin(self, sampling: Sampling) -> None:
        self.sampling, self.budget, self.ratios = sampling, sampling.budget, sampling.ratios
        self.results = sampling.results
        self._counters_of = {**self.ratios, **sampling.ranges.counters}  # of targets that are no counters
        self._systematic = SystematicErrors(self.budget, self._counters_of)
        self._left_out: dict[int, int] = {}  # units that can have no result, and the stratum of each, or -1
        self._left = self.budget  # of the last look: what other errors leave for sampling
        self._last: Look | None = None  # of the sampling design; None if results were missing, or the sample grew since
        self._ends = False  # at the last look the budget was met, or no larger sample meets it

    # ---- units ------------------------------------------------------------------------------------------------------

    @property
    def looks(self) -> int:
        """Number of interim analyses so far."""
        return self.sampling.looks

    @property
    def u(self) -> Floats:
        """float64 [N]: random numbers that decide which units are drawn."""
        return self.sampling.u

    @property
    def thresholds(self) -> Floats | None:
        """float64 [H]: unit i of stratum h is drawn if u_i <= T_h; None if units are not drawn by this rule."""
        return self.sampling.thresholds

    def drawn(self) -> Ints:
        """int64, ascending: units of the present sample, and units that are always simulated."""
        return self.sampling.drawn()

    def wanted(self) -> Ints:
        """int64, ascending: drawn units without a result, which this pass still has to simulate."""
        drawn = self.drawn()
        return np.setdiff1d(drawn[self.results.rows[drawn] < 0], sorted(self._left_out), assume_unique=True)

    def grow(self) -> bool:
        """Size the sample of the next pass from the last analysis.

        Returns:
            False where the sample cannot grow: all is drawn, the design is purposive, no bound is wanted, the budget is
            met, or results are missing (retry wanted() and look again, or end without a bound).
        """
        last = self._last
        if last is None or self._ends or self.budget.bound == "none" or not self.sampling.grow(self._left, last):
            return False
        self._last = None
        return True

    def pass_state(self) -> dict[str, object]:
        """State of the present pass for the journal, as JSON types."""
        return self.sampling.pass_state()

    def restore_pass(self, state: Mapping[str, object]) -> None:
        """Take a pass from a journal instead of drawing it again."""
        self.sampling.restore_pass(state)

    # ---- results ----------------------------------------------------------------------------------------------------

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the counters in the order of the first result; empty before it."""
        return self.results.counters

    def check(self, unit: int, counters: Sequence[str], values: Sequence[float]) -> None:
        """Raise HostError for values that `record` would refuse; nothing is stored."""
        self.results.check(*_row(unit, counters, values))

    def record(self, unit: int, counters: Sequence[str], values: Sequence[float]) -> None:
        """Store the counters of one simulated unit. Results of units that are not drawn wait until they are.

        Raises:
            HostError: unknown unit, second result of a unit, other counters than before, or a value that is not finite.
        """
        self.results.add(*_row(unit, counters, values))

    def record_many(self, units: Iterable[int], counters: Sequence[str], values: Floats) -> None:
        """Store the counters of many units: float64 [units, counters]."""
        self.results.add_many(units, counters, values)

    def take_over(self, other: Engine) -> None:
        """Take all results and systematic errors from another engine over the same units."""
        units = other.results.units
        if len(units):
            self.record_many(units, other.counters, other.results.of(units))
        self._systematic.by_counter |= other._systematic.by_counter

    def leaving_out(self, units: Sequence[int]) -> Engine:
        """Engine in which some units can have no result. They are take-all units that are never ordered, and every analysis
        includes what they may be (nonresponse.py).
        """
        other = object.__new__(Engine)
        other._begin(self.sampling.leaving_out(np.asarray(units, dtype=np.int64)))
        other.take_over(self)
        other.sampling.looks = self.looks
        strata = np.asarray(self.sampling.frame.strata)
        other._left_out = self._left_out | {unit: int(strata[unit]) for unit in units}
        return other

    def nonresponse(self) -> dict[int, Values]:
        """Estimated counters of each unit that can have no result; {} before the first result."""
        units = self.results.units
        if not self._left_out or not len(units):
            return {}
        frame = self.sampling.frame
        x = frame.x
        covariates = {} if x is None else {unit: float(x[unit]) for unit in self._left_out}
        of_results = None if x is None else np.asarray(x, dtype=float)[units]
        strata = np.asarray(frame.strata)[units]
        return values_of(self._left_out, self.counters, self.results.of(units), strata, of_results, covariates)

    @property
    def systematic_errors(self) -> Mapping[str, Estimate]:
        """Errors by counter that all results share."""
        return self._systematic.by_counter

    def set_systematic_errors(self, errors: Mapping[str, Estimate]) -> None:
        """Set the errors by counter that all results share (replay error), for all later analyses.

        Args:
            errors: (total as results have it) - (true total), as fractions of the total, with half-widths at the confidence
                of the run.
        """
        self._systematic.set(errors)

    def errors_beyond_budget(self) -> list[str]:
        """Sentences on targets that no sample can meet, because of the error that all results share."""
        return self._systematic.beyond_budget()

    @property
    def has_bias(self) -> bool:
        """True if results may share an error, or some units have no result: then no part is known better than the whole."""
        return bool(self._systematic.by_counter or self._left_out)

    # ---- estimates --------------------------------------------------------------------------------------------------

    def look(self) -> Look:
        """Make the interim analysis at the end of a pass: estimates of everything. It uses error probability unless results
        are missing.

        Here alone an estimate is compared with the budget, once its half-width has all errors: of sampling, of units without a
        result, and those that all results share, in this order. The half-width that a run states of a target is no less than
        the budget plus what units without a result add. Of a counter that is no target, the sampling part is no less than what
        the budget of the first target leaves for it, and the other errors are added to that.

        Raises:
            ConfigError: the budget's counter is not among those that the host reports.
        """
        self._check_targets()
        missing = len(self.wanted())
        if not missing:
            self.sampling.looks += 1
        for_sampling = self._systematic.left_for_sampling()
        sampled = self.sampling.look(missing, for_sampling)
        if self.sampling.ranges.of:
            sampled = replace(sampled, ranges=self.sampling.range_estimates(sampled))
        with_left_out = with_nonresponse(sampled, self.nonresponse(), self.budget.counter, self.ratios, self.sampling.ranges)
        before = sampled.by_name
        nonresponse = {name: one.half_width - before[name].half_width for name, one in with_left_out.by_name.items()}
        whole = self._systematic.widened(
            with_left_out.changed(
                lambda name, one: (
                    one if name in self.budget.targets else one.no_narrower_than(for_sampling.allowed(name), nonresponse[name])
                )
            )
        )
        self._left = self._systematic.left_for_sampling(before, with_left_out.by_name)
        met = whole.may_stop and whole.meets(self.budget)
        self._last = None if missing else sampled
        self._ends = met or (whole.may_stop and sampled.meets(self._left))
        by_systematic = not met and self._ends and with_left_out.meets(self.budget)
        stated = whole.changed(lambda name, one: one.no_narrower_than(self.budget.allowed(name), nonresponse[name]))
        warnings = [*whole.warnings, *(self._systematic.unmet() if by_systematic else [])]
        goes_on = whole.goes_on if whole.meets(self.budget) else ""
        return replace(stated, met=met, warnings=warnings, goes_on=goes_on)

    def _check_targets(self) -> None:
        """Raises ConfigError where a target is not among the counters of the results."""
        for target in self.budget.targets:
            if self.counters and not set(self._counters_of.get(target, (target,))) <= set(self.counters):
                near, allowed = did_you_mean(target, self.counters), ", ".join(self.counters)
                raise ConfigError(f"error_budget.counter: {target!r} is not reported{near}; allowed: {allowed}")

    def predict(self, units: Iterable[int], counters: Sequence[str] | None = None) -> Floats:
        """float64 [units, counters]: result of each unit, else its prediction; all counters by default."""
        places = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, np.int64)
        return self.sampling.predict(places, counters)

    def expansions(self, units: Ints) -> Floats:
        """float64 [units]: number of units that each drawn unit represents; 1 for all others."""
        return self.sampling.expansions(units)

    def unit_errors(self, counter: str) -> UnitErrors | None:
        """Errors of all units in one counter, from the last analysis; None if it states no bound."""
        spread = self.sampling.unit_spreads(counter) if self._last is not None else None
        if spread is None:
            return None
        missing = np.zeros(len(self.results.rows))
        for unit, values in self.nonresponse().items():
            missing[unit] = values[counter].half_width
        return UnitErrors(*spread, missing, np.asarray(self.sampling.frame.strata))


def _sampling(
    design: Design | AssistedDesign | TwoPhaseDesign,
    budget: ErrorBudget,
    estimate: Method,
    ratios: Ratios | None,
    ranges: RangeTargets,
) -> Sampling:
    """Make the sampling for a design: cells, strata or two phases."""
    if isinstance(design, AssistedDesign):
        return CellSampling(design, budget, ratios, ranges)
    if isinstance(design, TwoPhaseDesign):
        return TwoPhaseSampling(design, budget, ratios)
    return StrataSampling(design, budget, estimate, ratios, ranges)


def _row(unit: int, counters: Sequence[str], values: Sequence[float]) -> tuple[Ints, tuple[str, ...], Floats]:
    """Convert one result to arrays; raises HostError unless it consists of names and numbers."""
    try:
        row = np.asarray(values, dtype=float).reshape(1, -1)
        return np.array([index(unit)], dtype=np.int64), tuple(counters), row
    except (TypeError, ValueError, OverflowError):
        raise HostError(
            f"unit {shown(unit)}: got {shown(values)} for the counters {shown(counters)}; expected numbers and their names"
        ) from None


def passes(
    engine: Engine,
    counters: Sequence[str],
    results: Floats,
    order: Callable[[Ints], Ints] = lambda units: units,
) -> Iterator[Look]:
    """Make pass after pass with known results until the budget is met or the sample cannot grow; yields each interim analysis.
    For checks of coverage: runs, forecasts and comparisons of methods go through the loop of a run (session/loop.py).

    The engine grows when the next look is asked for, so that it may be examined between passes.

    Args:
        counters: names of the columns of `results`; results: float64 [N, counters], or [N] for one counter.
        order: of the results of a pass.

    Example:
        >>> import numpy as np
        >>> from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
        >>> u, y = np.random.default_rng(0).random(1000), 100.0 + np.arange(1000) % 7
        >>> engine = Engine(Design(np.zeros(1000, np.int32), np.array([4]), u), ErrorBudget(0.01))
        >>> *_, look = passes(engine, ("cycles",), y)
        >>> look.met, look.estimates["cycles"].contains(y.sum()), len(engine.drawn()) < 100
        (True, True, True)
    """
    columns = results.reshape(len(results), len(counters))
    while True:
        units = order(engine.wanted())
        engine.record_many(units, counters, columns[units])
        look = engine.look()
        yield look
        if look.met or not engine.grow():
            return
