"""Orders out, outcomes in: the contract between the loop and launches that it waits for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord, ValidationRecord
from kernelpoint.ratios import ACTIVE_CYCLES, check_counter, check_names
from kernelpoint.session.worker_protocol import Planned

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP, EXECUTE = 0, 1, 2
BEFORE_FIRST, END_OF_LIST = -1, -2

# Begin of the reason of an abort after which the simulator's process ended: another attempt would end the next one.
ENDED_SIMULATOR = "the simulator ended in it"

# Outcome of a launch: a record of the journal.
Outcome = ResultRecord | ValidationRecord | AbortRecord


class Answer(NamedTuple):
    """A decision for the host: action, pass, cycles between its progress calls (0: none wanted), the state that the launch
    begins with (kp_state), 1 where its result is no part of the sample, and how its constant latency is counted (kp_latency).

    >>> Answer(SIMULATE, pass_index=1, interval=200)
    Answer(action=0, pass_index=1, interval=200, state=0, uncounted=0, latency=0)
    """

    action: int
    pass_index: int
    interval: int = 0
    state: int = 0
    uncounted: int = 0
    latency: int = 0


class HostResult(NamedTuple):
    """One launch simulated; see kp_result in kernelpoint/abi.h.

    Attributes:
        stopped: inside.
        names, values: of the host's further counters.

    >>> HostResult(False, 900, 50, ("reads",), (3.0,)).counters
    {'cycles': 900.0, 'instructions': 50.0, 'reads': 3.0}
    """

    stopped: bool
    cycles: int
    instructions: int
    names: tuple[str, ...] = ()
    values: tuple[float, ...] = ()

    @property
    def amounts(self) -> tuple[tuple[str, float], ...]:
        """Name and value of every counter, cycles and instructions first."""
        own = (("cycles", float(self.cycles)), ("instructions", float(self.instructions)))
        return (*own, *zip(self.names, self.values, strict=True))

    def with_active_cycles(self, latency: int) -> HostResult:
        """Add the counter `active_cycles`, cycles without the constant launch latency, if the simulator has one.

        >>> HostResult(False, 5900, 50).with_active_cycles(5000).counters
        {'cycles': 5900.0, 'instructions': 50.0, 'active_cycles': 900.0}
        """
        if not latency:
            return self
        active = float(max(self.cycles - latency, 0))
        return self._replace(names=(*self.names, ACTIVE_CYCLES), values=(*self.values, active))

    @property
    def counters(self) -> dict[str, float]:
        """The same by name, of a result that was checked."""
        return dict(self.amounts)

    def check(self, index: int, known: Sequence[str] | None, wanted: str) -> None:
        """Refuse counters that are named twice, differ from the `known` ones (of earlier results, or of the host's
        description), lack a part of the `wanted` one, or are no amounts.

        Args:
            index: of the launch, for the message.

        Raises:
            HostError: names the counter and the allowed ones.

        >>> HostResult(False, 900, 50, ("cycles",), (2.0,)).check(0, (), "cycles")
        Traceback (most recent call last):
        ...
        kernelpoint.errors.HostError: counters of launch 0: got ('cycles', 'instructions', 'cycles'); allowed: each name once
        """
        names, values = zip(*self.amounts, strict=True)
        if len(set(names)) != len(names):
            raise HostError(f"counters of launch {index}: got {names}; allowed: each name once")
        if not known:
            check_names(self.names)
        if known and names != tuple(known):
            raise HostError(f"counters of launch {index}: got {names}; allowed: {tuple(known)}")
        check_counter(wanted, names)
        if not all(math.isfinite(v) and v >= 0 for v in values):
            raise HostError(f"counters of launch {index}: got {values}; allowed: finite numbers from 0")


class Orders:
    """Launches that the run waits for. As it stands here nothing of them is ever simulated.

    Orders write nothing. `decision`, `complete`, `copy` and `abort` give a record, refuse what is impossible, and change
    nothing: the session writes the record to the journal first. `recall` then does what a decision says, and `take` what an
    outcome says, in the process that wrote the record as in one that goes on with the journal.
    """

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to ask about after `after`: (OK, launch index); (PENDING, -1) while others are in flight; (DONE, -1)
        where every launch has its outcome.
        """
        raise NotImplementedError

    def decision(self, process: int, index: int, trace_path: str | None) -> DecisionRecord | None:
        """The decision on a launch; None where it is made already, or needs no record."""
        return None

    def recall(self, record: DecisionRecord) -> None:
        """Take a decision."""

    def answer(self, process: int, index: int) -> Answer:
        """The answer to a simulator that asks about a launch that is decided; asked twice, the same."""
        raise NotImplementedError

    def pending_chains(self) -> list[Planned]:
        """Launches that `next` will name, as far as they are known, in its order: they can be simulated beforehand."""
        return []

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """True if a launch in flight is to be stopped, given (cycles, instructions, issued, completed, total CTAs)."""
        raise not_in_flight(process, index)

    def complete(self, process: int, index: int, result: HostResult) -> Outcome:
        """Outcome of a launch in flight that was simulated."""
        raise not_in_flight(process, index)

    def copy(self, process: int, index: int) -> Outcome | None:
        """Outcome of the next launch without simulating it: that of an equal one, or of an earlier run; None: simulate it."""
        return None

    def abort(self, process: int, index: int, reason: str | None) -> Outcome:
        """Outcome of a launch in flight that could not be simulated."""
        raise not_in_flight(process, index)

    def take(self, outcome: Outcome) -> str:
        """Take the outcome of a launch; a failure to be stated, or empty."""
        raise not_in_flight(outcome.process, outcome.launch)

    def forget_in_flight(self) -> None:
        """The process that simulated the launches in flight is gone."""


def not_in_flight(process: int, index: int) -> HostError:
    """The error of an outcome that nobody asked for."""
    return HostError(f"launch {index} of process {process} is not in flight: each launch is counted once")
