"""Sampled launches: the orders of a pass over launches that are known, decided by a frozen design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord
from kernelpoint.planning.frame import SamplingFrame
from kernelpoint.policies.projection import Projections
from kernelpoint.session.orders import (
    ENDED_SIMULATOR,
    KEPT,
    REPLAYED,
    Order,
    Orders,
    Outcome,
    OutcomeRecord,
    Planned,
    check_counters,
)
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup

MAX_ATTEMPTS = 2  # a launch is tried in two passes before the run leaves it out


class SampledLaunches(Orders):
    """Orders for the launches of the sample.

    Args:
        setup: the fixed inputs of the run; frame: the launches and their plan; sample: takes results.

    Attributes:
        frame, sample: as above; projections: stops launches inside.
        attempts: that failed, of each launch that has no result; fatal: launches that ended their simulator.
        restarts: of a full run that was resumed, the units at which it went on.
        copies, copied_cycles: launches that took the result of an equal one, or of an earlier run.
    """

    def __init__(self, setup: Setup, frame: SamplingFrame, sample: Sample) -> None:
        super().__init__(frame.population.offsets, setup.host.executes)
        self._setup, self.frame, self.sample = setup, frame, sample
        self.projections = Projections(setup.policy.projects(setup.config))
        self.attempts: dict[int, int] = {}
        self.fatal: set[int] = set()
        self.copies, self.copied_cycles = 0, 0.0
        self._results: dict[int, dict[str, float]] = {}  # by key, of a deterministic simulator
        self.restarts: list[int] = []
        self._restarting: set[int] = set()  # processes of a resumed full run that have not gone on yet

    def decision(self, process: int, launch: int, trace_path: str | None = None) -> DecisionRecord | None:
        """Decide to simulate or skip a launch, with the reason; None for a launch in flight."""
        unit = self.unit(process, launch)
        if unit in self.in_flight:
            return None
        record = DecisionRecord(process, launch, self.pass_index, "simulate" if self._is_open[unit] else "skip")
        self.sample.explain(unit, record)
        return record

    def start(self, decision: DecisionRecord) -> None:
        """Mark a launch as in flight. In a resumed full run, its first launch marks where it continues."""
        super().start(decision)
        if decision.action != "skip" and decision.process in self._restarting:
            self._restarting.remove(decision.process)
            self.restarts.append(self.unit(decision.process, decision.launch))

    def order(self, unit: int) -> Order:
        """Order for a launch: its initial state and progress interval.

        A full run keeps the simulator's own state from launch to launch. Every other launch begins with replayed state,
        whatever else is simulated.
        """
        keeps = self._setup.is_full_run and self.pass_index == 0 and unit not in self.restarts
        replays = self._setup.host.restores_state and not keeps
        return Order(*self.place(unit), REPLAYED if replays else KEPT, self.projections.interval)

    def planned(self) -> list[Planned]:
        """Waiting launches, each as a chain of one."""
        units = [unit for unit in self.waiting().tolist() if self._copied(unit) is None]
        costs = self.frame.expected_costs(np.array(units, dtype=np.int64)).tolist()
        return [Planned((self.order(unit),), cost) for unit, cost in zip(units, costs, strict=True)]

    def planned_first(self) -> list[Planned]:
        """Launches of the first pass, before it begins. Validation launches do not change them."""
        self.begin(self.sample.wanted())
        return self.planned()

    def stops(self, process: int, launch: int, point: Sequence[int]) -> bool:
        """True if the policy stops the launch now and projects its result."""
        return self.projections.stops(self.require_in_flight(process, launch), *point)

    def record(self, process: int, launch: int, outcome: Outcome) -> OutcomeRecord:
        """Journal record of a result. A failed launch is ordered once more in the next pass, then never."""
        unit = self.require_in_flight(process, launch)
        if not outcome.counters:
            return AbortRecord(process, launch, self.pass_index, outcome.reason)
        expected = self.sample.engine.counters or self._setup.host.counters
        check_counters(launch, outcome.counters, expected, self._setup.budget.counter)
        if not outcome.stopped:
            return ResultRecord(process, launch, self.pass_index, outcome.counters)
        if not self.projections.is_stopped(unit):
            raise HostError(f"launch {launch} was stopped inside although the answer was to continue")
        counters, projection = self.projections.project(unit, outcome.counters)
        check_counters(launch, counters, expected, self._setup.budget.counter)
        return ResultRecord(process, launch, self.pass_index, counters, projection)

    def copy(self, process: int, launch: int) -> ResultRecord | None:
        """Result from an earlier run, or from an equal launch of a deterministic simulator."""
        counters = self._copied(self.unit(process, launch))
        return None if counters is None else ResultRecord(process, launch, self.pass_index, dict(counters), copied=True)

    def _copied(self, unit: int) -> dict[str, float] | None:
        """Counters of an earlier run, else of an equal launch."""
        if self._setup.is_full_run:  # its launches begin with other state
            return None
        return self._setup.earlier.of_launch.get(self.place(unit)) or self._results.get(self._key(unit))

    def _key(self, unit: int) -> int:
        """Equal for launches of equal results; 0 where nothing is known of that."""
        described = self.frame.population.described
        return int(described.keys[unit]) if described is not None and described.is_deterministic else 0

    def take(self, record: OutcomeRecord) -> str:
        """Add a result to the sample, or count a failed attempt."""
        unit = self.unit(record.process, record.launch)
        self.end(unit)
        self.projections.forget(unit)
        if isinstance(record, AbortRecord):
            return self._take_abort(unit, record)
        if isinstance(record, ResultRecord):
            self.sample.take(unit, record.counters, record.projection is not None)
            self.projections.take(record.counters, record.projection)
            if record.copied:
                self.copies += 1
                self.copied_cycles += record.counters["cycles"]
            elif key := self._key(unit):
                self._results[key] = record.counters
        return ""

    def _take_abort(self, unit: int, record: AbortRecord) -> str:
        was_stated = unit in self.attempts or unit in self.frame.plan.broken
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        if (record.reason or "").startswith(ENDED_SIMULATOR):
            self.fatal.add(unit)
            self.attempts[unit] = MAX_ATTEMPTS
        why = record.reason or "no reason given"
        return "" if was_stated else f"launch {record.launch} of process {record.process} could not be simulated: {why}"

    # ---- launches that fail -----------------------------------------------------------------------------------------

    def failed(self) -> list[int]:
        """Launches that failed as often as is allowed."""
        return sorted(unit for unit, count in self.attempts.items() if count >= MAX_ATTEMPTS)

    def lost(self) -> list[int]:
        """Launches that failed for good. Model: if two launches of one kernel and shape ended the simulator, all of them
        would.
        """
        lost = set(self.failed())
        shapes = self.frame.plan.kernels_and_shapes() if lost & self.fatal else None
        if shapes is not None:
            kinds, times = np.unique(shapes[sorted(self.fatal)], return_counts=True)
            alike = np.flatnonzero(np.isin(shapes, kinds[(times >= MAX_ATTEMPTS) & (kinds >= 0)]))
            lost |= {unit for unit in alike.tolist() if not self.sample.has_result[unit]} - self.sample.left_out
        return sorted(lost)

    def give_up(self, launches: Sequence[tuple[int, int]]) -> list[int]:
        """Remove launches, given as (process, launch index), without which the run continues; returns their units."""
        units = [self.unit(*launch) for launch in launches]
        for unit in units:
            self.attempts.pop(unit, None)
            self.leave_out(unit)
        return units

    def forget_in_flight(self) -> None:
        """Order the launches in flight again. Failed launches are tried again, except those that ended their simulator."""
        super().forget_in_flight()
        self.attempts = {unit: MAX_ATTEMPTS for unit in self.fatal & self.attempts.keys()}
        if self._setup.is_full_run:  # it restarts with the next launch
            self._restarting = set(range(self._setup.host.process_count))
