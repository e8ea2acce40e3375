"""Launches of a run, simulated beforehand on an engine's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from kernelpoint.coordinator.batches import batches
from kernelpoint.coordinator.outcomes import Known, name_of
from kernelpoint.coordinator.task import Batch, Report, Work
from kernelpoint.errors import HostError, SessionError
from kernelpoint.session.ledger import ENDED_SIMULATOR
from kernelpoint.session.replays import KEPT
from kernelpoint.session.worker_protocol import Chain, Outcome, Planned, Step

ATTEMPTS = 2  # a launch that ends its simulator so often is given up in this pass
ATTEMPTS_KILLED = 5  # where something else ends it, which may be the batch system, or memory running out


class Engine(Protocol):
    """The part of engine.Engine that a run uses; workers: how many batches are simulated at once."""

    workers: int

    @property
    def dashboard(self) -> str:
        """Address of a page on the workers."""

    def close(self) -> None:
        """End the workers."""

    def begin(self, work: Work, batch: Batch, urgency: int) -> Any:
        """Hand out a batch."""

    def next_report(self) -> tuple[Any, Report]:
        """Wait for a batch to end."""

    def map(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """Result of a function for each piece, in their order: the engine is a pool.Pool too."""


class Simulations:
    """Launches simulated beforehand, in whatever order, and handed over in the session's.

    Args:
        engine: simulates batches; work: what they have in common.
        known: outcomes from before, of a coordinator that died.
        say: takes one line of text for the user.
        at_each: called with this object after each batch.

    Attributes:
        starts, start_seconds, seconds: simulators started, how long that took, and how long they simulated.
        expected, done: chains of this pass, and those of them that are simulated.
    """

    def __init__(
        self,
        engine: Engine,
        work: Work,
        known: Known,
        say: Callable[[str], None],
        at_each: Callable[[Simulations], None] = lambda simulations: None,
    ) -> None:
        self._engine, self._work, self._say, self._at_each = engine, work, say, at_each
        self._known = dict(known)
        self._outcomes: dict[Chain, tuple[Outcome, ...]] = {}
        self._chain_of: dict[Step, Chain] = {}
        self._launches: set[tuple[int, int]] = set()
        self._batches: dict[Any, Batch] = {}
        self._costs: dict[Chain, float] = {}  # of what is handed out and not back
        self._attempts: dict[Chain, list[int]] = {}  # by itself, by others
        self._urgency = 0
        self._pass_cost = 0.0
        self.starts = self.expected = self.done = 0
        self.start_seconds = self.seconds = 0.0

    def expect(self, planned: Iterable[Planned]) -> None:
        """Hand out the launches that will be asked for and are not on their way."""
        if not self._costs:
            self._pass_cost, self.expected, self.done = 0.0, 0, 0
        new = []
        for plan in planned:
            self._chain_of.update(dict.fromkeys(plan.chain, plan.chain))
            self._launches.update(step[:2] for step in plan.chain)
            if plan.chain in self._known:
                self._outcomes[plan.chain] = self._known[plan.chain]
            if plan.chain not in self._outcomes and plan.chain not in self._costs:
                new.append(plan)
        self._costs.update((plan.chain, plan.cost) for plan in new)
        self._pass_cost += sum(plan.cost for plan in new)
        self.expected += len(new)
        for batch in batches(new, self._engine.workers):
            self._begin(batch)

    def knows(self, launch: int) -> bool:
        """True if a launch is expected."""
        return (0, launch) in self._launches

    def path(self, launch: int) -> str | None:
        """Nothing: all launches of such a run are known before it begins."""
        return None

    def outcome(self, step: Step) -> Outcome:
        """Outcome of a launch; waits for it.

        Raises:
            SessionError: it cannot be had: a machine is not fit for the run, or the scheduler is lost.
        """
        if step not in self._chain_of:
            if step.state == KEPT:
                raise HostError(f"launch {step.launch} goes on from one that was not simulated before it")
            self.expect([Planned((step,), 1.0)])
        chain = self._chain_of.pop(step)
        while chain not in self._outcomes:
            handle, report = self._engine.next_report()
            self._take(self._batches.pop(handle), report)
            self._at_each(self)
        outcome = self._outcomes[chain][chain.index(step)]
        self._launches.discard(step[:2])
        if not any(other in self._chain_of for other in chain):
            del self._outcomes[chain]
        return outcome

    @property
    def left(self) -> float:
        """Share of the pass's expected cost that is not simulated yet."""
        return sum(self._costs.values()) / self._pass_cost if self._pass_cost else 0.0

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _begin(self, batch: Batch) -> None:
        self._batches[self._engine.begin(self._work, batch, self._urgency)] = batch
        self._urgency -= 1

    def _take(self, batch: Batch, report: Report) -> None:
        self._outcomes |= report.outcomes
        for chain in report.outcomes:
            self._costs.pop(chain, None)
        self.done += len(report.outcomes)
        self.starts += report.starts
        self.start_seconds += report.start_seconds
        self.seconds += sum(outcome.seconds for outcomes in report.outcomes.values() for outcome in outcomes)
        if report.refusal is not None:
            raise SessionError(
                f"{report.node}: {report.refusal}; put that right and start the same command again to go on"
            )
        if (left := [chain for chain in batch.chains if chain not in report.outcomes]) and report.ended is not None:
            self._try_again(left, report)

    def _try_again(self, left: list[Chain], report: Report) -> None:
        """The first of the chains ended its simulator; the others were not begun."""
        chain, others = left[0], left[1:]
        launches = ", ".join(str(step.launch) for step in chain)
        what = f"launch {launches}: the simulator on {report.node} {report.ended}"
        attempts = self._attempts.setdefault(chain, [0, 0])
        attempts[report.was_killed] += 1
        if attempts[False] >= ATTEMPTS or attempts[True] >= ATTEMPTS_KILLED:
            self._say("\n  ".join([f"{what}, {sum(attempts)} times; its output ended:", *report.tail]))
            self._outcomes[chain] = tuple(Outcome(reason=_why(attempts, report)) for _ in chain)
            del self._attempts[chain], self._costs[chain]
        else:
            self._say(f"{what}; it is simulated again")
            self._begin(Batch(name_of([chain]), (chain,)))
        if others:
            self._begin(Batch(name_of(others), tuple(others)))


def _why(attempts: Sequence[int], report: Report) -> str:
    """Reason of an abort; it is for good where nothing else ended the simulators."""
    return f"{ENDED_SIMULATOR if attempts[False] >= ATTEMPTS else 'the simulator was lost'}: it {report.ended} again"
