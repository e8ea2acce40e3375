"""The interface of a phase, and what its answers to a host are made of (see kernelpoint/abi.h)."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kernelpoint.journal import Record
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.replays import ReplayCheck
from kernelpoint.session.work import Planned

if TYPE_CHECKING:
    from kernelpoint.session.phases.sample import Sample
    from kernelpoint.session.phases.sampling import Sampling

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP = 0, 1
BEFORE_FIRST, END_OF_LIST = -1, -2


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


class Phase(Protocol):
    """A part of a run. It decides launches, takes their results, and gives the records of both to the session's Recorder.

    Decisions, results and aborts change the state in `apply` alone, in the process that wrote the record as in one that
    replays it.
    """

    def begin(self) -> None:
        """Start, as the first thing of the phase."""

    def resume(self) -> None:
        """Go on after the last record was replayed: launches in flight are lost, failed ones get a fresh chance."""

    def apply(self, record: Record) -> None:
        """Do what a record says was done; records that say nothing of the state are passed over."""

    def decide(self, process: int, index: int, trace_path: str | None) -> Answer:
        """Decide a launch; asked twice, the same answer."""

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to ask about behind `after`: (OK, launch index), (PENDING, -1), or (DONE, -1) at the end of the
        phase.
        """

    def ahead(self) -> list[Planned]:
        """Launches that `next` will name, as far as they are known, in its order: what can be simulated beforehand."""

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """True if a launch in flight is to be stopped, given (cycles, instructions, issued, completed, total CTAs)."""

    def complete(self, process: int, index: int, result: HostResult) -> None:
        """Take the result of a launch in flight."""

    def abort(self, process: int, index: int, reason: str | None) -> None:
        """A launch in flight could not be simulated."""

    def name(self, process: int, index: int) -> str | None:
        """The kernel name of a launch, where its trace was read."""

    def sampling(self) -> Sampling:
        """The phase that states the run's estimates: this one, or the one that takes its results over."""

    def following(self) -> Phase:
        """The phase that goes on where `next` says DONE: another one, or this one where the run is at its end."""


class MeasuresReplay(Phase, Protocol):
    """The phase that simulates run-ups: before the sample, and again where the sample shows that more are needed."""

    def outcome(self, sample: Sample) -> ReplayCheck:
        """The error of the sample's results, as far as run-ups tell."""

    def extend(self, sample: Sample, pass_index: int) -> bool:
        """True if further run-ups are to be simulated before the sample is looked at; asked at the end of each pass."""


def describe(error: Exception) -> str:
    """One line for the journal: type, message and where it happened.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     print(describe(error))
    ZeroDivisionError: division by zero (<module>, line 2)
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
