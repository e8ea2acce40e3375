"""Sampled launches: the orders of a pass over launches that are known, decided by a frozen design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord
from kernelpoint.planning.frame import SamplingFrame
from kernelpoint.session.orders import (
    BEFORE_FIRST,
    DONE,
    END_OF_LIST,
    ENDED_SIMULATOR,
    OK,
    PENDING,
    SIMULATE,
    SKIP,
    Answer,
    HostResult,
    Orders,
    Outcome,
    not_in_flight,
)
from kernelpoint.session.projections import Projections
from kernelpoint.session.replays import KEPT, REPLAYED
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.worker_protocol import Planned, Step

MAX_ATTEMPTS = 2  # a launch is tried in two passes before the run gives its bound up


class Ledger:
    """Walks the wanted units of a pass in program order and keeps the state of those in flight: none counted twice, none lost.

    Args:
        offsets: int64 [processes + 1], first unit of each process.
    """

    def __init__(self, offsets: np.ndarray) -> None:
        self._offsets = offsets
        self._wanted = np.zeros(int(offsets[-1]), dtype=bool)
        self._queue = np.empty(0, dtype=np.int64)
        self.open_count = 0
        self.in_flight: set[int] = set()
        self.attempts: dict[int, int] = {}
        self.fatal: set[int] = set()

    def begin_pass(self, wanted: np.ndarray) -> None:
        """Start a pass over the units `wanted` (sorted); none may be in flight."""
        self._wanted[self._queue] = False
        self._queue = np.array(wanted, dtype=np.int64)
        self._wanted[self._queue] = True
        self.open_count = len(self._queue)

    def unit(self, process: int, index: int) -> int:
        """The unit of a launch; HostError where the host names one that the list does not have."""
        if not 0 <= process < len(self._offsets) - 1:
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._offsets) - 2}")
        unit = int(self._offsets[process]) + index
        if not self._offsets[process] <= unit < self._offsets[process + 1]:
            count = int(self._offsets[process + 1] - self._offsets[process])
            raise HostError(f"launch index of process {process}: got {index}; the list has {count} launches")
        return unit

    def action(self, unit: int) -> Literal["simulate", "skip"]:
        """Action of this pass for the unit: it is simulated unless the pass is done with it."""
        return "simulate" if self._wanted[unit] else "skip"

    def start(self, unit: int) -> None:
        """The host received the request to simulate the unit."""
        self.in_flight.add(unit)

    def forget_in_flight(self) -> None:
        """The process that simulated them is gone: units in flight are wanted again, failed ones get a fresh chance, those that
        ended it none.
        """
        self.in_flight.clear()
        self.attempts = {unit: MAX_ATTEMPTS for unit in self.fatal & self.attempts.keys()}

    def complete(self, unit: int) -> None:
        """A result came in for a unit in flight."""
        self._leave(unit, "completed")

    def abort(self, unit: int, reason: str | None = None) -> None:
        """A unit in flight could not be simulated."""
        self._leave(unit, "aborted")
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        if (reason or "").startswith(ENDED_SIMULATOR):
            self.fatal.add(unit)
            self.attempts[unit] = MAX_ATTEMPTS

    def next_after(self, process: int, index: int, in_flight: bool = False) -> int | None:
        """The first wanted launch of a process after `index`, as a launch index; `in_flight`: also one that is in flight."""
        base = int(self._offsets[process])
        position = int(np.searchsorted(self._queue, base + index, side="right"))
        while position < len(self._queue) and self._queue[position] < self._offsets[process + 1]:
            unit = int(self._queue[position])
            if self._wanted[unit] and (in_flight or unit not in self.in_flight):
                return unit - base
            position += 1
        return None

    def open_units(self) -> np.ndarray:
        """int64: units of this pass that are not done with and not in flight, ascending."""
        waiting = self._queue[self._wanted[self._queue]]
        return np.setdiff1d(waiting, np.fromiter(self.in_flight, dtype=np.int64, count=len(self.in_flight)))

    def place(self, unit: int) -> tuple[int, int]:
        """Process and launch index of a unit."""
        process = int(np.searchsorted(self._offsets, unit, side="right")) - 1
        return process, unit - int(self._offsets[process])

    def give_up(self, launches: Sequence[tuple[int, int]]) -> list[int]:
        """Forget launches that failed, each (process, launch index): the run goes on without them. Their units."""
        units = [self.unit(*launch) for launch in launches]
        for unit in units:
            self.attempts.pop(unit, None)
            self.open_count -= int(self._wanted[unit])
            self._wanted[unit] = False
        return units

    def lost(self) -> list[int]:
        """Units that failed as often as is allowed."""
        return sorted(unit for unit, count in self.attempts.items() if count >= MAX_ATTEMPTS)

    def _leave(self, unit: int, what: str) -> None:
        if unit not in self.in_flight:
            raise HostError(
                f"launch unit {unit} was {what} but is not in flight; each decision to simulate has one result"
            )
        self.in_flight.remove(unit)
        self._wanted[unit] = False
        self.open_count -= 1


class SampledLaunches(Orders):
    """See Orders for the methods.

    Args:
        setup: the fixed inputs of the run.

    Attributes:
        frame: the launches and their plan.
        sample: takes results.
        ledger: outcome of each launch of the pass.
        projections: stops launches inside.
        pass_index: of the pass.
        restarts: of a full run that was resumed, the units at which it went on.
        copies, copied_cycles: launches that took the result of an equal one, or of an earlier run.
    """

    def __init__(self, setup: Setup, frame: SamplingFrame, sample: Sample) -> None:
        self._setup, self.frame, self.sample = setup, frame, sample
        self.ledger = Ledger(frame.population.offsets)
        self.projections = Projections(setup.policy.projects(setup.config))
        self.pass_index = self.copies = 0
        self.copied_cycles = 0.0
        self._known: dict[int, dict[str, float]] = {}  # results by key, of a deterministic simulator
        self.restarts: list[int] = []
        self._restarting: set[int] = set()  # processes of a resumed full run that have not gone on yet

    def begin(self, pass_index: int, wanted: np.ndarray) -> None:
        """A pass begins that wants some units (sorted)."""
        self.pass_index = pass_index
        self.ledger.begin_pass(wanted)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to simulate."""
        self.ledger.unit(process, max(after, 0))
        executes = self._setup.host.executes  # its launches come in program order, also those that were decided ahead
        if after != END_OF_LIST and (found := self.ledger.next_after(process, after, executes)) is not None:
            return OK, found
        if (found := self.ledger.next_after(process, BEFORE_FIRST)) is not None:
            return OK, found
        return (PENDING if self.ledger.open_count else DONE), -1

    def pending_chains(self) -> list[Planned]:
        """Each launch of the pass that is open, a chain by itself."""
        units = np.array(
            [unit for unit in self.ledger.open_units().tolist() if self._copied(unit) is None], dtype=np.int64
        )
        costs = self.frame.expected_costs(units).tolist()
        return [
            Planned((Step(*self.ledger.place(unit), REPLAYED, self.projections.interval),), cost)
            for unit, cost in zip(units.tolist(), costs, strict=True)
        ]

    def first_chains(self) -> list[Planned]:
        """The chains of the first pass, before it begins: no validation launch changes them."""
        self.ledger.begin_pass(self.sample.wanted())
        return self.pending_chains()

    # ---- decisions --------------------------------------------------------------------------------------------------

    def decision(self, process: int, index: int, trace_path: str | None = None) -> DecisionRecord | None:
        """Simulate or skip, with the reason; None of a launch in flight."""
        unit = self.ledger.unit(process, index)
        if unit in self.ledger.in_flight:
            return None
        record = DecisionRecord(process, index, self.pass_index, self.ledger.action(unit))
        self.sample.explain(unit, record)
        return record

    def answer(self, process: int, index: int) -> Answer:
        """Simulate a launch in flight, skip any other."""
        unit = self.ledger.unit(process, index)
        if unit not in self.ledger.in_flight:
            return Answer(SKIP, self.pass_index)
        self.projections.follow(unit)
        return Answer(SIMULATE, self.pass_index, self.projections.interval, self._state(unit))

    def recall(self, record: DecisionRecord) -> None:
        """A launch to simulate is in flight from now on."""
        if record.action != "skip":
            unit = self.ledger.unit(record.process, record.launch)
            self.ledger.start(unit)
            if record.process in self._restarting:
                self._restarting.remove(record.process)
                self.restarts.append(unit)

    def _state(self, unit: int) -> int:
        """State (kp_state) that a launch begins with.

        A full run keeps the simulator's own state from launch to launch. Every other launch begins with replayed state,
        whatever else is simulated.
        """
        if not self._setup.host.restores_state:
            return KEPT
        if self._setup.is_full_run and self.pass_index == 0:
            return REPLAYED if unit in self.restarts else KEPT
        return REPLAYED

    # ---- outcomes ---------------------------------------------------------------------------------------------------

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """True if the policy projects the launch from here."""
        unit = self._in_flight(process, index)
        try:
            return self.projections.stops(unit, *point)
        except Exception:
            self.projections.forget(unit)  # it is simulated to its end
            raise

    def complete(self, process: int, index: int, result: HostResult) -> Outcome:
        """The result of a launch. One that the engine would refuse is refused before it is journalled."""
        unit, engine = self._in_flight(process, index), self.sample.engine
        if result.stopped and not self.projections.is_stopped(unit):
            raise HostError(f"launch {index} was stopped inside although the answer was to continue")
        result.check(index, engine.counters or self._setup.host.counters, self._setup.budget.counter)
        taken, projection = self.projections.result(unit, result.stopped, result.counters)
        engine.check(unit, tuple(taken), tuple(taken.values()))
        return ResultRecord(process, index, self.pass_index, taken, projection)

    def copy(self, process: int, index: int) -> ResultRecord | None:
        """The result of an earlier run, or of an equal launch of a deterministic simulator."""
        known = self._copied(self.ledger.unit(process, index))
        if known is None:
            return None
        return ResultRecord(process, index, self.pass_index, dict(known), copied=True)

    def _copied(self, unit: int) -> dict[str, float] | None:
        """Counters of an earlier run, else of an equal launch."""
        if self._setup.is_full_run:  # its launches begin with other state
            return None
        return self._setup.earlier.of_launch.get(self.ledger.place(unit)) or self._known.get(self._key(unit))

    def _key(self, unit: int) -> int:
        """Equal for launches of equal results; 0 where nothing is known of that."""
        described = self.frame.population.described
        return int(described.keys[unit]) if described is not None and described.is_deterministic else 0

    def abort(self, process: int, index: int, reason: str | None) -> Outcome:
        """The launch could not be simulated: once more in the next pass, then never."""
        self._in_flight(process, index)
        return AbortRecord(process, index, self.pass_index, reason)

    def _in_flight(self, process: int, index: int) -> int:
        """The unit of a launch in flight."""
        if (unit := self.ledger.unit(process, index)) not in self.ledger.in_flight:
            raise not_in_flight(process, index)
        return unit

    def take(self, outcome: Outcome) -> str:
        """Give a result to the sample, or note a failed attempt."""
        unit = self.ledger.unit(outcome.process, outcome.launch)
        if isinstance(outcome, AbortRecord):
            return self._take_abort(unit, outcome)
        self.ledger.complete(unit)
        if isinstance(outcome, ResultRecord):
            self._take_copy(unit, outcome)
            self.sample.take(unit, outcome.counters, outcome.projection is not None)
            self.projections.forget(unit)
            self.projections.take(outcome)
        return ""

    def _take_copy(self, unit: int, outcome: ResultRecord) -> None:
        """Count a copied result; keep another one for equal launches."""
        if outcome.copied:
            self.copies += 1
            self.copied_cycles += outcome.counters["cycles"]
        elif key := self._key(unit):
            self._known[key] = outcome.counters

    def _take_abort(self, unit: int, outcome: AbortRecord) -> str:
        self.projections.forget(unit)
        seen = unit in self.ledger.attempts
        self.ledger.abort(unit, outcome.reason)
        if seen or unit in self.frame.plan.broken:  # of these it was said before
            return ""
        why = outcome.reason or "no reason given"
        return f"launch {outcome.launch} of process {outcome.process} could not be simulated: {why}"

    def forget_in_flight(self) -> None:
        """Launches in flight are wanted again, failed ones get a fresh chance, and a full run restarts."""
        self.ledger.forget_in_flight()
        if self._setup.is_full_run:
            self._restarting = set(range(self._setup.host.process_count))
