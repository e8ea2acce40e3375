"""The first pass of an online run, whose launches are not known beforehand: it simulates nothing and records each trace.

At its end every launch is known, so the plan is made as if the list had been there from the start.
"""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import Design
from kernelpoint.journal import DecisionRecord, PopulationRecord
from kernelpoint.planning.making import PlanInputs, origin_of
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.repeated import Texts
from kernelpoint.session.orders import (
    DONE,
    END_OF_LIST,
    OK,
    PENDING,
    Launch,
    Orders,
)
from kernelpoint.session.setup import Setup

FARTHEST = 1 << 20  # launches that may be asked about ahead of all others; every launch before them takes memory


class OnlinePass(Orders):
    """First pass of an online run, whose launches are not known before: the simulator reports every launch, and none is
    simulated.

    Args:
        setup: configuration and simulator of the run; there is no plan yet.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(np.zeros(1, dtype=np.int64))
        self._setup = setup
        self._counts = setup.host.launch_counts  # 0 where the host does not know
        self._paths: list[dict[int, str]] = [{} for _ in self._counts]  # of each process, by launch index
        self._reach = [0] * len(self._counts)  # one more than the highest index
        self._ended: set[int] = set()

    def next(self, process: int, after: int) -> tuple[int, int]:
        """Index of the first launch after index `after` that has not been listed yet, with a status code."""
        self.launch(process, max(after, 0))
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

    def launch(self, process: int, index: int) -> Launch:
        """Look up a launch of an online run by process and index.

        Raises:
            HostError: the index is negative, or far beyond the launches reported so far.
        """
        if not 0 <= process < len(self._counts):
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._counts) - 1}")
        count, reach = self._counts[process], self._reach[process]
        if index < 0 or (count and index >= count):
            raise HostError(f"launch index of process {process}: got {index}; the list has {count or 'at least 0'} launches")
        if index >= reach + FARTHEST:
            raise HostError(
                f"launch index of process {process}: got {index:,}; launch indices count launches in program order, and "
                f"{reach:,} have come: allowed are those below {reach + FARTHEST:,}"
            )
        return Launch(process, index, -1)

    def decision(self, launch: Launch, trace_path: str | None = None) -> DecisionRecord | None:
        """Decision to skip the launch; it records the path of the launch's trace."""
        if launch.index in self._paths[launch.process]:
            return None
        return DecisionRecord(launch.process, launch.index, 0, "skip", trace=trace_path or "")

    def start(self, launch: Launch, decision: DecisionRecord) -> None:
        """Add a launch to the list of launches."""
        self._paths[launch.process][launch.index] = decision.trace or ""
        self._reach[launch.process] = max(self._reach[launch.process], launch.index + 1)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Launches reported so far, as a program. A launch that the simulator never reported has no trace."""
        counts = tuple(count or reach for count, reach in zip(self._counts, self._reach, strict=True))
        paths = (self._paths[process].get(i, "") for process, count in enumerate(counts) for i in range(count))
        return Program(counts=counts, seed=self._setup.config.seed, traces=Texts.of(list(paths)))

    def plan(self, log: Log) -> Plan:
        """Make the sampling plan of all launches reported. Errors of the sampling policy are raised."""
        return PlanInputs.of(self._setup.config, self._setup.policy, self.program()).make(log)

    def plan_of_each(self) -> Plan:
        """Plan that simulates each of the launches reported so far; no launch represents another."""
        program = self.program()
        origin = origin_of(self._setup.config, self._setup.policy, program, frozenset())
        return Plan(program, Design.take_all(program.u), origin)

    def population_record(self, plan: Plan, path: str | None) -> PopulationRecord:
        """Journal record for the end of the first pass. `path` is the file of the plan, or None."""
        first_hashes = self._setup.record().hashes
        assert plan.strata_record is not None, "a list that is not known beforehand has no predictions"
        hashes: dict[str, str | None] = {name: value for name, value in plan.hashes.items() if name not in first_hashes}
        return PopulationRecord(list(plan.program.counts), path, hashes, plan.strata_record)
