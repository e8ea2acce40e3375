"""Orders, the launches that a run waits for, and outcomes, the answers of a simulator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import DecisionRecord, Outcome
from kernelpoint.program import Program
from kernelpoint.ratios import check_counter, check_names
from kernelpoint.repeated import Texts
from kernelpoint.workload.host_info import counters_by_name

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP, EXECUTE = 0, 1, 2
KEPT, REPLAYED = 0, 1  # state that a launch begins with
BEFORE_FIRST, END_OF_LIST = -1, -2

# Begin of the reason of an abort after which the simulator's process ended: another attempt would end the next one.
ENDED_SIMULATOR = "the simulator ended in it"

FARTHEST = 1 << 20  # launches that an online run may name ahead of all others; every launch before them takes memory


class Order(NamedTuple):
    """Order to simulate one launch: its process and index, the initial cache state, and the interval in cycles at which the
    simulator reports progress (0: never).
    """

    process: int
    launch: int
    state: int
    interval: int = 0


# Consecutive launches that one worker simulates, one after the other in one simulator; the first begins with replayed state.
Chain = tuple[Order, ...]


class Planned(NamedTuple):
    """Chain of launches that will be ordered, with its expected cost in any unit."""

    chain: Chain
    cost: float


class Answer(NamedTuple):
    """Decision on a launch, as sent to the simulator.

    Attributes:
        action: code for simulate or skip.
        pass_index: index of the pass (round of sampling).
        interval: cycles between progress reports; 0: none.
        state: code of the cache state in which the launch begins.
        uncounted: 1 if the result is not part of the sample.
        skips_latency: 1 if the constant cost of a launch in cycles is added to the result and not simulated.

    >>> Answer(SIMULATE, pass_index=1, interval=200)
    Answer(action=0, pass_index=1, interval=200, state=0, uncounted=0, skips_latency=0)
    """

    action: int
    pass_index: int
    interval: int = 0
    state: int = 0
    uncounted: int = 0
    skips_latency: int = 0


def check_counters(launch: int, counters: dict[str, float], expected: Sequence[str] | None, wanted: str) -> None:
    """Raise an error for counters of a launch's result that are negative or not finite, or have other names than expected.

    Args:
        launch: index of the launch, for the message.
        counters: values by name.
        expected: names that every result must have, in this order; None: not known yet.
        wanted: counter, or ratio of two counters, that the results must contain.

    Raises:
        HostError: names the launch, the values received, and what is allowed.

    >>> check_counters(0, {"cycles": -1.0}, None, "cycles")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.HostError: counters of launch 0: got (-1.0,); allowed: finite numbers from 0
    """
    names = tuple(counters)
    if not expected:
        check_names(names)
        check_counter(wanted, names)
    elif names != tuple(expected):
        raise HostError(f"counters of launch {launch}: got {names}; allowed: {tuple(expected)}")
    if not all(math.isfinite(value) and value >= 0 for value in counters.values()):
        raise HostError(f"counters of launch {launch}: got {tuple(counters.values())}; allowed: finite numbers from 0")


class OutcomeCalls:
    """Functions of the C interface (kernelpoint/abi.h) by which a simulator reports that a launch ended or failed."""

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
        """Accept the result of a launch that the simulator was told to simulate; the arguments are the fields of
        `kp_result`.
        """
        counters = counters_by_name(index, cycles, instructions, names, values)
        self.on_outcome(Outcome(process, index, counters=counters, stopped=stopped))

    def on_abort(self, process: int, index: int, reason: str | None = None) -> None:
        """Accept the failure of a launch that the simulator was told to simulate. The launch is tried once more in the next
        pass.
        """
        self.on_outcome(Outcome(process, index, reason=reason))

    def on_outcome(self, outcome: Outcome) -> None:
        """Accept the result or the failure of a launch that the simulator was told to simulate."""
        raise NotImplementedError


class Orders:
    """Launches that a run waits for. They are requested in program order, and each gets one result.

    A `unit` is the index of a launch among the launches of all processes. `decision`, `record` and `copy` make journal records,
    or refuse what is impossible, and change no state. `start` and `apply` change the state from a record, so a run resumed from
    its journal reaches the same state. No method writes to the journal.

    Args:
        offsets: int64 [processes + 1], index of the first launch of each process among all launches.
        executes: True if the simulator reports every launch in program order, whether or not it is simulated.

    Attributes:
        in_flight: units of the launches that the simulator is simulating now.
        open_count: number of launches without a result.

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
        """Replace the launches to wait for by `units`, which ascend. No earlier launch may be in simulation."""
        self._is_open[self._queue] = False
        self._queue = np.array(units, dtype=np.int64)
        self._is_open[self._queue] = True
        self.open_count = len(self._queue)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """Status and index of the next launch to decide on after index `after`. `OnlinePass` skips it, other orders simulate
        it.

        Returns:
            (OK, index); (PENDING, -1) if the remaining launches are being simulated; (DONE, -1) if every launch has its result.
        """
        self.unit(process, max(after, 0))
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
        """int64, ascending: units of the launches without a result."""
        return self._queue[self._is_open[self._queue]]

    def unit(self, process: int, index: int) -> int:
        """Unit of a launch, from its process and its index in the process's list.

        Raises:
            HostError: the list has no such launch.
        """
        if not 0 <= process < len(self._offsets) - 1:
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._offsets) - 2}")
        first, end = int(self._offsets[process]), int(self._offsets[process + 1])
        if not 0 <= index < end - first:
            raise HostError(f"launch index of process {process}: got {index}; the list has {end - first} launches")
        return first + index

    def place(self, unit: int) -> tuple[int, int]:
        """Process of a launch, and its index in the process's list."""
        process = int(np.searchsorted(self._offsets, unit, side="right")) - 1
        return process, unit - int(self._offsets[process])

    # ---- one launch -------------------------------------------------------------------------------------------------

    def decision(self, unit: int, trace_path: str | None = None) -> DecisionRecord | None:
        """Journal record of the decision to simulate or skip a launch; None if the decision was made before, or needs no
        record.
        """
        return None

    def start(self, decision: DecisionRecord) -> None:
        """Mark a launch as being simulated, unless the decision is to skip it."""
        unit = self.unit(decision.process, decision.launch)
        if decision.action != "skip":
            self.in_flight.add(unit)

    def answer(self, unit: int) -> Answer:
        """Answer to the simulator about a launch: simulate it if it is in flight, else skip it. The simulator may ask again."""
        if unit not in self.in_flight:
            return Answer(SKIP, self.pass_index)
        order = self.order(unit)
        return Answer(SIMULATE, self.pass_index, order.interval, order.state)

    def order(self, unit: int) -> Order:
        """Order to simulate a launch, with the cache state in which it begins."""
        raise NotImplementedError

    def stops(self, unit: int, point: Sequence[int]) -> bool:
        """True if a launch being simulated is to be stopped before its end.

        Args:
            point: progress of the launch: cycles, instructions, CTAs issued, CTAs completed, CTAs in its grid.
        """
        self.require_in_flight(unit)
        return False

    def record(self, unit: int, outcome: Outcome) -> Outcome:
        """Journal record of the result, or of the failure, of a launch that was simulated.

        Raises:
            HostError: the launch is not being simulated, or a counter has a value or a name that is not allowed.
        """
        self.require_in_flight(unit)
        if not outcome.counters:
            return Outcome(*self.place(unit), self.pass_index, reason=outcome.reason)
        return self.result(unit, outcome.counters, outcome.stopped)

    def result(self, unit: int, counters: dict[str, float], stopped: bool) -> Outcome:
        """Journal record of the result of a launch in flight, after a check of its counters."""
        raise NotImplementedError

    def copy(self, unit: int) -> Outcome | None:
        """Journal record of a result that is taken from an equal launch or from an earlier run; None if there is no such
        result.
        """
        return None

    def apply(self, record: Outcome) -> str:
        """Add the result or the failure of a launch. Returns a message about a failure, else empty text."""
        raise not_in_flight(record.process, record.launch)

    def take_results(self, counters: Sequence[str], results: np.ndarray) -> None:
        """Set the results of all launches that the run waits for from a table.

        Args:
            counters: names of the columns.
            results: float64 [N, counters], one row for each launch of the run.
        """
        raise NotImplementedError

    def forget_in_flight(self) -> None:
        """Mark the launches that were being simulated as waiting again, because their simulator process has ended."""
        self.in_flight.clear()

    def planned(self) -> list[Planned]:
        """Launches without a result, in the order in which they will be requested, for workers that simulate them ahead."""
        return []

    def require_in_flight(self, unit: int) -> None:
        """Raise HostError for a launch that is not in flight."""
        if unit not in self.in_flight:
            raise not_in_flight(*self.place(unit))

    def close(self, unit: int) -> None:
        """Remove a launch from those that the run waits for."""
        self.in_flight.discard(unit)
        self.open_count -= int(self._is_open[unit])
        self._is_open[unit] = False


class OnlinePass(Orders):
    """First pass of an online run, whose launches are not known before: the simulator reports every launch, and none is
    simulated.

    At its end every launch is known, so the plan is made as if the list had been there from the start.

    Args:
        counts: number of launches of each process; 0 if the simulator does not know it.
    """

    def __init__(self, counts: Sequence[int]) -> None:
        super().__init__(np.zeros(1, dtype=np.int64))
        self._counts = counts
        self._paths: list[dict[int, str]] = [{} for _ in counts]  # of each process, by launch index
        self._reach = [0] * len(counts)  # one more than the highest index
        self._ended: set[int] = set()

    def next(self, process: int, after: int) -> tuple[int, int]:
        self.unit(process, max(after, 0))
        count, index = self._counts[process], self._first_unseen(process, after + 1)
        if after != END_OF_LIST and (not count or index < count):
            return OK, index
        if (index := self._first_unseen(process, 0)) < (count or self._reach[process]):
            return OK, index
        self._ended.add(process)
        return (DONE if len(self._ended) == len(self._counts) else PENDING), -1

    def _first_unseen(self, process: int, index: int) -> int:
        """First launch, from a position on, that the simulator has not asked about."""
        while index in self._paths[process]:
            index += 1
        return index

    def unit(self, process: int, index: int) -> int:
        """Number of a launch, which orders the launches of all processes by their indices: how many there are is not known."""
        if not 0 <= process < len(self._counts):
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._counts) - 1}")
        count, reach = self._counts[process], self._reach[process]
        if index < 0 or (count and index >= count):
            raise HostError(f"launch index of process {process}: got {index}; the list has {count or 'at least 0'} launches")
        if index >= reach + FARTHEST:
            raise HostError(
                f"launch index of process {process}: got {index:,}; launches are numbered from 0 in program order, and "
                f"{reach:,} have come so far; allowed: below {reach + FARTHEST:,}"
            )
        return index * len(self._counts) + process

    def place(self, unit: int) -> tuple[int, int]:
        return unit % len(self._counts), unit // len(self._counts)

    def decision(self, unit: int, trace_path: str | None = None) -> DecisionRecord | None:
        """Decision to skip the launch; it records the path of the launch's trace."""
        process, index = self.place(unit)
        return None if index in self._paths[process] else DecisionRecord(process, index, 0, "skip", trace=trace_path or "")

    def start(self, decision: DecisionRecord) -> None:
        """Add a launch to the list of launches."""
        self.unit(decision.process, decision.launch)
        self._paths[decision.process][decision.launch] = decision.trace or ""
        self._reach[decision.process] = max(self._reach[decision.process], decision.launch + 1)

    def program(self, seed: int) -> Program:
        """Launches reported so far, as a program. A launch that the simulator never reported has no trace."""
        counts = tuple(count or reach for count, reach in zip(self._counts, self._reach, strict=True))
        paths = (self._paths[process].get(i, "") for process, count in enumerate(counts) for i in range(count))
        return Program(counts=counts, seed=seed, traces=Texts.of(list(paths)))


def not_in_flight(process: int, index: int) -> HostError:
    """Error for a result of a launch that the simulator was not told to simulate."""
    return HostError(f"launch {index} of process {process} is not in flight: each launch is counted once")
