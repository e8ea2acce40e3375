"""The sample of a run: the sampled launches, the reason for each, their results, and the estimates for all
launches."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelpoint.errors import KernelPointError
from kernelpoint.estimation import Design, Engine, Estimate, Look
from kernelpoint.journal import DecisionRecord
from kernelpoint.planning.frame import SamplingFrame
from kernelpoint.planning.range_targets import with_range_targets
from kernelpoint.planning.selecting import write_next
from kernelpoint.ratios import RATIOS
from kernelpoint.session.setup import Setup
from kernelpoint.totals.exact import exact_values
from kernelpoint.totals.rules import Basis, stated


class Sample:
    """Sample of a run: the engine's draws and their results, over the launches of a frame.

    Args:
        setup: what is fixed; frame: the launches and their plan.

    Attributes:
        engine: draws and estimates; look: its last one; results: how many launches have a result; has_result: bool [N], which
            ones, of this process or of one before it; left_out: units that can have no result; further: what a run over a
            selection would need to go on, or empty.
    """

    def __init__(self, setup: Setup, frame: SamplingFrame) -> None:
        self._setup, self._frame, self._design = setup, frame, frame.design
        self._targets = with_range_targets(setup.config, setup.ranges, setup.budget)
        budget, ranges = self._targets
        self.engine = Engine(frame.plan.first_phase or frame.design, budget, setup.estimate, RATIOS, ranges)
        self.look: Look | None = None
        self.results = 0
        self.further = ""
        self.left_out: set[int] = set()
        self._projected: set[int] = set()
        self._thresholds: np.ndarray | None = None  # of the pass, as the predictions of what it wants
        self._predictions: dict[int, float] = {}
        self.has_result = np.zeros(frame.population.size, dtype=bool)

    @property
    def is_complete(self) -> bool:
        """True if every sampled launch has its result."""
        return not len(self.wanted())

    def wanted(self) -> np.ndarray:
        """Drawn launches without a result, int64, ascending."""
        return self.engine.wanted()

    def pass_state(self) -> dict[str, Any]:
        """State of the present pass that a journal has to keep."""
        return self.engine.pass_state()

    def is_exact(self, unit: int) -> bool:
        """True if the launch has a result that is not projected."""
        return bool(self.has_result[unit]) and unit not in self._projected

    # ---- passes -----------------------------------------------------------------------------------------------------

    def open_pass(self, state: Mapping[str, Any] | None = None) -> np.ndarray:
        """Begin a pass, from the `state` in a journal or from the engine; returns the launches to simulate."""
        if state is not None:
            self.engine.restore_pass(state)
        wanted = self.wanted()
        self._thresholds = self.engine.thresholds
        self._predictions = self._predict(wanted)
        return wanted

    def explain(self, unit: int, record: DecisionRecord) -> None:
        """Add to a decision why the launch is sampled or not, and its prediction."""
        record.stratum = stratum = int(self._design.labels[unit])
        if stratum < 0 and self._frame.plan.first_phase is None:
            certain = self._design is self._frame.design and unit not in self._frame.plan.broken
            record.take_all = "by design" if certain else "failure"
        elif self._thresholds is not None:
            record.u, record.threshold = self.engine.u[unit], self._thresholds[stratum]
        record.cluster, record.stream = self._frame.cluster_and_stream(unit)
        record.prediction = self._predictions.get(unit)
        if record.action != "skip" and self._design.expected is not None:
            record.x = self._design.expected[unit]

    def take(self, unit: int, counters: Mapping[str, float], is_projection: bool = False) -> None:
        """The result of a launch."""
        self.engine.record(unit, tuple(counters), tuple(counters.values()))
        if is_projection:
            self._projected.add(unit)
        self.has_result[unit] = True
        self.results += 1

    def expansions(self, units: np.ndarray) -> np.ndarray:
        """float64 [units]: launches that each stands for in the total; 0 without a result."""
        counted = np.isin(units, self.engine.drawn()) & self.has_result[units]
        return np.where(counted, self.engine.expansions(units), 0.0)

    def set_systematic_errors(self, errors: Mapping[str, Estimate]) -> None:
        """Set the errors, by counter, that all results share (replay error)."""
        self.engine.set_systematic_errors(errors)

    def take_look(self) -> Look:
        """The end of a pass."""
        self.look = self.engine.look()
        return self.look

    def grow(self) -> bool:
        """Enlarge the sample if the last interim analysis did not meet the budget; False if the sample ends here."""
        if self.look is not None and self.look.met:
            return False
        if self._frame.population.listed is None:
            return self.engine.grow()
        return self._grow_within_traced()

    def _grow_within_traced(self) -> bool:
        """Growth where only some launches can be simulated: the whole of a pass, or none of it."""
        grown = copy.deepcopy(self.engine)
        if not grown.grow():
            return False
        wanted = grown.wanted()
        if self._frame.population.traced[wanted].all():
            self.engine = grown
            return True
        lacking = int((~self._frame.population.traced[wanted]).sum())
        self.further = f"the next pass wants {lacking:,} launches that were not traced"
        try:
            path, added = write_next(self._setup.config, self._setup.host, grown)
        except KernelPointError as error:
            self.further += f"; the selection that continues this one cannot be written: {error}"
        else:
            self.further += f": trace the {added:,} of {path} and go on with it as `selection:`, or take this bound"
        return False

    def can_lack(self, units: Sequence[int]) -> bool:
        """True if the run can state an estimate without the results of some launches, because others represent them or can be
        drawn instead.

        A full run is exact or nothing, and so is a purposive sample.
        """
        design, traced = self._design, self._frame.population.traced
        fixed = isinstance(design, Design) and design.chosen is not None
        if self._setup.config.policy.name == "all" or fixed:
            return False
        return self._frame.population.listed is None or bool(traced[self.engine.without(units).wanted()].all())

    def leave_out(self, units: Sequence[int]) -> None:
        """Continue without the results of some launches; every later bound allows for them."""
        self.engine = self.engine.without(units)
        self.left_out |= set(units)

    def simulate_everything(self) -> None:
        """Replace the design by one in which every launch is simulated (after a failed decision)."""
        before, frame = self.engine, self._frame.design
        self._design = Design.take_all(frame.u, frame.domains if isinstance(frame, Design) else None)
        budget, ranges = self._targets
        self.engine = Engine(self._design, budget, "mean", RATIOS, ranges)
        self.engine.take_over(before)
        if self.left_out:
            self.engine = self.engine.without(sorted(self.left_out))

    def warnings(self) -> list[str]:
        """Sentences on why the sample ended before the budget was met."""
        return [self.further] if self.further else []

    # ---- what it says -----------------------------------------------------------------------------------------------

    def estimates(self, counters: Sequence[str] | None = None) -> np.ndarray:
        """float64 [N, counters]: exact value of each launch from its trace, else its result, else its prediction; all counters
        by default.
        """
        names = self.engine.counters if counters is None else tuple(counters)
        rows = self._values(np.arange(len(self.has_result)), names)
        for name, values in self._exact().items():
            if name in names:
                rows[:, names.index(name)] = values
        return rows

    def statement(self) -> Look | None:
        """Last interim analysis, with exact values where traces determine them; None if the sample is incomplete."""
        if self.look is None or not self.is_complete:
            return None
        basis = Basis(
            self.engine,
            self._frame.plan,
            self.has_result,
            self._frame.population.offsets,
            self._exact(),
            self._setup.budget.targets,
            self._setup.host.launch_latency * len(self.has_result),
        )
        return stated(self.look, basis)

    def _values(self, units: np.ndarray, counters: Sequence[str]) -> np.ndarray:
        """float64 [units, counters]: result or prediction, of a unit without a result the middle of its possible
        range."""
        rows = self.engine.predict(units, counters)
        for unit, values in self.engine.nonresponse().items():
            rows[units == unit] = [values[name].estimate for name in counters]
        return rows

    def _exact(self) -> dict[str, np.ndarray]:
        return exact_values(self._frame.plan, self.engine, self._projected)

    def one_per_stream_cycles(self) -> float | None:
        """Predicted cycles of one launch for each distinct instruction sequence; None if these are unknown."""
        streams = self._frame.plan.stream_ids
        if streams is None or "cycles" not in self.engine.counters:
            return None
        _, first = np.unique(streams, return_index=True)
        return float(self._values(first, ["cycles"]).sum())

    @property
    def strata(self) -> np.ndarray:
        """int [N]: stratum of each launch, -1 for a launch that is always simulated."""
        return np.asarray(self._design.labels)

    def processes(self) -> list[tuple[int, int]]:
        """Number of launches of each process, and how many have a result."""
        parts = np.split(self.has_result, self._frame.population.offsets[1:-1])
        return [(len(part), int(part.sum())) for part in parts]

    def _predict(self, wanted: np.ndarray) -> dict[int, float]:
        """Predicted cycles of the launches of a pass, for their decisions; none before the first interim analysis."""
        if self.look is None or not len(wanted):
            return {}
        rows = self.engine.predict(wanted)
        if not rows.size:
            return {}
        finite = np.isfinite(rows[:, 0])
        return dict(zip(wanted[finite].tolist(), rows[finite, 0].tolist(), strict=True))
