"""The engine of a run: passes, results, interim analyses, and the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import index

import numpy as np

from kernelpoint.arguments import checked
from kernelpoint.errors import ConfigError, HostError, did_you_mean, shown
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
    """Engine of a sampled run. It chooses the launches to simulate, takes their results, makes an interim analysis at the end
    of each pass (round of sampling), and enlarges the sample until the error budget is met. A `unit`, in names of arguments, is
    a launch, or several launches that are sampled together.

    The state depends only on the design, the budget, the sample of each pass, and the results: not on the order of results, on
    time or on threads. Inside a pass nothing is drawn, and no run stops. The caller writes `sampling.pass_state()` to the
    journal at the beginning of each pass. To resume a run, repeat every `sampling.restore_pass`, `record` and `look` of the
    journal, in order, on a new engine.

    Args:
        design: strata of launches (`Design`), a prediction for every launch (`AssistedDesign`), or predictions for a first
            sample of launches (`TwoPhaseDesign`).
        budget: relative error allowed in the totals, and confidence.
        estimate: estimator of totals for a design of strata: "regression" (difference estimator with leave-one-out slopes),
            "ratio" (combined ratio estimator), "mean", or, only where launches are chosen without chance, "separate_ratio".
        ratios: name of a ratio -> (counter in its numerator, counter in its denominator), e.g. {"ipc": ("instructions",
            "cycles")}.
        ranges: targets of the budget that are totals of a part of the run.

    Raises:
        ConfigError: the design does not support the estimator or the budget.

    Attributes:
        sampling: the sampling method for the design.
        results: results so far.
        left_out: launches that can have no result, and the stratum of each, or -1.
        systematic: errors that all results share, such as the replay error; `set` before each interim analysis.

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
        if isinstance(design, AssistedDesign):
            self._begin(CellSampling(design, budget, ratios, ranges))
        elif isinstance(design, TwoPhaseDesign):
            self._begin(TwoPhaseSampling(design, budget, ratios))
        else:
            self._begin(StrataSampling(design, budget, estimate, ratios, ranges))

    def _begin(self, sampling: Sampling) -> None:
        self.sampling, self.budget, self.ratios = sampling, sampling.budget, sampling.ratios
        self.results = sampling.results
        self.systematic = SystematicErrors(self.budget, sampling.made_of)
        self.left_out: dict[int, int] = {}
        self._sampling_budget = self.budget  # of the last look: what other errors leave for sampling
        self._last_look: Look | None = None  # of the sampling design; None if results were missing, or the sample grew since
        self._is_final = False  # at the last look the budget was met, or no larger sample meets it

    # ---- units ------------------------------------------------------------------------------------------------------

    def drawn(self) -> Ints:
        """int64, ascending: indices of the present sample, and of the launches that are always simulated."""
        return self.sampling.drawn()

    def wanted(self) -> Ints:
        """int64, ascending: indices of the launches still to simulate in this pass (round of sampling): drawn launches without
        a result.
        """
        drawn = self.drawn()
        return np.setdiff1d(drawn[self.results.rows[drawn] < 0], sorted(self.left_out), assume_unique=True)

    def grow(self) -> bool:
        """Enlarge the sample for the next pass (round of sampling), from the last interim analysis.

        Returns:
            False if the sample stays: every launch is drawn, the budget is met or no larger sample meets it, the launches were
                chosen without chance, the budget asks for no bound, or results are missing. If results are missing, simulate
                `wanted()` again and repeat `look`, or end the run without a bound.
        """
        last = self._last_look
        if last is None or self._is_final or self.budget.bound == "none" or not self.sampling.grow(self._sampling_budget, last):
            return False
        self._last_look = None
        return True

    # ---- results ----------------------------------------------------------------------------------------------------

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the simulator's counters, in the order of the first result; empty before the first result."""
        return self.results.counters

    def record(self, unit: int, counters: Sequence[str], values: Sequence[float]) -> None:
        """Store the result of one simulated launch. A result of an undrawn launch is used once the launch is drawn.

        Args:
            unit: index of the launch.
            counters: names of the counters.
            values: value of each counter.

        Raises:
            HostError: the launch is unknown or has a result already, the counters are not those of earlier results, or a value
                is not finite.
        """
        try:
            row, names = np.asarray(values, dtype=float).reshape(1, -1), tuple(counters)
            units = np.array([index(unit)], dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            raise HostError(
                f"launch {shown(unit)}: the simulator reported the values {shown(values)} for the counters "
                f"{shown(counters)}; expected one finite number for each counter"
            ) from None
        self.results.add(units, names, row)

    def record_many(self, units: Iterable[int], counters: Sequence[str], values: Floats) -> None:
        """Store the results of many launches.

        Args:
            units: indices of the launches.
            counters: names of the columns of `values`.
            values: float64 [units, counters].
        """
        self.results.add(units, counters, values)

    def take_over(self, other: Engine) -> None:
        """Copy all results and systematic errors from another engine over the same units."""
        units = other.results.units
        if len(units):
            self.record_many(units, other.counters, other.results.of(units))
        self.systematic.by_counter |= other.systematic.by_counter

    def leaving_out(self, units: Sequence[int]) -> Engine:
        """Engine for the case that some launches, given by index, can have no result. The engine does not ask for their
        simulation; each analysis allows for every value that they may have (nonresponse.py).
        """
        other = object.__new__(Engine)
        other._begin(self.sampling.leaving_out(np.asarray(units, dtype=np.int64)))
        other.take_over(self)
        other.sampling.looks = self.sampling.looks
        strata = np.asarray(self.sampling.design.labels)
        other.left_out = self.left_out | {unit: int(strata[unit]) for unit in units}
        return other

    def nonresponse(self) -> dict[int, Values]:
        """For the index of each launch that can have no result, an estimate of each counter; {} before the first result."""
        units = self.results.units
        if not self.left_out or not len(units):
            return {}
        x = self.sampling.covariate
        covariates = {} if x is None else {unit: float(x[unit]) for unit in self.left_out}
        of_results = None if x is None else np.asarray(x, dtype=float)[units]
        strata = np.asarray(self.sampling.design.labels)[units]
        return values_of(self.left_out, self.counters, self.results.of(units), strata, of_results, covariates)

    @property
    def has_bias(self) -> bool:
        """True if results have a systematic error, or some launches can have no result. Then no part of the run has a smaller
        relative error than the whole.
        """
        return bool(self.systematic.by_counter or self.left_out)

    # ---- estimates --------------------------------------------------------------------------------------------------

    def look(self) -> Look:
        """Make the interim analysis at the end of a round of sampling, and decide whether sampling ends. An analysis uses a
        part of the allowed error probability, but not while results of the round are missing.

        Formula: the stated half-width is max(h, eps T + l), where h = |b| T + sqrt((w + l)^2 + v^2 T^2). Without a sampling
        error it is h.
            T: estimated total.
            w, l: half-width of the sampling error, and what launches without a result add to it.
            b, v: relative systematic error, and its half-width.
            eps: the budget.

        `Look.met` is what is stated: it is True if the stated half-width of every target is within its budget. So a run that
        lost a launch does not meet its budget, unless its sampling error is 0. Another condition ends the growth (`_is_final`):
        h is within the budget, or no larger sample brings it there. A counter without an error budget has that of the first
        counter with one; its w is at least the share of that budget that systematic errors do not use.

        Raises:
            ConfigError: the simulator does not report the counter of a target.
        """
        for target in self.budget.targets:
            if self.counters and not set(self.sampling.made_of.get(target, (target,))) <= set(self.counters):
                near, allowed = did_you_mean(target, self.counters), ", ".join(self.counters)
                raise ConfigError(f"error_budget.counter: the simulator does not report {target!r}{near}; allowed: {allowed}")
        missing = len(self.wanted())
        if not missing:
            self.sampling.looks += 1
        for_sampling = self.systematic.left_for_sampling()
        sampled = self.sampling.look(missing, for_sampling)
        if self.sampling.ranges.of:
            sampled = replace(sampled, ranges=self.sampling.range_estimates(sampled))
        with_left_out = with_nonresponse(sampled, self.nonresponse(), self.budget.counter, self.ratios, self.sampling.ranges)
        before = sampled.by_name
        nonresponse = {name: one.half_width - before[name].half_width for name, one in with_left_out.by_name.items()}
        whole = self.systematic.widened(
            with_left_out.changed(
                lambda name, one: (
                    one if name in self.budget.targets else one.no_narrower_than(for_sampling.allowed(name), nonresponse[name])
                )
            )
        )
        self._sampling_budget = self.systematic.left_for_sampling(before, with_left_out.by_name)
        is_within = whole.meets(self.budget)
        self._last_look = None if missing else sampled
        self._is_final = whole.may_stop and (is_within or sampled.meets(self._sampling_budget))
        by_systematic = not is_within and self._is_final and with_left_out.meets(self.budget)
        stated = whole.changed(lambda name, one: one.no_narrower_than(self.budget.allowed(name), nonresponse[name]))
        warnings = [*whole.warnings, *(self.systematic.unmet() if by_systematic else [])]
        met = stated.may_stop and stated.meets(self.budget)
        return replace(stated, met=met, warnings=warnings, goes_on=whole.goes_on if is_within else "")

    def predict(self, units: Iterable[int], counters: Sequence[str] | None = None) -> Floats:
        """float64 [units, counters]: result of each simulated launch, and prediction of each other launch.

        Args:
            units: indices of launches.
            counters: names; None: all.
        """
        places = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, np.int64)
        return self.sampling.predict(places, counters)

    def unit_errors(self, counter: str) -> UnitErrors | None:
        """Errors of all launches in one counter, at the last interim analysis (end of a round of sampling); None if the
        analysis states no half-width.
        """
        spread = self.sampling.unit_spreads(counter) if self._last_look is not None else None
        if spread is None:
            return None
        missing = np.zeros(len(self.results.rows))
        for unit, values in self.nonresponse().items():
            missing[unit] = values[counter].half_width
        return UnitErrors(*spread, missing, np.asarray(self.sampling.design.labels))


def passes(
    engine: Engine,
    counters: Sequence[str],
    results: Floats,
    order: Callable[[Ints], Ints] = lambda units: units,
) -> Iterator[Look]:
    """Run a sampling on results that are all known, pass after pass (rounds of sampling), as for forecasts and measurements of
    coverage. It ends when the budget is met or the sample cannot grow.

    Args:
        engine: a new engine.
        counters: names of the columns of `results`.
        results: float64 [N, counters], or [N] for one counter; results of all launches.
        order: permutes the launches of a pass into the order in which their results arrive.

    Yields:
        The interim analysis at the end of each pass. The sample grows only when the next one is asked for, so a caller can
        examine the engine in between.

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
