"""A sampling design at work: the units that it draws, and the totals that their results tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.inference import Combination, TotalErrors
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets, Spreads, Tree, UnitErrors, subtotals
from kernelpoint.estimation.results import Results

Ratios = Mapping[str, tuple[str, str]]  # name -> (counter above, counter below)


@dataclass(frozen=True)
class Frame:
    """Stratum and covariate of each unit, arrays [N].

    Attributes:
        strata: int, stratum or group, -1 of a take-all unit.
        x: float64, covariate, or None.
    """

    strata: NDArray[np.integer]
    x: Floats | None = None


class Sampling(ABC):
    """Interface of a sampling: draws units and estimates totals, as if all results were exact and complete.

    `Engine` adds the rest: errors of the results, units without a result, interim analyses, the end of a run.

    Args:
        units: the population size N.
        budget: error allowed.
        ratios: name -> (counter above, counter below).
        ranges: the targets of the budget that are about parts of the population.

    Attributes:
        results: the results so far.
        looks: interim analyses so far.
        u: float64 [N], the numbers that decide which unit is drawn.
    """

    u: Floats

    def __init__(self, units: int, budget: ErrorBudget, ratios: Ratios | None = None, ranges: RangeTargets = NO_RANGES) -> None:
        self.budget, self.ratios, self.ranges = budget, dict(ratios or {}), ranges
        self.results = Results(units)
        self.looks = 0

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the counters in the order of the first result; empty before it."""
        return self.results.counters

    def counted(self, target: str) -> str:
        """Counter of a target; for a ratio, the counter in its numerator; for a range, the counter that is summed."""
        return self.ranges.of[target][0] if target in self.ranges.of else self.ratios.get(target, (target,))[0]

    # ---- units ------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """Stratum and covariate of each unit."""

    @abstractmethod
    def drawn(self) -> Ints:
        """int64, ascending: units of the present sample, and units that are always simulated."""

    @abstractmethod
    def grow(self, budget: ErrorBudget, look: Look) -> bool:
        """Size the sample of the next pass from the last analysis; False if nothing is left to draw.

        Args:
            budget: the error budget without the errors of the results; look: that look, with its ranges.
        """

    def with_spare(self, factor: float) -> Ints:
        """int64, ascending: units of a sample `factor` times as large. Growth within it draws no other unit.

        Raises:
            NotImplementedError: the design has no such sample.
        """
        raise NotImplementedError

    @property
    def thresholds(self) -> Floats | None:
        """float64 [H]: unit i of stratum h is drawn if u_i <= T_h; None if units are not drawn by this rule."""
        return None

    @abstractmethod
    def pass_state(self) -> dict[str, Any]:
        """State of the present pass for the journal, as JSON types."""

    @abstractmethod
    def restore_pass(self, state: Mapping[str, Any]) -> None:
        """Take a pass from a journal instead of drawing it again.

        Raises:
            JournalError: it is not of this design.
        """

    @abstractmethod
    def leaving_out(self, units: Ints) -> Sampling:
        """Copy of this sampling, without results, in which some units cannot be drawn. Sample sizes stay."""

    # ---- estimates --------------------------------------------------------------------------------------------------

    @abstractmethod
    def look(self, missing: int, budget: ErrorBudget) -> Look:
        """Make the interim analysis; `missing` drawn units have no result. `Engine` decides `Look.met`."""

    @abstractmethod
    def errors(self, combination: Combination) -> TotalErrors:
        """The total of a linear combination of counters and its errors, from the last analysis: of a counter, of a ratio by
        linearisation, or of the change between two runs.
        """

    def range_estimates(self, look: Look) -> dict[str, Estimate]:
        """The total of each range that is a target, from the sample of the whole (`subtotals`).

        As the whole states its budget, a range states its own: its half-width is computed from that of the whole before it is
        raised to the budget.
        """
        totals = {}
        for counter in {counter for counter, *_ in self.ranges.of.values()} & look.estimates.keys():
            whole = look.estimates[counter]
            values = np.nan_to_num(self.predict(np.arange(len(self.results.rows)), [counter])[:, 0])
            spreads = None if whole.half_width == 0.0 else self.unit_spreads(counter)
            errors = None if spreads is None else UnitErrors(*spreads, np.zeros(len(values)), self.frame.strata)
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
        """float64 [units, counters]: result of a simulated unit, else its prediction. Over all units they add up to the
        estimate. nan before the first analysis.

        Args:
            counters: by default all. One at a time costs the memory of one column.
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
        """float64 [units]: number of units that each drawn unit represents in the present sample; 1 for all others."""

    @abstractmethod
    def unit_spreads(self, counter: str) -> Spreads | None:
        """Weights, residuals and spreads of the units; None if the last analysis states no bound."""
