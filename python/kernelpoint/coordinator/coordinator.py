"""Coordinator of a run: drives a session; workers simulate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from kernelpoint.errors import HostError
from kernelpoint.session.queue import BEFORE_FIRST, DONE, PENDING, SIMULATE, Answer
from kernelpoint.session.session import Session
from kernelpoint.session.worker_protocol import Outcome, Planned, Step


class Simulates(Protocol):
    """Whatever simulates the launches of a run: Simulations on other machines, InProcess here."""

    def expect(self, planned: Iterable[Planned]) -> None:
        """Launches that will be asked for."""

    def knows(self, launch: int) -> bool:
        """True if a launch is expected, or need not be."""

    def path(self, launch: int) -> str | None:
        """Trace of a launch, if the session may need to read it."""

    def outcome(self, step: Step) -> Outcome:
        """Outcome of a launch."""


def coordinate(session: Session, simulations: Simulates) -> None:
    """Run to the end: the session sees the calls of one simulator, in its order, whichever worker simulated a launch.

    Args:
        session: of a run whose launches begin from replayed state, where they are simulated in another order than the
            session's.
        simulations: hands over outcomes.
    """
    after = BEFORE_FIRST
    while (launch := _next(session, after)) is not None:
        if launch <= after or not simulations.knows(launch):
            simulations.expect(session.pending_chains())
        answer = session.on_launch(0, launch, simulations.path(launch))
        if answer.action == SIMULATE:
            hand_over(session, launch, simulations.outcome(Step(0, launch, answer.state, answer.interval)), answer)
        after = launch


def _next(session: Session, after: int) -> int | None:
    """The next launch to ask about; None at the end of the run."""
    for _ in range(2):  # a pass that begins with launches before this one says so at the second time
        status, launch = session.next(0, after)
        if status != PENDING:
            return None if status == DONE else launch
    raise HostError("the session waits for a launch in flight, but there is none")


def hand_over(session: Session, launch: int, outcome: Outcome, answer: Answer) -> None:
    """Tell the session the outcome of the launch that it decided to simulate."""
    if outcome.reason is not None:
        session.on_abort(0, launch, outcome.reason)
        return
    for point in outcome.points:
        session.on_progress(0, launch, *point)
    (_, cycles), (_, instructions), *others = outcome.counters
    if not (math.isfinite(cycles) and math.isfinite(instructions)):
        raise HostError(
            f"launch {launch}: a worker says {cycles} cycles, {instructions} instructions; allowed: finite numbers"
        )
    session.saved.took(outcome.processor_seconds)
    names = tuple(name for name, _ in others)
    values = tuple(value for _, value in others)
    session.on_complete(0, launch, outcome.stopped, int(cycles), int(instructions), names, values)
