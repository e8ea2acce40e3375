"""The census: where the launches are not known beforehand, the first pass simulates nothing and records each trace.

At its end every launch is known, so the plan is made as if the list had been there from the start.
"""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import Design
from kernelpoint.journal import DecisionRecord, PopulationRecord
from kernelpoint.planning.frame import SamplingFrame, strata_record
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.planning import Planning, origin_of
from kernelpoint.progress import Log
from kernelpoint.repeated import Texts
from kernelpoint.session.orders import (
    DONE,
    END_OF_LIST,
    OK,
    PENDING,
    SKIP,
    Answer,
    Orders,
    Outcome,
    OutcomeRecord,
    not_in_flight,
)
from kernelpoint.session.setup import Setup
from kernelpoint.workload import Population

FARTHEST = 1 << 20  # launches that may be asked about ahead of all others; every launch before them takes memory


class Census(Orders):
    """Orders of the first pass of an online run: launches are listed as they come, and none is simulated.

    Args:
        setup: of a run without a frame.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(np.zeros(1, dtype=np.int64))
        self._setup = setup
        self._counts = setup.host.launch_counts  # 0 where the host does not know
        self._paths: list[dict[int, str]] = [{} for _ in self._counts]  # of each process, by launch index
        self._reach = [0] * len(self._counts)  # one more than the highest index
        self._ended: set[int] = set()

    def record(self, process: int, launch: int, outcome: Outcome) -> OutcomeRecord:
        """Raise HostError: no launch is in flight, so none can have a result."""
        raise not_in_flight(process, launch)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """First launch after `after` that is not yet in the list."""
        self._check(process, max(after, 0))
        count, launch = self._counts[process], self._first_unseen(process, after + 1)
        if after != END_OF_LIST and (not count or launch < count):
            return OK, launch
        if (launch := self._first_unseen(process, 0)) < (count or self._reach[process]):
            return OK, launch
        self._ended.add(process)
        return (DONE if len(self._ended) == len(self._counts) else PENDING), -1

    def _first_unseen(self, process: int, launch: int) -> int:
        """The first launch from this one on that was not asked about."""
        while launch in self._paths[process]:
            launch += 1
        return launch

    def decision(self, process: int, launch: int, trace_path: str | None = None) -> DecisionRecord | None:
        """Skip the launch and note its trace."""
        self._check(process, launch)
        if launch in self._paths[process]:
            return None
        return DecisionRecord(process, launch, 0, "skip", trace=trace_path or "")

    def start(self, decision: DecisionRecord) -> None:
        """Add a launch to the list."""
        process, launch = decision.process, decision.launch
        self._check(process, launch)
        self._paths[process][launch] = decision.trace or ""
        self._reach[process] = max(self._reach[process], launch + 1)

    def answer(self, process: int, launch: int) -> Answer:
        """Return skip: the census simulates nothing."""
        return Answer(SKIP, 0)

    def require_in_flight(self, process: int, launch: int) -> int:
        """Raise HostError: no launch is in flight."""
        raise not_in_flight(process, launch)

    def take(self, record: OutcomeRecord) -> str:
        """Raise HostError: no launch can have a result."""
        raise not_in_flight(record.process, record.launch)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def population(self) -> Population:
        """Population of all launches seen. A launch that the simulator never asked about has no trace."""
        counts = tuple(count or reach for count, reach in zip(self._counts, self._reach, strict=True))
        paths = (self._paths[process].get(i, "") for process, count in enumerate(counts) for i in range(count))
        return Population(counts=counts, seed=self._setup.config.seed, paths=Texts.of(list(paths)))

    def frame(self, log: Log) -> SamplingFrame:
        """Plan the launches seen; raises every error that a policy can raise."""
        population = self.population()
        plan = Planning.of(self._setup.config, self._setup.policy, population).make(log)
        return SamplingFrame.of(population, plan, None)

    def frame_without_plan(self) -> SamplingFrame:
        """Frame of the launches so far without a plan: each launch stands for itself only."""
        population = self.population()
        origin = origin_of(self._setup.config, self._setup.policy, population, frozenset())
        return SamplingFrame.of(population, Plan(Design.take_all(population.u), origin), None)

    def population_record(self, frame: SamplingFrame, path: str | None) -> PopulationRecord:
        """Journal record of the end of the census; `path`: file of the plan."""
        first_hashes = self._setup.record().hashes
        strata = strata_record(frame.design)
        assert strata is not None, "a list that is not known beforehand has no predictions"
        hashes: dict[str, str | None] = {
            name: value for name, value in frame.hashes.items() if name not in first_hashes
        }
        return PopulationRecord(list(frame.population.counts), path, hashes, strata)

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _check(self, process: int, index: int) -> None:
        """HostError where there is no such launch, or it lies far after all that were asked about."""
        if not 0 <= process < len(self._counts):
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._counts) - 1}")
        count, reach = self._counts[process], self._reach[process]
        if index < 0 or (count and index >= count):
            raise HostError(
                f"launch index of process {process}: got {index}; the list has {count or 'at least 0'} launches"
            )
        if index >= reach + FARTHEST:
            raise HostError(
                f"launch index of process {process}: got {index:,}; launch indices count launches in program order, and "
                f"{reach:,} have come: allowed are those below {reach + FARTHEST:,}"
            )
