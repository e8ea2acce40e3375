"""Launches of a run, simulated beforehand on a pool's workers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernelpoint.coordinator.task import Batch, ChainOutcomes, Report, Work
from kernelpoint.errors import HostError, SessionError
from kernelpoint.progress import Log, WorkProgress, duration
from kernelpoint.session.orders import ENDED_SIMULATOR, KEPT, Chain, Order, Outcome, Planned

if TYPE_CHECKING:
    from kernelpoint.coordinator.dask_pool import DaskPool

ATTEMPTS = 2  # a launch that ends its simulator so often is given up in this pass
ATTEMPTS_KILLED = 5  # where something else ends it, which may be the batch system, or memory running out
STRAGGLES = 3.0  # times its forecast that a batch takes before a free worker is given it too
LEAST_SECONDS, LEAST_OVERDUE = 1.0, 60.0  # that a batch takes before that, and before it is told to be overdue
SHARE = 4  # a batch holds at most 1 / (SHARE x workers) of the cost that is left
MOST = 64  # chains of a batch; a batch's outcomes come back together


class Simulations:
    """Launches that workers simulate ahead, in any order. The session gets their results in program order.

    A batch that takes STRAGGLES times its forecast while a worker is free is begun there too, once, and the first result counts
    (backup tasks: Dean and Ghemawat, MapReduce, OSDI 2004). Its forecast is its cost times the seconds that a unit of cost has
    taken so far. Both write the same file of outcomes, so the second begins where the first has come to.

    Args:
        pool: simulates batches.
        work: common settings of the batches.
        known: outcomes from before, of a coordinator that died.
        say: takes one line of text for the user.

    Attributes:
        starts, start_seconds, seconds: simulators started, how long that took, and how long they simulated.
    """

    def __init__(self, pool: DaskPool, work: Work, outcomes: ChainOutcomes, say: Log) -> None:
        self._pool, self._work, self._say = pool, work, say
        self._known = dict(outcomes)
        self._outcomes: dict[Chain, tuple[Outcome, ...]] = {}
        self._chain_of: dict[Order, Chain] = {}
        self._launches: set[tuple[int, int]] = set()
        self._batches: dict[Any, Batch] = {}  # begun and not back, in this order
        self._running: dict[Any, float] = {}  # since when, of those that have a worker
        self._copied: set[str] = set()  # names of batches that were begun once more
        self._done_cost = 0.0
        self._costs: dict[Chain, float] = {}  # costs of chains in progress
        self._attempts: dict[Chain, list[int]] = {}  # by itself, by others
        self._urgency = 0
        self._pass_cost, self._expected = 0.0, 0  # of all chains of this pass
        self._progress = WorkProgress("this pass", "simulated", say, terminal=False)
        self.starts = 0
        self.start_seconds = self.seconds = 0.0
        self._overdue: set[Any] = set()  # handles of batches of which that was told

    def expect(self, planned: Iterable[Planned]) -> None:
        """Submit the launches that the session will request and that no worker has yet."""
        if not self._costs:
            self._pass_cost, self._expected = 0.0, 0
            self._progress = WorkProgress("this pass", "simulated", self._say, terminal=False)
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
        self._expected += len(new)
        for batch in batches(new, self._pool.workers):
            self._begin(batch)

    def knows(self, launch: int) -> bool:
        """Return True if a launch was submitted or has a result."""
        return (0, launch) in self._launches

    def path(self, launch: int) -> str | None:
        """Return None: the session already knows the traces of all launches."""
        return None

    def outcome(self, step: Order) -> Outcome:
        """Wait for the result of a launch and return it.

        Raises:
            SessionError: it cannot be had: a machine is not fit for the run, or the scheduler is lost.
        """
        if step not in self._chain_of:
            if step.state == KEPT:
                raise HostError(
                    f"launch {step.launch} needs the state of the launch before it, which this simulator has not simulated"
                )
            self.expect([Planned((step,), 1.0)])
        chain = self._chain_of.pop(step)
        while chain not in self._outcomes:
            if (found := self._pool.next_report(self._patience())) is None:
                self._copy_stragglers()
                self._tell_of_overdue()
                continue
            handle, report = found
            self._running.pop(handle, None)
            self._add_report(self._batches.pop(handle), report)
            self._note_running()
            share_left = sum(self._costs.values()) / self._pass_cost if self._pass_cost else 0.0
            self._progress(self._expected - len(self._costs), self._expected, 1.0 - share_left)
        outcome = self._outcomes[chain][chain.index(step)]
        self._launches.discard(step[:2])
        if not any(other in self._chain_of for other in chain):
            del self._outcomes[chain]
        return outcome

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _begin(self, batch: Batch) -> None:
        self._batches[self._pool.begin(self._work, batch, self._urgency)] = batch
        self._urgency -= 1
        self._note_running()

    def _note_running(self) -> None:
        """Note which batches are running: workers take batches in the order in which they were submitted."""
        for handle in self._batches:
            if len(self._running) >= self._pool.workers:
                return
            self._running.setdefault(handle, time.monotonic())

    def _patience(self) -> float | None:
        """Seconds to wait before a running batch is copied to a free worker or reported as overdue; None without a
        forecast.
        """
        is_full = len(self._batches) >= self._pool.workers
        waits = [*({} if is_full else self._until_straggling()).values(), *self._until_overdue().values()]
        return max(0.0, min(waits)) if waits else None

    def _until_overdue(self) -> dict[Any, float]:
        """Seconds until the next running batch, of those not yet reported, has taken STRAGGLES times its forecast."""
        if not self._done_cost or not self.seconds:
            return {}
        return {
            handle: since + max(LEAST_OVERDUE, STRAGGLES * self._forecast(self._batches[handle])) - time.monotonic()
            for handle, since in self._running.items()
            if handle not in self._overdue
        }

    def _tell_of_overdue(self) -> None:
        """Print a line on each batch that is overdue."""
        for handle in [handle for handle, seconds in self._until_overdue().items() if seconds <= 0.0]:
            self._overdue.add(handle)
            launches = [step.launch for chain in self._batches[handle].chains for step in chain]
            more = f" and {len(launches) - 3:,} more" if len(launches) > 3 else ""
            taken, forecast = time.monotonic() - self._running[handle], self._forecast(self._batches[handle])
            self._say(
                f"launch {', '.join(map(str, launches[:3]))}{more}: no result after {duration(taken)}; the forecast is "
                f"{duration(forecast)}. Its simulator is slow, hangs or is stopped"
            )

    def _until_straggling(self) -> dict[Any, float]:
        """Seconds until the next batch that runs on one worker only has taken STRAGGLES times its forecast."""
        if not self._done_cost or not self.seconds:
            return {}
        start = self.start_seconds / self.starts if self.starts else 0.0
        return {
            handle: since
            + max(LEAST_SECONDS, STRAGGLES * self._forecast(self._batches[handle]))
            + start
            - time.monotonic()
            for handle, since in self._running.items()
            if self._batches[handle].name not in self._copied
        }

    def _forecast(self, batch: Batch) -> float:
        return self.seconds / self._done_cost * sum(self._costs.get(chain, 0.0) for chain in batch.chains)

    def _copy_stragglers(self) -> None:
        """Submit straggling batches to a second worker, as long as workers are free."""
        for handle, seconds in self._until_straggling().items():
            if seconds <= 0.0 and len(self._batches) < self._pool.workers:
                self._copied.add(self._batches[handle].name)
                self._begin(self._batches[handle])

    def _add_report(self, batch: Batch, report: Report) -> None:
        new = {chain: outcomes for chain, outcomes in report.outcomes.items() if chain in self._costs}
        self._outcomes |= new
        self._done_cost += sum(self._costs.pop(chain) for chain in new)
        self.starts += report.starts
        self.start_seconds += report.start_seconds
        self.seconds += sum(outcome.seconds for outcomes in new.values() for outcome in outcomes)
        if report.refusal is not None:
            raise SessionError(
                f"{report.node}: {report.refusal}; put that right and start the same command again to go on"
            )
        unfinished = [chain for chain in batch.chains if chain in self._costs]
        if unfinished and report.ended is not None and batch not in self._batches.values():  # else its copy goes on
            self._try_again(unfinished, report)

    def _try_again(self, unfinished: list[Chain], report: Report) -> None:
        """Submit the remaining chains of a batch again, after the first one ended its simulator."""
        chain, others = unfinished[0], unfinished[1:]
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
            self._begin(Batch((chain,)))
        if others:
            self._begin(Batch(tuple(others)))


def _why(attempts: Sequence[int], report: Report) -> str:
    """Reason for giving up a launch after its simulator ended."""
    return f"{ENDED_SIMULATOR if attempts[False] >= ATTEMPTS else 'the simulator was lost'}: it {report.ended} again"


def batches(planned: Sequence[Planned], workers: int) -> list[Batch]:
    """Group chains of launches into batches, in the order in which they start.

    Longest processing time first (Graham 1969) with batches that shrink towards the end (guided self-scheduling:
    Polychronopoulos and Kuck 1987): the last ones are single cheap launches, so no worker keeps the others waiting longer
    than the longest launch does. As simulators stay warm between batches, small ones cost a message each and no start.

    >>> from kernelpoint.session.orders import Order
    >>> work = [Planned((Order(0, i, 1),), cost) for i, cost in enumerate([1.0, 9.0, 1.0, 1.0])]
    >>> [[chain[0].launch for chain in batch.chains] for batch in batches(work, 1)]
    [[1], [0], [2], [3]]
    """
    order = sorted(range(len(planned)), key=lambda i: (-planned[i].cost, i))
    cost_left = sum(planned[i].cost for i in order)
    made: list[Batch] = []
    chains: list[Chain] = []
    cost, limit = 0.0, cost_left / (SHARE * workers)
    for i in order:
        if chains and (len(chains) == MOST or cost + planned[i].cost > limit):
            made.append(Batch(tuple(chains)))
            cost_left -= cost
            chains, cost, limit = [], 0.0, cost_left / (SHARE * workers)
        chains.append(planned[i].chain)
        cost += planned[i].cost
    return [*made, Batch(tuple(chains))] if chains else made
