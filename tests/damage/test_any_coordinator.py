"""Runs spread over workers: reports in any order, workers that die or lie, coordinators that are killed again and again.

As test_any_host.py does for one process: at the end every run is completed, and says what a run without disturbance says.
"""

import math
import os
import tempfile
from pathlib import Path

from gpu import WORK, FakePool, Gpu
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.task import Report
from kernelpoint.errors import KernelPointError
from kernelpoint.journal import Outcome, read_records
from kernelpoint.journal.records import plain

SAME = ("launches", "simulated", "estimate", "half_width", "counters", "bound_scope", "replay_errors")


class CoordinatorDies(Exception):
    """The coordinator was killed."""


class AnyWorkers(FakePool):
    """Reports come in the order and with the fates that the state machine has drawn; then the coordinator is killed."""

    def __post_init__(self):
        super().__post_init__()
        self.fates = []

    def next_report(self, seconds=None):
        if not self.fates:
            raise CoordinatorDies
        place, fate = self.fates.pop(0)
        handle = sorted(self._waiting)[place % len(self._waiting)]
        chain = self._waiting.pop(handle)
        if fate == "whole":
            return handle, Report(tuple(self.gpu.simulate(step) for step in chain))
        if fate == "lie":
            return handle, Report(tuple(Outcome(o.process, o.launch, counters=NAN) for o in chain))
        return handle, Report(ended="was ended by SIGKILL", was_killed=True, node="here")


NAN = {"cycles": math.nan, "instructions": 1.0, "reads": 1.0}


class AnyCoordinator(RuleBasedStateMachine):
    """A coordinator that is killed again and again, with workers that die, and some that lie."""

    @initialize(budget=st.sampled_from([0.05, 0.002]), workers=st.integers(1, 4))
    def begin(self, budget, workers):
        self.folders = tempfile.TemporaryDirectory(prefix="any-workers-")
        self.gpu = Gpu(Path(self.folders.name), 70)
        self.yaml = f"policy: random\nreplay.validation: 2\nerror_budget: {{relative_error: {budget}}}"
        self.workers = workers
        self.known = {}

    def run(self, engine):
        """True if the run came to its end."""
        session = self.gpu.open(self.yaml)
        simulations = Simulations(engine, WORK, self.known, session.planned, engine.said.append)
        try:
            session.drive(simulations.outcome)
            self.summary = plain(session.summary)
            return True
        except CoordinatorDies:
            self.known |= {chain: done for chain, done in simulations._outcomes.items() if all(o.counters for o in done)}
            return False
        finally:
            session.journal.close()

    @rule(fates=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["whole", "whole", "killed"])), max_size=9))
    def go_on_for_a_while(self, fates):
        engine = AnyWorkers(self.gpu, self.workers)
        engine.fates = fates
        self.run(engine)

    @rule()
    def go_on_with_a_worker_that_lies(self):
        engine = AnyWorkers(self.gpu, self.workers)
        engine.fates = [(0, "lie")]
        try:
            self.run(engine)
        except KernelPointError as refused:
            assert "nan" in str(refused)
        self.known = {}

    @rule()
    def lose_what_is_on_disk(self):
        self.known = {}

    @invariant()
    def no_launch_has_two_results(self):
        journal = Path(self.folders.name) / "run.kpjournal" if hasattr(self, "folders") else None
        if journal is not None and journal.exists():
            results = [record.launch for record in read_records(journal) if isinstance(record, Outcome) and record.is_result]
            assert len(results) == len(set(results))

    def teardown(self):
        """Completed, the run says what one process says."""
        if not hasattr(self, "folders"):
            return
        with self.folders:
            assert self.run(FakePool(self.gpu, self.workers, seed=1))
            (Path(self.folders.name) / "run.kpjournal").unlink()
            summary, self.known = self.summary, {}
            assert self.run(FakePool(self.gpu, 1))
            assert [summary[key] for key in SAME] == [self.summary[key] for key in SAME]


AnyCoordinator.TestCase.settings = settings(
    max_examples=int(os.environ.get("EXAMPLES", "8")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnyCoordinator = AnyCoordinator.TestCase
