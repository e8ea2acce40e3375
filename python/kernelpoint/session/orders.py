"""Orders, the launches that a run waits for, and outcomes, the answers of a simulator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord, ValidationRecord
from kernelpoint.ratios import check_counter, check_names

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP, EXECUTE = 0, 1, 2
KEPT, REPLAYED = 0, 1  # state that a launch begins with
BEFORE_FIRST, END_OF_LIST = -1, -2

# Begin of the reason of an abort after which the simulator's process ended: another attempt would end the next one.
ENDED_SIMULATOR = "the simulator ended in it"


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of the program: its process, its index there, and its number among all launches.

    >>> Launch(process=1, index=3, unit=203).place
    (1, 3)
    """

    process: int
    index: int
    unit: int

    @property
    def place(self) -> tuple[int, int]:
        """Process and index of the launch."""
        return self.process, self.index


class Order(NamedTuple):
    """Order to simulate one launch: its initial state, and the cycles between its progress calls (0: none)."""

    process: int
    launch: int
    state: int
    interval: int = 0


Chain = tuple[Order, ...]  # simulated one after the other in one simulator; the first begins with replayed state


class Planned(NamedTuple):
    """Chain of launches that a run will order, and its expected cost in any unit.

    >>> alone = Planned((Order(process=0, launch=3, state=1),), cost=900.0)
    >>> [order.launch for order in alone.chain]
    [3]
    """

    chain: Chain
    cost: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of an ordered launch, or the reason of its failure.

    Attributes:
        counters: values by name, cycles and instructions first; empty if the launch could not be simulated.
        reason: reason for the failure, if known.
        stopped: the launch was stopped before its end; points: its progress calls then.
        seconds: wall time; processor_seconds: of the simulator in another process, state restored before not included.
    """

    counters: dict[str, float] = field(default_factory=dict)
    reason: str | None = None
    stopped: bool = False
    points: tuple[tuple[int, ...], ...] = ()
    seconds: float = 0.0
    processor_seconds: float | None = None


def counters_of(
    launch: int, cycles: float, instructions: float, names: Sequence[str] = (), values: Sequence[float] = ()
) -> dict[str, float]:
    """Counters of a launch by name, from the fields of kp_result.

    Raises:
        HostError: a name stands twice.

    >>> counters_of(0, 900, 50, ("reads",), (3.0,))
    {'cycles': 900.0, 'instructions': 50.0, 'reads': 3.0}
    """
    given = ("cycles", "instructions", *names)
    counters = dict(zip(given, map(float, (cycles, instructions, *values)), strict=True))
    if len(counters) != len(given):
        raise HostError(f"counters of launch {launch}: got {given}; allowed: each name once")
    return counters


def check_counters(launch: int, counters: dict[str, float], expected: Sequence[str] | None, wanted: str) -> None:
    """Raise an error for counters of a result that are refused.

    Their names must equal the `expected` ones and contain those of `wanted`, a counter or a ratio. Values must be finite, and
    not negative.

    Raises:
        HostError: names the launch, what came, and what is allowed.

    >>> check_counters(0, {"cycles": -1.0}, None, "cycles")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.HostError: counters of launch 0: got (-1.0,); allowed: finite numbers from 0
    """
    names, values = tuple(counters), tuple(counters.values())
    if not expected:
        check_names(names)
        check_counter(wanted, names)
    elif names != tuple(expected):
        raise HostError(f"counters of launch {launch}: got {names}; allowed: {tuple(expected)}")
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise HostError(f"counters of launch {launch}: got {values}; allowed: finite numbers from 0")


class Answer(NamedTuple):
    """Decision for the simulator: action, pass, cycles between progress calls (0: none), initial state of the launch, 1 if its
    result is not part of the sample, 1 if its constant latency is counted and not simulated.

    >>> Answer(SIMULATE, pass_index=1, interval=200)
    Answer(action=0, pass_index=1, interval=200, state=0, uncounted=0, latency_counted=0)
    """

    action: int
    pass_index: int
    interval: int = 0
    state: int = 0
    uncounted: int = 0
    latency_counted: int = 0


OutcomeRecord = ResultRecord | ValidationRecord | AbortRecord


class Calls:
    """Functions of kernelpoint/abi.h that end a launch: each hands over one outcome."""

    def on_complete(
        self,
        process: int,
        index: int,
        stopped: bool,
        cycles: float,
        instructions: float,
        names: Sequence[str] = (),
        values: Sequence[float] = (),
    ) -> None:
        """Accept the result of a launch in flight, given as the fields of kp_result."""
        counters = counters_of(index, cycles, instructions, names, values)
        self.on_outcome(process, index, Outcome(counters, stopped=stopped))

    def on_abort(self, process: int, index: int, reason: str | None = None) -> None:
        """Accept the failure of a launch in flight: it is ordered once more in the next pass, then never."""
        self.on_outcome(process, index, Outcome(reason=reason))

    def on_outcome(self, process: int, index: int, outcome: Outcome) -> None:
        """Take the outcome of a launch in flight."""
        raise NotImplementedError


class Orders:
    """Launches that a run waits for. They are ordered in program order; each is in flight once and gets one result.

    Orders write nothing. `decision`, `record` and `copy` give a record for the journal, refuse what is impossible, and change
    nothing. `start` then does what a decision says, and `apply` what an outcome says, in the process that wrote the record as
    in one that goes on with the journal.

    Args:
        offsets: int64 [processes + 1], first unit of each process.
        executes: the simulator comes to all launches in program order, also to those that are in flight.

    Attributes:
        in_flight: units that the simulator was asked for and has not answered; open_count: units without an outcome.

    >>> orders = Orders(np.array([0, 5]))
    >>> orders.begin([1, 4])
    >>> orders.next(0, after=1), orders.next(0, after=4), orders.open_count
    ((0, 4), (0, 1), 2)
    """

    pass_index = 0

    def __init__(self, offsets: np.ndarray, executes: bool = False) -> None:
        self._offsets, self._executes = offsets, executes
        self._is_open = np.zeros(int(offsets[-1]), dtype=bool)
        self._queue = np.empty(0, dtype=np.int64)
        self.open_count = 0
        self.in_flight: set[int] = set()

    # ---- the walk ---------------------------------------------------------------------------------------------------

    def begin(self, units: Iterable[int]) -> None:
        """Order these launches (ascending) instead of the earlier ones, none of which may be in flight."""
        self._is_open[self._queue] = False
        self._queue = np.array(units, dtype=np.int64)
        self._is_open[self._queue] = True
        self.open_count = len(self._queue)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """Next launch after `after`: (OK, launch index); (PENDING, -1) while others are in flight; (DONE, -1) if every launch
        has its result.
        """
        self.launch(process, max(after, 0))
        if after != END_OF_LIST and (index := self._first_after(process, after, self._executes)) is not None:
            return OK, index
        if (index := self._first_after(process, BEFORE_FIRST)) is not None:
            return OK, index
        return (PENDING if self.open_count else DONE), -1

    def _first_after(self, process: int, index: int, also_in_flight: bool = False) -> int | None:
        """First launch of a process, after a given one, that still waits."""
        base, end = int(self._offsets[process]), int(self._offsets[process + 1])
        for position in range(int(np.searchsorted(self._queue, base + index, side="right")), len(self._queue)):
            unit = int(self._queue[position])
            if unit >= end:
                return None
            if self._is_open[unit] and (also_in_flight or unit not in self.in_flight):
                return unit - base
        return None

    def open(self) -> np.ndarray:
        """int64, ascending: ordered launches without an outcome."""
        return self._queue[self._is_open[self._queue]]

    def launch(self, process: int, index: int) -> Launch:
        """Look up a launch by process and index; raises HostError if the list has no such launch."""
        if not 0 <= process < len(self._offsets) - 1:
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._offsets) - 2}")
        first, end = int(self._offsets[process]), int(self._offsets[process + 1])
        if not 0 <= index < end - first:
            raise HostError(f"launch index of process {process}: got {index}; the list has {end - first} launches")
        return Launch(process, index, first + index)

    def launch_of(self, unit: int) -> Launch:
        """Look up a launch by its number in the run."""
        process = int(np.searchsorted(self._offsets, unit, side="right")) - 1
        return Launch(process, unit - int(self._offsets[process]), unit)

    # ---- one launch -------------------------------------------------------------------------------------------------

    def decision(self, launch: Launch, trace_path: str | None = None) -> DecisionRecord | None:
        """Decision on a launch; None if it is already made or needs no record."""
        return None

    def start(self, launch: Launch, decision: DecisionRecord) -> None:
        """Mark a launch as in flight, unless the decision is to skip it."""
        if decision.action != "skip":
            self.in_flight.add(launch.unit)

    def answer(self, launch: Launch) -> Answer:
        """Answer for the simulator: simulate a launch in flight, skip any other. The answer can be asked for again."""
        if launch.unit not in self.in_flight:
            return Answer(SKIP, self.pass_index)
        order = self.order(launch)
        return Answer(SIMULATE, self.pass_index, order.interval, order.state)

    def order(self, launch: Launch) -> Order:
        """Order for a launch that waits: the launch and its initial state."""
        return Order(launch.process, launch.index, REPLAYED)

    def stops(self, launch: Launch, point: Sequence[int]) -> bool:
        """True if a launch in flight is to be stopped, given (cycles, instructions, issued, completed, total CTAs)."""
        self._require_in_flight(launch)
        return False

    def record(self, launch: Launch, outcome: Outcome) -> OutcomeRecord:
        """Journal record of the result, or the failure, of a launch in flight."""
        self._require_in_flight(launch)
        return self.result(launch, outcome) if outcome.counters else AbortRecord(*launch.place, self.pass_index, outcome.reason)

    def result(self, launch: Launch, outcome: Outcome) -> OutcomeRecord:
        """Journal record of a result. Raises HostError for counters that are not allowed."""
        raise NotImplementedError

    def copy(self, launch: Launch) -> OutcomeRecord | None:
        """Journal record of a result that needs no simulation, from an equal launch or an earlier run; else None."""
        return None

    def apply(self, launch: Launch, record: OutcomeRecord) -> str:
        """Add the outcome of a launch. Returns a message on its failure, or empty text."""
        raise not_in_flight(*launch.place)

    def take_results(self, counters: Sequence[str], results: np.ndarray) -> None:
        """Take the outcomes of all launches that are still to be simulated from a table, float64 [N, counters]."""
        raise NotImplementedError

    def forget_in_flight(self) -> None:
        """Mark all launches in flight as waiting again, because the process that simulated them has ended."""
        self.in_flight.clear()

    def planned(self) -> list[Planned]:
        """Launches without an outcome, in the order of `next`, so that workers can simulate them ahead."""
        return []

    def _require_in_flight(self, launch: Launch) -> None:
        """Raise HostError for a launch that is not in flight."""
        if launch.unit not in self.in_flight:
            raise not_in_flight(launch.process, launch.index)

    def close(self, unit: int) -> None:
        """Remove a launch from those that the run waits for."""
        self.in_flight.discard(unit)
        self.open_count -= int(self._is_open[unit])
        self._is_open[unit] = False


def not_in_flight(process: int, index: int) -> HostError:
    """Error for a result of a launch that was not ordered."""
    return HostError(f"launch {index} of process {process} is not in flight: each launch is counted once")
