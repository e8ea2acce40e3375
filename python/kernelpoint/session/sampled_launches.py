"""Sampled launches: the queue of a pass over launches that are known, decided by a frozen design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord
from kernelpoint.planning.frame import SamplingFrame
from kernelpoint.session.ledger import Ledger
from kernelpoint.session.projections import Projections
from kernelpoint.session.queue import (
    BEFORE_FIRST,
    DONE,
    END_OF_LIST,
    OK,
    PENDING,
    SIMULATE,
    SKIP,
    Answer,
    HostResult,
    Outcome,
    Queue,
    not_in_flight,
)
from kernelpoint.session.replays import KEPT, REPLAYED
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.worker_protocol import Planned, Step


class SampledLaunches(Queue):
    """See Queue for the methods.

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
        """See Queue; the launch is one to simulate."""
        self.ledger.unit(process, max(after, 0))
        executes = self._setup.host.executes  # its launches come in program order, also those that were decided ahead
        if after != END_OF_LIST and (found := self.ledger.next_after(process, after, executes)) is not None:
            return OK, found
        if (found := self.ledger.next_after(process, BEFORE_FIRST)) is not None:
            return OK, found
        return (PENDING if self.ledger.open_count else DONE), -1

    def pending_chains(self) -> list[Planned]:
        """See Queue: each launch by itself."""
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
        """See Queue."""
        unit = self.ledger.unit(process, index)
        if unit in self.ledger.in_flight:
            return None
        record = DecisionRecord(process, index, self.pass_index, self.ledger.action(unit))
        self.sample.explain(unit, record)
        return record

    def answer(self, process: int, index: int) -> Answer:
        """See Queue."""
        unit = self.ledger.unit(process, index)
        if unit not in self.ledger.in_flight:
            return Answer(SKIP, self.pass_index)
        self.projections.follow(unit)
        return Answer(SIMULATE, self.pass_index, self.projections.interval, self._state(unit))

    def recall(self, record: DecisionRecord) -> None:
        """See Queue."""
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
        """See Queue."""
        unit = self._in_flight(process, index)
        try:
            return self.projections.stops(unit, *point)
        except Exception:
            self.projections.forget(unit)  # it is simulated to its end
            raise

    def complete(self, process: int, index: int, result: HostResult) -> Outcome:
        """See Queue. Results that the engine would refuse are refused before they are journalled."""
        unit, engine = self._in_flight(process, index), self.sample.engine
        if result.stopped and not self.projections.is_stopped(unit):
            raise HostError(f"launch {index} was stopped inside although the answer was to continue")
        result.check(index, engine.counters or self._setup.host.counters, self._setup.budget.counter)
        taken, projection = self.projections.result(unit, result.stopped, result.counters)
        engine.check(unit, tuple(taken), tuple(taken.values()))
        return ResultRecord(process, index, self.pass_index, taken, projection)

    def copy(self, process: int, index: int) -> ResultRecord | None:
        """See Queue."""
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
        """See Queue: once more in the next pass, then never."""
        self._in_flight(process, index)
        return AbortRecord(process, index, self.pass_index, reason)

    def _in_flight(self, process: int, index: int) -> int:
        """The unit of a launch in flight."""
        if (unit := self.ledger.unit(process, index)) not in self.ledger.in_flight:
            raise not_in_flight(process, index)
        return unit

    def take(self, outcome: Outcome) -> str:
        """See Queue."""
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
        """See Queue: they are wanted again, failed ones get a fresh chance, and a full run restarts."""
        self.ledger.forget_in_flight()
        if self._setup.is_full_run:
            self._restarting = set(range(self._setup.host.process_count))
