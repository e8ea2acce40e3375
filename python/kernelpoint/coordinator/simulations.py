"""Launches of a run, simulated ahead on a pool's workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from kernelpoint.coordinator.task import ChainOutcomes, Report, Work
from kernelpoint.errors import HostError, SessionError
from kernelpoint.journal import Outcome
from kernelpoint.progress import Log, WorkProgress, duration
from kernelpoint.session.orders import ENDED_SIMULATOR, Chain, Order, Planned

if TYPE_CHECKING:
    from kernelpoint.coordinator.dask_pool import DaskPool

ATTEMPTS = 2  # a launch that ends its simulator so often is given up in this pass
ATTEMPTS_KILLED = 5  # where something else ends it, which may be the batch system, or memory running out
LATE = 3.0  # times its forecast that a chain takes before a free worker is given it too, and before a line says so
LEAST_SECONDS, LEAST_REPORTED = 1.0, 60.0  # that it takes before either


class Simulations:
    """Scheduler of launches on workers. Workers simulate them in any order; the session receives results in program order.

    Chains with the largest expected cost begin first (Graham 1969). If a chain takes longer than expected and a worker is idle,
    the chain is begun a second time, and the first result counts (backup tasks: Dean and Ghemawat, MapReduce, OSDI 2004). The
    expected time of a chain is its cost times the measured seconds for a unit of cost.

    Args:
        pool: pool of workers.
        work: settings that all chains share.
        outcomes: results that an earlier coordinator process had received before it ended.
        planned: function that returns the launches that the run waits for.
        say: function that receives lines for the user.

    Attributes:
        starts: number of simulators started.
        start_seconds: seconds that these starts took.
        seconds: seconds of simulation.
    """

    def __init__(
        self, pool: DaskPool, work: Work, outcomes: ChainOutcomes, planned: Callable[[], list[Planned]], say: Log
    ) -> None:
        self._pool, self._work, self._planned, self._say = pool, work, planned, say
        self._outcomes = dict(outcomes)
        self._chain_of: dict[Order, Chain] = {}
        self._begun: dict[Any, Chain] = {}  # and not back, by the pool's handle, in this order
        self._since: dict[Any, float] = {}  # of those that have a worker
        self._begun_twice: set[Chain] = set()
        self._reported: set[Chain] = set()  # as late
        self._costs: dict[Chain, float] = {}  # costs of chains in progress
        self._attempts: dict[Chain, list[int]] = {}  # by itself, by others
        self._done_cost = self._pass_cost = 0.0
        self._expected = 0  # chains of this pass
        self._progress = WorkProgress("this pass", "simulated", say, terminal=False)
        self.starts = 0
        self.start_seconds = self.seconds = 0.0

    def outcome(self, step: Order) -> Outcome:
        """Wait for the result of a launch, and return it.

        Raises:
            SessionError: a worker's machine cannot simulate this run, or the connection to the scheduler is lost.
        """
        if step not in self._chain_of:
            self._begin_planned()
        if (chain := self._chain_of.pop(step, None)) is None:
            raise HostError(
                f"launch {step.launch} cannot be simulated: it needs the state that the launch before it leaves, which "
                "this simulator process has not simulated"
            )
        while chain not in self._outcomes:
            if (ended := self._pool.next_report(self._patience())) is None:
                self._attend_to_late()
                continue
            handle, report = ended
            self._since.pop(handle, None)
            self._add_report(self._begun.pop(handle), report)
            self._note_running()
            share_left = sum(self._costs.values()) / self._pass_cost if self._pass_cost else 0.0
            self._progress(self._expected - len(self._costs), self._expected, 1.0 - share_left)
        outcome = self._outcomes[chain][chain.index(step)]
        if not any(other in self._chain_of for other in chain):
            del self._outcomes[chain]
        return outcome

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _begin_planned(self) -> None:
        """Submit the launches that the run waits for and that no worker has yet."""
        if not self._costs:
            self._pass_cost, self._expected = 0.0, 0
            self._progress = WorkProgress("this pass", "simulated", self._say, terminal=False)
        for chain, cost in sorted(self._planned(), key=lambda plan: -plan.cost):
            self._chain_of.update(dict.fromkeys(chain, chain))
            if chain not in self._outcomes and chain not in self._costs:
                self._costs[chain] = cost
                self._pass_cost += cost
                self._expected += 1
                self._begin(chain)

    def _begin(self, chain: Chain) -> None:
        self._begun[self._pool.begin(self._work, chain)] = chain
        self._note_running()

    def _note_running(self) -> None:
        """Workers take chains in the order in which they were begun."""
        for handle in islice(self._begun, self._pool.workers):
            self._since.setdefault(handle, time.monotonic())

    def _patience(self) -> float | None:
        """Seconds until a chain is late; None where no forecast can be made."""
        is_full = len(self._begun) >= self._pool.workers
        waits = [
            *self._until_late(LEAST_REPORTED, self._reported).values(),
            *({} if is_full else self._until_late(LEAST_SECONDS, self._begun_twice)).values(),
        ]
        return max(0.0, min(waits)) if waits else None

    def _until_late(self, least: float, attended: set[Chain]) -> dict[Any, float]:
        """Seconds until each running chain has taken LATE times its forecast, and no less than `least`; without those that were
        attended to.
        """
        if not self._done_cost or not self.seconds:
            return {}
        start = self.start_seconds / self.starts if self.starts else 0.0
        return {
            handle: since + max(least, LATE * self._forecast(chain)) + start - time.monotonic()
            for handle, since in self._since.items()
            if (chain := self._begun[handle]) in self._costs and chain not in attended
        }

    def _attend_to_late(self) -> None:
        """Report chains that are late, and start each a second time while workers are free."""
        for handle, seconds in self._until_late(LEAST_REPORTED, self._reported).items():
            if seconds <= 0.0:
                chain, taken = self._begun[handle], time.monotonic() - self._since[handle]
                self._reported.add(chain)
                self._say(
                    f"{_named(chain)}: no result after {duration(taken)}; the forecast is {duration(self._forecast(chain))}. "
                    "Its simulator is slow, hangs or is stopped"
                )
        for handle, seconds in self._until_late(LEAST_SECONDS, self._begun_twice).items():
            if seconds <= 0.0 and len(self._begun) < self._pool.workers:
                self._begun_twice.add(self._begun[handle])
                self._begin(self._begun[handle])

    def _forecast(self, chain: Chain) -> float:
        return self.seconds / self._done_cost * self._costs[chain]

    def _add_report(self, chain: Chain, report: Report) -> None:
        self.starts += report.starts
        self.start_seconds += report.start_seconds
        if report.refusal is not None:
            raise SessionError(f"{report.node}: {report.refusal}; correct that and start the same command again to go on")
        if chain not in self._costs:  # the other worker was first
            return
        if report.ended is not None:
            if chain not in self._begun.values():  # else the other worker goes on
                self._try_again(chain, report)
            return
        self._outcomes[chain] = report.outcomes
        self._done_cost += self._costs.pop(chain)
        self.seconds += sum(outcome.seconds or 0.0 for outcome in report.outcomes)

    def _try_again(self, chain: Chain, report: Report) -> None:
        """Submit a chain again after it ended its simulator."""
        what = f"{_named(chain)}: the simulator on {report.node} {report.ended}"
        attempts = self._attempts.setdefault(chain, [0, 0])
        attempts[report.was_killed] += 1
        if attempts[False] >= ATTEMPTS or attempts[True] >= ATTEMPTS_KILLED:
            self._say("\n  ".join([f"{what}, {sum(attempts)} times; its output ended:", *report.tail]))
            reason = ENDED_SIMULATOR if attempts[False] >= ATTEMPTS else "the simulator was lost"
            reason += f": it {report.ended} again"
            self._outcomes[chain] = tuple(Outcome(step.process, step.launch, reason=reason) for step in chain)
            del self._attempts[chain], self._costs[chain]
        else:
            self._say(f"{what}; it is simulated again")
            self._begin(chain)


def _named(chain: Chain) -> str:
    return f"launch {', '.join(str(step.launch) for step in chain)}"
