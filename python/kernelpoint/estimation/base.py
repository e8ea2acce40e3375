"""Base of every engine, whatever its design: takes results, and looks at them at the end of a pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError, HostError, did_you_mean, shown
from kernelpoint.estimation.design import ErrorBudget
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.measurement_error import MeasurementErrors, Reach, check_half_widths
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import UnitErrors
from kernelpoint.estimation.nonresponse import Nonresponse, Range, part_added, with_nonresponse
from kernelpoint.estimation.results import Results
from kernelpoint.estimation.systematic_error import SystematicError

Frame = tuple[NDArray[np.integer], Floats | None, NDArray[np.integer] | None]  # [N] each


class BaseEngine(ABC):
    """Draws passes, takes results in any order, looks at the end of each pass, grows the sample until the budget is met.

    It is all that a session knows of estimation. At the begin of each pass `pass_state()` goes into the journal; a fresh engine
    that is given, in the same order, every `restore_pass`, `record` and `look` of a journal is in the state that it was in.

    >>> from kernelpoint.estimation import Design, Engine
    >>> engine = Engine(Design(np.zeros(9, int), np.array([2]), np.linspace(0, 0.9, 9)), ErrorBudget(0.05))
    >>> issubclass(Engine, BaseEngine), engine.wanted().tolist()
    (True, [0, 1])

    Args:
        units: the population size N; budget: error allowed; ratios: name -> (counter above, counter below).

    Attributes:
        u: float64 [N], the numbers that decide which unit is drawn.
    """

    u: Floats

    def __init__(self, units: int, budget: ErrorBudget, ratios: Mapping[str, tuple[str, str]] | None) -> None:
        self.budget = budget
        self.ratios = dict(ratios or {})
        self.looks = 0
        self._results = Results(units)
        self._errors = MeasurementErrors(budget, self.ratios)
        self._nonresponse = Nonresponse()
        self._wants_exact = False
        self._left = budget  # of the last look: what errors of the results leave for the sampling design
        self._last: Any = None  # what the last look knows, if no result was missing and the sample did not grow since

    # ---- what a design decides --------------------------------------------------------------------------------------

    @abstractmethod
    def drawn(self) -> Ints:
        """Units of the present sample and take-all units, int64, ascending."""

    @abstractmethod
    def _grow(self, last: Any) -> bool:
        """Sizes the sample of the next pass from what the last look knows; False where nothing is left to draw."""

    @abstractmethod
    def _predict(self, units: Ints) -> Floats:
        """float64 [units, counters]: predictions, whatever is simulated; they add up to the estimate with the results."""

    @property
    @abstractmethod
    def thresholds(self) -> Floats | None:
        """float64 [H]: unit i of stratum h is drawn in this pass if u_i <= T_h; None where no such rule draws."""

    @abstractmethod
    def pass_state(self) -> dict[str, Any]:
        """State of the present pass that a journal has to keep, as JSON's types."""

    @abstractmethod
    def restore_pass(self, state: Mapping[str, Any]) -> None:
        """Take a pass from a journal instead of drawing it again.

        Raises:
            JournalError: it is not of this design.
        """

    @abstractmethod
    def _look(self, missing: int, budget: ErrorBudget) -> Look:
        """A look of the sampling design alone; `missing` drawn units have no result."""

    @abstractmethod
    def _reach(self) -> Reach:
        """Positions of the results with errors of their own, and how far each moves the total."""

    @abstractmethod
    def _lacking(self, units: Ints) -> BaseEngine:
        """The same engine, with the present sizes, over strata that lack some units; without results."""

    @property
    @abstractmethod
    def _frame(self) -> Frame:
        """Stratum, covariate and domain of each unit."""

    @abstractmethod
    def _expanded_totals(self) -> dict[str, float]:
        """The totals, nearly, before there is a look; {} where no error of a result asks for them."""

    @abstractmethod
    def expansions(self, units: Ints) -> Floats:
        """float64 [units]: how many units each drawn one stands for in the present sample; 1 for all others."""

    def unit_errors(self, counter: str) -> UnitErrors | None:
        """Errors of the units in a counter, as the last look has them; None where it states no bound, or has no look."""
        spread = self._unit_spreads(counter)
        if spread is None:
            return None
        own, column = np.zeros(len(self._results.rows)), self.counters.index(counter)
        for unit, found in self.nonresponse().items():
            own[unit] = found.half[column]
        if len(self._errors.units):
            own[self._errors.units] += self._errors.half_widths(counter) * self._reach().weights
        return UnitErrors(*spread, own, np.asarray(self._frame[0]))

    @abstractmethod
    def _unit_spreads(self, counter: str) -> tuple[Floats, Floats, Floats] | None:
        """weights, residuals and spreads of UnitErrors, or None."""

    @property
    def has_bias(self) -> bool:
        """True if results may all err to one side, or units have none: no part is known better than the whole."""
        return self._errors.known or bool(self._nonresponse.strata)

    # ---- results ----------------------------------------------------------------------------------------------------

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the counters, in the order of the first record; empty before it."""
        return self._results.counters

    def wanted(self) -> Ints:
        """Drawn units without a result, int64, ascending: what this pass (or its retry) still has to simulate."""
        drawn = self.drawn()
        return np.setdiff1d(drawn[self._results.rows[drawn] < 0], self._nonresponse.units, assume_unique=True)

    missing = wanted

    def check(self, unit: int, counters: Sequence[str], values: Sequence[float]) -> None:
        """Refuse what `record` would refuse, with HostError; nothing is kept."""
        self._results.check(*_row(unit, counters, values))

    def record(
        self,
        unit: int,
        counters: Sequence[str],
        values: Sequence[float],
        half_widths: Mapping[str, float | None] | None = None,
    ) -> None:
        """The counters of one simulated unit. Results of units that are not drawn wait until they are.

        Args:
            half_widths: where the values are not exact (a projection): the half-width of each, at the run's confidence, by
                counter. None, or no entry, means that the error of that counter is not known, and no bound can be stated
                for it. Errors enter what a look states, and take their part of the error budget (measurement_error.py).

        Raises:
            HostError: unknown unit, second result of a unit, other counters than before, a value that is not finite, or a
                half-width below 0.
        """
        if half_widths is not None:
            check_half_widths(unit, half_widths)
        self._results.add(*_row(unit, counters, values))
        if half_widths is not None:
            self._errors.add(unit, half_widths)

    def record_many(self, units: Iterable[int], counters: Sequence[str], values: Floats) -> None:
        """The same for many units: values is float64 [units, counters]."""
        array = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, dtype=np.int64)
        self._results.add(array, tuple(counters), np.asarray(values, dtype=float).reshape(len(array), len(counters)))

    def take_over(self, other: BaseEngine) -> None:
        """All results of another engine over the same units, with their errors."""
        units = other._results.units
        if len(units):
            self.record_many(units, other.counters, other._results.of(units))
        self._errors.take_over(other._errors)

    def without(self, units: Sequence[int]) -> BaseEngine:
        """The same engine where some units can have no result: they are not wanted, strata are sampled without them, and what
        they may be is in every look (nonresponse.py).
        """
        other = self._lacking(np.asarray(units, dtype=np.int64))
        other.take_over(self)
        other.looks, other._wants_exact = self.looks, self._wants_exact
        strata = np.asarray(self._frame[0])
        other._nonresponse.strata |= self._nonresponse.strata | {unit: int(strata[unit]) for unit in units}
        return other

    def nonresponse(self) -> dict[int, Range]:
        """Range of each unit that can have no result, in the order of `counters`; {} while there are no results."""
        units = self._results.units
        if not self._nonresponse.strata or not len(units):
            return {}
        strata, x, _ = self._frame
        own = {} if x is None else {unit: float(x[unit]) for unit in self._nonresponse.units}
        known = None if x is None else np.asarray(x, dtype=float)[units]
        return self._nonresponse.ranges(self._results.of(units), np.asarray(strata)[units], known, own)

    def set_systematic_errors(self, errors: Mapping[str, SystematicError]) -> None:
        """Errors that all results share (replay), by counter, from the next look on; they replace those set before."""
        self._errors.systematic = dict(errors)

    @property
    def wants_exact_results(self) -> bool:
        """True if results with errors of their own have kept a look from the budget: those to come should have none."""
        return self._wants_exact

    def records(self) -> Iterator[tuple[int, Floats]]:
        """Every result so far: (unit, float64 [counters]), by unit."""
        units = self._results.units
        return zip(units.tolist(), self._results.of(units), strict=True)

    def simulated_totals(self) -> dict[str, float]:
        """The sum of each counter over the simulated units, without any estimate."""
        units = self._results.units
        return dict(zip(self.counters, self._results.of(units).sum(axis=0).tolist(), strict=True))

    def predict(self, units: Iterable[int]) -> Floats:
        """float64 [units, counters]: own result where simulated, else the prediction; they add up to the estimate. nan before
        the first look, and for take-all units without a result.
        """
        array = np.asarray(list(units) if not isinstance(units, np.ndarray) else units, dtype=np.int64)
        simulated = self._results.rows[array] >= 0
        if simulated.all():  # no prediction is asked for, and one may cost a pass over all units
            return self._results.of(array)
        values = self._predict(array)
        values[simulated] = self._results.of(array[simulated])
        return values

    # ---- looks ------------------------------------------------------------------------------------------------------

    def grow(self) -> bool:
        """Sizes the sample of the next pass from the last look.

        Returns:
            False where the sample cannot grow: all is drawn, the design is purposive, no bound is wanted, the budget is
            met, or results are missing (retry wanted() and look again, or end without a bound).
        """
        last = self._last
        if last is None or last.met or self.budget.bound == "none" or not self._grow(last):
            return False
        self._last = None
        return True

    def look(self) -> Look:
        """The end of a pass: estimates of everything. Spends error probability, unless results are missing.

        Errors of the results themselves are in the half-widths, and the sampling design gets what they leave of the budget.

        Raises:
            ConfigError: the budget's counter is not among those that the host reports.
        """
        self._check_targets()
        missing = len(self.missing())
        if not missing:
            self.looks += 1
        reach, totals = self._reach(), self._expanded_totals()
        budget: ErrorBudget | None = self._errors.design_budget(reach, totals)
        while budget is not None:
            self._left = budget
            sampled = self._look(missing, budget)
            whole = with_nonresponse(sampled, self.nonresponse(), self.budget, self.ratios, self._frame[2])
            look = self._errors.widened(whole, reach)
            added = {one.counter: part_added(sampled, whole, one) for one in self.budget.each()}
            tighten = sampled.met and not look.met
            budget = self._errors.tightened(budget, look, reach, totals, added) if tighten else None
            self._wants_exact |= budget is not None and len(self._errors.units) > 0
        return look

    def _check_targets(self) -> None:
        """Raises ConfigError where a target is not among the counters of the results."""
        for target in self.budget.targets:
            if self.counters and not set(self.ratios.get(target, (target,))) <= set(self.counters):
                near, allowed = did_you_mean(target, self.counters), ", ".join(self.counters)
                raise ConfigError(f"error_budget.counter: {target!r} is not reported{near}; allowed: {allowed}")


def _row(unit: int, counters: Sequence[str], values: Sequence[float]) -> tuple[Ints, tuple[str, ...], Floats]:
    """One result as arrays; HostError where it is made of other things than numbers and names."""
    try:
        row = np.asarray(values, dtype=float).reshape(1, -1)
        return np.array([index(unit)], dtype=np.int64), tuple(counters), row
    except (TypeError, ValueError, OverflowError):
        raise HostError(
            f"unit {shown(unit)}: got {shown(values)} for the counters {shown(counters)}; expected numbers and their names"
        ) from None
