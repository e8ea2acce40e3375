"""The sample of a run: the launches that it draws, pass after pass, their results, and the estimates for all launches."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any

import numpy as np

from kernelpoint.errors import HostError, KernelPointError
from kernelpoint.estimation import Design, Engine, Look
from kernelpoint.journal import DecisionRecord, Outcome
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.range_targets import with_range_targets
from kernelpoint.policies.early_stop import Projections
from kernelpoint.ratios import RATIOS
from kernelpoint.selection.runs import write_next
from kernelpoint.session.orders import (
    ENDED_SIMULATOR,
    KEPT,
    REPLAYED,
    Order,
    Orders,
    Planned,
    check_counters,
)
from kernelpoint.session.setup import Setup

MAX_ATTEMPTS = 2  # a launch is tried in two passes before the run leaves it out
ALIKE_FATAL = 2  # after so many launches of one kernel and shape that ended the simulator, the run leaves all of them out


class Sample(Orders):
    """Sample of a run: the launches drawn from a plan, and their results.

    Args:
        setup: configuration and simulator of the run.
        plan: launches and sampling design.

    Attributes:
        engine: object that draws launches and estimates totals.
        look: estimates at the end of the last pass (round of sampling).
        warnings: for a run whose traces do not suffice: a sentence on the traces to add.
        projections: for launches that may be stopped early: objects that decide and project.
        projected: launches with a projected result.
        attempts: number of failed attempts of each launch without a result.
        fatal: launches that ended their simulator process.
        restarts: launches at which a resumed full run continued.
        copies: number of launches with a result taken from an equal launch or from an earlier run.
        copied_cycles: cycles of these copied results.
    """

    def __init__(self, setup: Setup, plan: Plan) -> None:
        super().__init__(plan.program.offsets, setup.host.executes)
        self._setup, self.plan = setup, plan
        self._targets = with_range_targets(setup.config, setup.ranges, setup.budget, plan.program.counts)
        self._set_design(plan.design)
        clusters = plan.design.clusters
        self._clusters = None if clusters is None else np.append(clusters, -1)[self.strata]  # int [N], -1: in no cluster
        budget, ranges = self._targets
        design = plan.first_phase or plan.design
        if isinstance(design, Design):
            design = design.with_latency(setup.host.launch_latency)
        self.engine = Engine(design, budget, setup.estimate, RATIOS, ranges)
        self.look: Look | None = None
        self.warnings: list[str] = []
        self.projections = Projections(setup.policy.projects(setup.config))
        self.attempts: dict[int, int] = {}
        self.fatal: set[int] = set()
        self.copies, self.copied_cycles = 0, 0.0
        self.restarts: list[int] = []
        self._restarting: set[int] = set()  # processes of a resumed full run that have not gone on yet
        self._restores = setup.host.restores_state
        self._counters = setup.host.counters  # of every result; None before the first one tells
        self._equal: dict[int, dict[str, float]] = {}  # results by key, of a deterministic simulator
        self.projected: set[int] = set()
        self._thresholds: np.ndarray | None = None  # of the pass, as the predictions of what it wants
        self._predictions: dict[int, float] = {}

    def _set_design(self, design: Any) -> None:
        """Set the design whose strata the journal names in each decision."""
        self._design, self._expected = design, design.expected
        self.strata = np.asarray(design.labels)  # int [N], -1 for a launch that is always simulated

    # ---- passes -----------------------------------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """True if every sampled launch has its result."""
        return not len(self.engine.wanted())

    @property
    def results(self) -> int:
        """Number of launches with a result."""
        return self.engine.results.count

    @property
    def has_result(self) -> np.ndarray:
        """bool [N], True for launches with a result."""
        return self.engine.results.rows >= 0

    def begin_pass(self, state: Mapping[str, Any] | None = None) -> None:
        """Request the launches that the sample of a pass (round of sampling) needs and that have no result.

        Args:
            state: state of the engine for this pass from the journal of a resumed run; None: it is computed.
        """
        if state is not None:
            self.engine.sampling.restore_pass(state)
        wanted = self.engine.wanted()
        self._thresholds, self._predictions = self.engine.sampling.thresholds, {}
        if self.look is not None and len(wanted):  # none before the first interim analysis
            rows = self.engine.predict(wanted).tolist()
            self._predictions = {unit: row[0] for unit, row in zip(wanted.tolist(), rows, strict=True) if row}
        self.begin(wanted)

    def grow(self) -> bool:
        """Enlarge the sample as `Engine.grow` does. Returns False if the run ends: the budget is met, or it cannot grow."""
        if self.plan.program.listed is None:
            return self.engine.grow()
        return self._grow_within_traced()

    def _grow_within_traced(self) -> bool:
        """Enlarge the sample where only some launches can be simulated: by all launches of a pass, or by none."""
        grown = copy.deepcopy(self.engine)
        if not grown.grow():
            return False
        wanted = grown.wanted()
        if self.plan.program.traced[wanted].all():
            self.engine = grown
            return True
        lacking = int((~self.plan.program.traced[wanted]).sum())
        warning = f"the next pass wants {lacking:,} launches that were not traced"
        try:
            path, added = write_next(self._setup.config, self._setup.host, grown)
        except KernelPointError as error:
            warning += f"; the selection that continues this one cannot be written: {error}"
        else:
            warning += f": trace the {added:,} of {path} and go on with it as `selection:`, or take this bound"
        self.warnings = [warning]
        return False

    def simulate_everything(self) -> None:
        """Change to a design that simulates every launch, because the policy failed to decide on one."""
        before, design = self.engine, self.plan.design
        self._set_design(Design.take_all(design.u))
        budget, ranges = self._targets
        self.engine = Engine(self._design, budget, "mean", RATIOS, ranges)
        self.engine.take_over(before)
        if before.left_out:
            self.engine = self.engine.leaving_out(sorted(before.left_out))

    # ---- one launch -------------------------------------------------------------------------------------------------

    def decision(self, unit: int, trace_path: str | None = None) -> DecisionRecord | None:
        if unit in self.in_flight:
            return None
        is_open = bool(self._is_open[unit])
        record = DecisionRecord(*self.place(unit), self.pass_index, "simulate" if is_open else "skip")
        record.stratum = stratum = int(self.strata[unit])
        if stratum < 0 and self.plan.first_phase is None:
            certain = self._design is self.plan.design and unit not in self.plan.unreadable
            record.take_all = "by design" if certain else "failure"
        elif self._thresholds is not None:
            record.u, record.threshold = self.engine.sampling.u[unit], self._thresholds[stratum]
        if self._clusters is not None and (cluster := int(self._clusters[unit])) >= 0:
            record.cluster = cluster
        contents, of_launch = self.plan.program.contents, self.plan.program.content
        if contents is not None and of_launch is not None and contents.stream_ids[content := of_launch[unit]] >= 0:
            record.stream = contents.records["stream"][content].tobytes().hex()
        if isfinite(prediction := self._predictions.get(unit, nan)):
            record.prediction = float(f"{prediction:.6g}")
        if is_open and self._expected is not None:
            record.x = self._expected[unit]
        return record

    def start(self, decision: DecisionRecord) -> None:
        super().start(decision)
        if decision.action != "skip" and decision.process in self._restarting:  # here a resumed full run goes on
            self._restarting.remove(decision.process)
            self.restarts.append(self.unit(decision.process, decision.launch))

    def order(self, unit: int) -> Order:
        """Order to simulate a launch: its initial cache state, and the interval of progress reports.

        In a full run the simulator's caches continue from launch to launch. In a sampled run every launch begins with restored
        caches.
        """
        keeps = self._setup.is_full_run and self.pass_index == 0 and unit not in self.restarts
        state = REPLAYED if self._restores and not keeps else KEPT
        return Order(*self.place(unit), state, self.projections.interval)

    def planned(self) -> list[Planned]:
        units = [unit for unit in self.open().tolist() if self._copied(unit) is None]
        costs = self.plan.expected_costs(np.array(units, dtype=np.int64)).tolist()
        return [Planned((self.order(unit),), cost) for unit, cost in zip(units, costs, strict=True)]

    def stops(self, unit: int, point: Sequence[int]) -> bool:
        return super().stops(unit, point) or self.projections.stops(unit, *point)

    def result(self, unit: int, counters: dict[str, float], stopped: bool) -> Outcome:
        """Journal record of a launch's result. The result is projected to the whole launch if it was stopped early."""
        process, index = self.place(unit)
        self._check(index, counters)
        if not stopped:
            return Outcome(process, index, self.pass_index, counters)
        if not self.projections.is_stopped(unit):
            raise HostError(f"the simulator stopped launch {index} before its end, although it was to continue")
        counters, projection = self.projections.project(unit, counters)
        self._check(index, counters)
        return Outcome(process, index, self.pass_index, counters, projection=projection)

    def _check(self, index: int, counters: dict[str, float]) -> None:
        check_counters(index, counters, self._counters, self._setup.budget.counter)

    def copy(self, unit: int) -> Outcome | None:
        counters = self._copied(unit)
        return None if counters is None else Outcome(*self.place(unit), self.pass_index, dict(counters), copied=True)

    def _copied(self, unit: int) -> dict[str, float] | None:
        """Counters for a launch without simulation: from an earlier run, or from an equal launch."""
        if self._setup.is_full_run:  # its launches begin with other state
            return None
        earlier = self._setup.earlier.of_launch.get(self.place(unit))
        return earlier or self._equal.get(self._key(unit))

    def _key(self, unit: int) -> int:
        """Key that launches with equal results share; 0 if unknown."""
        program = self.plan.program
        return int(program.content[unit]) + 1 if program.is_deterministic and program.content is not None else 0

    def apply(self, record: Outcome) -> str:
        """Add the result of a launch to the sample, or count a failed attempt. Returns a message about a failure, else empty
        text.
        """
        self.require_in_flight(unit := self.unit(record.process, record.launch))
        if record.validation is not None:
            raise HostError(f"launch {record.launch}: got a result of validation {record.validation}, expected the sample's")
        self.close(unit)
        if self.projections.interval:
            self.projections.forget(unit)
        if not (counters := record.counters):
            was_stated = unit in self.attempts or unit in self.plan.unreadable
            self.attempts[unit] = self.attempts.get(unit, 0) + 1
            why = record.reason or "no reason given"
            if why.startswith(ENDED_SIMULATOR):
                self.fatal.add(unit)
                self.attempts[unit] = MAX_ATTEMPTS
            return "" if was_stated else f"launch {record.launch} of process {record.process} could not be simulated: {why}"
        self.engine.record(unit, tuple(counters), tuple(counters.values()))
        self._counters = self._counters or tuple(counters)
        if record.projection is not None:
            self.projected.add(unit)
            self.projections.count_result(counters, record.projection)
        if record.copied:
            self.copies += 1
            self.copied_cycles += counters["cycles"]
        elif key := self._key(unit):
            self._equal[key] = counters
        return ""

    def take_results(self, counters: Sequence[str], results: np.ndarray) -> None:
        units = self.open()
        self.engine.record_many(units, counters, results[units])
        self._is_open[units], self.open_count = False, 0

    # ---- launches that fail -----------------------------------------------------------------------------------------

    def failed(self) -> list[int]:
        """Launches that failed in all allowed attempts, by index."""
        return sorted(unit for unit, count in self.attempts.items() if count >= MAX_ATTEMPTS)

    def failed_for_good(self) -> list[int]:
        """Launches that are not tried again: those that failed in all attempts, and those like launches that ended their
        simulator.

        Model: if ALIKE_FATAL launches with the same kernel, grid and block ended the simulator process, all such launches
        would.
        """
        units = set(self.failed())
        shapes = self.plan.kernels_and_shapes() if units & self.fatal else None
        if shapes is not None:
            kinds, times = np.unique(shapes[sorted(self.fatal)], return_counts=True)
            alike = np.flatnonzero(np.isin(shapes, kinds[(times >= ALIKE_FATAL) & (kinds >= 0)]))
            units |= set(alike[self.engine.results.rows[alike] < 0].tolist()) - self.engine.left_out.keys()
        return sorted(units)

    def can_leave_out(self, units: Sequence[int]) -> bool:
        """True if the run can state an estimate without results of these launches, because sampled launches represent them.

        False for a full run, and for a policy that chooses representatives without random draws.
        """
        design, traced = self._design, self.plan.program.traced
        fixed = isinstance(design, Design) and design.chosen is not None
        if self._setup.config.policy.name == "all" or fixed:
            return False
        return self.plan.program.listed is None or bool(traced[self.engine.leaving_out(units).wanted()].all())

    def leave_out(self, launches: Sequence[tuple[int, int]]) -> None:
        """Continue without the results of some launches, given as (process, index). Later bounds are wider for it."""
        units = [self.unit(*launch) for launch in launches]
        for unit in units:
            self.attempts.pop(unit, None)
            self.close(unit)
        self.engine = self.engine.leaving_out(units)

    def forget_in_flight(self) -> None:
        """Mark launches whose simulator process ended as waiting again. Failed launches are tried again, unless they ended
        their simulator.
        """
        super().forget_in_flight()
        self.attempts = {unit: MAX_ATTEMPTS for unit in self.fatal & self.attempts.keys()}
        if self._setup.is_full_run:  # it restarts with the next launch
            self._restarting = set(range(self._setup.host.process_count))

    # ---- what it says -----------------------------------------------------------------------------------------------

    def is_exact(self, unit: int) -> bool:
        """True if the launch was simulated to its end."""
        return bool(self.engine.results.rows[unit] >= 0) and unit not in self.projected

    def expansions(self, units: np.ndarray) -> np.ndarray:
        """Weight of each launch in the estimated total, float64: the number of launches it represents; 0 without a result."""
        counted = np.isin(units, self.engine.drawn()) & self.has_result[units]
        return np.where(counted, self.engine.sampling.expansions(units), 0.0)
