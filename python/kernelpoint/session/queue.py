"""Interface of a queue of launches that the run waits for, and of its answers to a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kernelpoint.journal import AbortRecord, DecisionRecord, ResultRecord, ValidationRecord
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.worker_protocol import Planned

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP, EXECUTE = 0, 1, 2
BEFORE_FIRST, END_OF_LIST = -1, -2

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


class Queue(Protocol):
    """Launches that the run waits for.

    `complete` and `abort` refuse impossible outcomes, and change nothing: their record is written to the journal
    first. `take` does what it says, and so does `recall` with a decision, in the process that wrote the record as in
    one that
    goes on with the journal.
    """

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to ask about after `after`: (OK, launch index); (PENDING, -1) while others are in flight; (DONE, -1)
        where every launch has its outcome.
        """

    def pending_chains(self) -> list[Planned]:
        """Launches that `next` will name, as far as they are known, in its order: they can be simulated beforehand."""

    def decide(self, process: int, index: int, trace_path: str | None) -> Answer:
        """Decide a launch; asked twice, the same answer."""

    def recall(self, record: DecisionRecord) -> None:
        """Take a decision of the journal."""

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """True if a launch in flight is to be stopped, given (cycles, instructions, issued, completed, total CTAs)."""

    def complete(self, process: int, index: int, result: HostResult) -> Outcome:
        """Outcome of a launch in flight that was simulated."""

    def copy(self, process: int, index: int) -> Outcome | None:
        """Outcome of the next launch without simulating it: that of an equal one, or of an earlier run; None: simulate it."""

    def abort(self, process: int, index: int, reason: str | None) -> Outcome:
        """Outcome of a launch in flight that could not be simulated."""

    def take(self, outcome: Outcome) -> None:
        """Take the outcome of a launch."""

    def forget_in_flight(self) -> None:
        """The process that simulated the launches in flight is gone."""
