"""A simulated GPU in a few lines, and a pool that gives its results in a random order and lets workers die."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workloads import one_trace

from kernelpoint.config import load_config
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.task import Report, Work
from kernelpoint.journal import Outcome
from kernelpoint.session.boundary import open_run
from kernelpoint.session.orders import Chain, Order
from kernelpoint.session.session import Session
from kernelpoint.workload.host_info import HostInfo

WORK = Work("run", ("simulator",), "/", "/", {}, "version")


@dataclass
class Gpu:
    """Every launch has its cost; a launch that goes on from another one's state costs a little less."""

    folder: Path
    launches: int = 200
    simulated: list[Order] = field(default_factory=list)

    def open(self, yaml: str) -> Session:
        config = self.folder / "kernelpoint.yaml"
        journal = "" if "journal:" in yaml else f"journal: {self.folder / 'run.kpjournal'}"
        config.write_text(f"version: 1\n{yaml}\nfast_model: off\n{journal}\n")
        host = HostInfo(
            "test",
            config_hash="gpu",
            can_stop=True,
            list_paths=(str(one_trace(self.folder, self.launches)),),
            state_lines=64,
        )
        return open_run(load_config(config), host, lambda line: None)

    def simulate(self, step: Order) -> Outcome:
        self.simulated.append(step)
        cycles = 5000 + 37 * step.launch % 400 - (100 if step.state == 0 else 0)
        counters = {"cycles": float(cycles), "instructions": 640.0, "reads": step.launch / 3}
        return Outcome(step.process, step.launch, counters=counters)

    def alone(self, yaml: str) -> bytes:
        """The journal of a run in one process."""
        session = self.open(yaml)
        session.drive(self.simulate)
        return self.end(session)

    def spread(self, yaml: str, pool: FakePool, outcomes=None) -> bytes:
        """The journal of a run with many workers."""
        session = self.open(yaml)
        session.drive(Simulations(pool, WORK, outcomes or {}, session.planned, pool.said.append).outcome)
        return self.end(session)

    @staticmethod
    def end(session: Session) -> bytes:
        session.finish()
        path = session.journal.path
        content = path.read_bytes()
        path.unlink()
        return content


@dataclass
class FakePool:
    """Chains end in a random order; `killed` of a thousand chains end their simulator the first times they are begun."""

    gpu: Gpu
    workers: int = 2
    seed: int = 0
    killed: int = 0
    crashing: Sequence[int] = ()  # launches that always end their simulator
    by_others: bool = False
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._waiting: dict[int, Chain] = {}
        self._begun = 0

    def begin(self, work: Work, chain: Chain) -> int:
        self._begun += 1
        self._waiting[self._begun] = chain
        return self._begun

    def next_report(self, seconds: float | None = None) -> tuple[int, Report] | None:
        handle = self._random.choice(sorted(self._waiting))
        chain = self._waiting.pop(handle)
        if self._random.randrange(1000) < self.killed:
            return handle, Report(ended="was ended by SIGKILL", was_killed=True, node="here")
        if any(step.launch in self.crashing for step in chain):
            return handle, Report((), "was ended by SIGSEGV", self.by_others, ("the last", "lines"), node="here")
        return handle, Report(tuple(self.gpu.simulate(step) for step in chain))
