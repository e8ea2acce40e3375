"""Runs with validation launches, over a selection, and spread over workers: any host, any order, aborts, lies, kills.

As test_any_host.py does for a sample: a state machine calls at random, right and wrong, and beside it stands a model that is
slow and obvious. At the end every run is completed, and says what a run without disturbance says.
"""

import math
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from gpu import WORK, FakeEngine, Gpu
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kinds_of_runs import draw_selection, write_list
from simulated_host import SimulatedHost

from kernelpoint.coordinator.coordinator import coordinate
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.task import Report
from kernelpoint.errors import HostError, KernelPointError
from kernelpoint.journal import ResultRecord, ValidationRecord, read_records
from kernelpoint.journal.text import plain
from kernelpoint.session.replays import KEPT
from kernelpoint.session.worker_protocol import Outcome

OK, DONE, PENDING, SIMULATE = 0, 1, 2, 0
SAME = ("launches", "simulated", "estimate", "half_width", "counters", "bound_scope", "replay_errors")
KINDS = {
    "validation": (64, "policy: random\nreplay.validation: 2\nerror_budget.relative_error: 0.02"),
    "further validation": (96, "policy: random\nerror_budget.relative_error: 0.02"),
    "selection": (40, "policy: kernelpoint\nerror_budget.relative_error: 0.05"),
}
EXAMPLES = settings(
    max_examples=int(os.environ.get("EXAMPLES", "8")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class AnyRun(RuleBasedStateMachine):
    """Calls of a host in a run with validation launches or over a selection."""

    @initialize(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 3))
    def begin(self, kind, seed):
        self.folders = tempfile.TemporaryDirectory(prefix="any-run-")
        folder = Path(self.folders.name)
        count, yaml = KINDS[kind]
        if kind == "selection":
            drawn, traced = draw_selection(folder)
            count, yaml = len(traced), f"{yaml}\nselection: {drawn}"
            self.how = {"list_paths": [str(folder / "traced" / "kernelslist.g")]}
        else:
            self.how = {"list_paths": [str(write_list(folder, count))], "state_lines": 64}
        self.cycles = 3000 + np.random.default_rng(seed).integers(0, 900, size=count)
        self.yaml = yaml if kind == "selection" else f"{yaml}\nseed: {seed}"  # a selection has its own
        self.host = SimulatedHost(self.cycles, folder)
        self.states: dict[int, int] = {}  # of launches that were to be simulated, and are not answered for
        self.last: int | None = None  # launch that this process has simulated last
        self.aborted = False
        self.session = self.host.open(self.yaml, **self.how)

    def cost(self, index, state):
        """One in a hundred more from replayed state, so that validation launches have something to find."""
        return int(self.cycles[index] * (1.0 if state == KEPT else 1.01))

    def ask(self, session, index):
        answer = session.on_launch(0, index)
        if answer.action != SIMULATE:
            return False
        if index not in self.states and "state_lines" in self.how and answer.state == KEPT:
            assert self.last == index - 1, "a launch goes on from one that was not simulated right before it"
        self.states[index] = answer.state
        return True

    def answer(self, session, index):
        state = self.states.pop(index)
        session.on_complete(0, index, False, self.cost(index, state), 10, ("reads",), (1.0,))
        self.last = index

    # ---- right calls

    @rule(steps=st.integers(1, 12))
    def walk(self, steps):
        """Some launches as a host without faults simulates them."""
        for _ in range(steps):
            status, index = self.session.next(0, -1)
            if status != OK:
                return
            assert 0 <= index < len(self.cycles) and index not in self.states
            if self.ask(self.session, index):
                self.answer(self.session, index)

    @rule(data=st.data())
    def ask_any(self, data):
        self.ask(self.session, data.draw(st.integers(0, len(self.cycles) - 1)))

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def answer_any(self, data):
        self.answer(self.session, data.draw(st.sampled_from(sorted(self.states))))

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def abort(self, data):
        index = data.draw(st.sampled_from(sorted(self.states)))
        self.session.on_abort(0, index, "no reason")
        del self.states[index]
        self.last, self.aborted = None, True

    # ---- wrong ones

    @rule(index=st.sampled_from([-1, 200, 2**40, 2**64 - 1]))
    def ask_for_what_is_not_there(self, index):
        with pytest.raises(HostError):
            self.session.on_launch(0, index)

    @rule(data=st.data())
    def answer_what_was_not_asked(self, data):
        index = data.draw(st.integers(0, len(self.cycles) - 1))
        if index not in self.states:
            with pytest.raises(HostError):
                self.session.on_complete(0, index, False, 5, 5, ("reads",), (1.0,))

    @precondition(lambda self: self.states)
    @rule(data=st.data(), value=st.sampled_from([math.nan, math.inf, -1.0]), stopped=st.booleans())
    def answer_with_a_lie(self, data, value, stopped):
        index = data.draw(st.sampled_from(sorted(self.states)))
        with pytest.raises(HostError):
            self.session.on_complete(0, index, stopped, 5, 5, ("reads",), (value,))

    @rule(cut=st.integers(1, 200), torn=st.booleans())
    def die_and_come_back(self, cut, torn):
        journal = self.session.journal.path
        self.session.journal.close()
        if torn:
            line = b'{"type":"validation","process":0,"launch":3,"validation":0,"state":"kept","counters":{"cycles":5000.0}'
            journal.write_bytes(journal.read_bytes() + line[: cut % len(line)])
        self.states.clear()
        self.last = None
        self.session = self.host.open(self.yaml, **self.how)

    # ---- the model

    @invariant()
    def no_launch_has_two_results(self):
        if not hasattr(self, "session"):
            return
        records = read_records(self.session.journal.path)
        results = [record.launch for record in records if isinstance(record, ResultRecord)]
        assert len(results) == len(set(results))
        for record in records:
            if isinstance(record, ResultRecord):
                assert record.counters["cycles"] == self.cost(record.launch, int("state_lines" in self.how))
            if isinstance(record, ValidationRecord):
                assert record.counters["cycles"] == self.cost(record.launch, record.state == "replayed")

    def teardown(self):
        """Completed, the run says what a run without disturbance says."""
        if not hasattr(self, "session"):
            return
        with self.folders:
            self.session.journal.close()
            found = self.complete(self.host.open(self.yaml, **self.how))
            if self.aborted:  # a validation launch or a launch may be given up for it
                assert found["launches"] >= len(self.cycles)
                return
            calm = self.complete(self.host.open(f"{self.yaml}\njournal: {self.folders.name}/calm", **self.how))
            assert [found[key] for key in SAME] == [calm[key] for key in SAME]

    def complete(self, session):
        self.states.clear()
        self.last = None

        def act(session, index):
            self.last = index
            state = self.state_of.pop(index)
            session.on_complete(0, index, False, self.cost(index, state), 10, ("reads",), (1.0,))

        self.state_of: dict[int, int] = {}
        asked = session.on_launch

        def ask(process, index):
            answer = asked(process, index)
            self.state_of[index] = answer.state
            return answer

        session.on_launch = ask
        return self.host.run(session, act)


class CoordinatorDies(Exception):
    """The coordinator was killed."""


class AnyWorkers(FakeEngine):
    """Reports come in the order and with the fates that the state machine has drawn; then the coordinator is killed."""

    def __post_init__(self):
        super().__post_init__()
        self.fates = []

    def next_report(self, seconds=None):
        if not self.fates:
            raise CoordinatorDies
        place, fate = self.fates.pop(0)
        handle = sorted(self._waiting)[place % len(self._waiting)]
        chains = self._waiting.pop(handle).chains
        done = {chain: tuple(self.gpu.simulate(step) for step in chain) for chain in chains}
        if fate == "whole":
            return handle, Report(done)
        if fate == "lie":
            lie = Outcome((("cycles", math.nan), ("instructions", 1.0), ("reads", 1.0)))
            return handle, Report({chain: (lie,) * len(chain) for chain in chains})
        half = dict(list(done.items())[: len(chains) // 2])
        return handle, Report(half, "was ended by SIGKILL", was_killed=True, node="here")


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
        simulations = Simulations(engine, WORK, dict(self.known), engine.said.append)
        try:
            coordinate(session, simulations)
            session.finish()
            self.summary = plain(session.summary)
            return True
        except CoordinatorDies:
            self.known |= {
                chain: done for chain, done in simulations._outcomes.items() if all(o.counters for o in done)
            }
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
            results = [record.launch for record in read_records(journal) if isinstance(record, ResultRecord)]
            assert len(results) == len(set(results))

    def teardown(self):
        """Completed, the run says what one process says."""
        if not hasattr(self, "folders"):
            return
        with self.folders:
            assert self.run(FakeEngine(self.gpu, self.workers, seed=1))
            (Path(self.folders.name) / "run.kpjournal").unlink()
            found, self.known = self.summary, {}
            assert self.run(FakeEngine(self.gpu, 1))
            assert [found[key] for key in SAME] == [self.summary[key] for key in SAME]


AnyRun.TestCase.settings = AnyCoordinator.TestCase.settings = EXAMPLES
TestAnyRun, TestAnyCoordinator = AnyRun.TestCase, AnyCoordinator.TestCase
