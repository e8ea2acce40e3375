"""Any host: launches in any order, several in flight, aborts, wrong results, kills at any time.

A state machine drives a session with random calls, right and wrong, and beside it a model of what any run must keep to, which
is slow and obvious: who may be asked what, which results count, and that the journal adds up to the list. At the end the run
is completed, and the sample and every estimate are those of a host that walked the list in order and never stopped.
"""

import math
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from simulated_host import SimulatedHost

from kernelpoint.errors import HostError
from kernelpoint.journal import AbortRecord, LeftOutRecord, ResultRecord, read_records

LAUNCHES = 14
OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP = 0, 1
BEFORE_FIRST, END_OF_LIST = -1, -2
INDEX = st.integers(0, LAUNCHES - 1)
WILD = st.sampled_from([-3, -1, LAUNCHES, LAUNCHES + 7, 2**40, 2**63, 2**64 - 1])
POLICIES = ["random", "all"]


class AnyHost(RuleBasedStateMachine):
    """Calls of a host, and what must hold after each."""

    @initialize(policy=st.sampled_from(POLICIES), seed=st.integers(0, 5))
    def begin(self, policy, seed):
        self.folders = tempfile.TemporaryDirectory(prefix="any-host-")
        cycles = 3000 + np.random.default_rng(seed).integers(0, 1500, size=LAUNCHES)
        self.host = SimulatedHost(cycles, self._folder("host"))
        self.yaml = f"policy: {policy}\nseed: {seed}\nerror_budget.relative_error: 0.05"
        self.policy = policy
        self.flying: set[int] = set()  # told to simulate, and not answered for
        self.results: dict[int, float] = {}  # what the sample may hold
        self.failures: dict[int, int] = {}
        self.decided: dict[int, int] = {}  # answers since the last change of pass
        self.finished = False
        self.session = self.host.open(self.yaml)
        self.pass_index = 0

    def _folder(self, name):
        folder = Path(self.folders.name) / name
        folder.mkdir()
        return folder

    def left_out(self):
        """Launches that the run goes on without, as its journal has them."""
        records = read_records(self.session.journal.path)
        return {launch for record in records if isinstance(record, LeftOutRecord) for _, launch in record.launches}

    # ---- right calls, in any order

    @rule(index=INDEX)
    def ask(self, index):
        if self.finished:
            with pytest.raises(HostError):
                self.session.on_launch(0, index)
            return
        action, pass_index, *_ = self.session.on_launch(0, index)
        if pass_index != self.pass_index:
            self.pass_index, self.decided = pass_index, {}
        if index in self.flying:
            assert action == SIMULATE
        if action == SIMULATE and index not in self.flying:
            assert index not in self.results, "a launch with a result is simulated again"
            assert index not in self.left_out(), "a launch that was given up is simulated again"
            self.flying.add(index)
        self.decided[index] = action

    @rule(after=st.sampled_from([BEFORE_FIRST, END_OF_LIST]) | INDEX)
    def step(self, after):
        if self.finished:
            assert self.session.next(0, after) == (DONE, -1)
            return
        status, index = self.session.next(0, after)
        assert status in (OK, DONE, PENDING)
        assert (index >= 0) == (status == OK)
        if status == OK:
            assert index not in self.flying and index not in self.results
        if status == PENDING:
            assert self.flying, "nothing is in flight, and still the host has to wait"

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def complete(self, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        if self.finished:
            return
        self.host.complete(self.session, index)
        self.flying.discard(index)
        self.results[index] = float(self.host.cycles[index])

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def abort(self, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        if self.finished:
            return
        self.session.on_abort(0, index, "no reason")
        self.flying.discard(index)
        self.failures[index] = self.failures.get(index, 0) + 1

    # ---- wrong ones: refused, and nothing changes

    @rule(index=WILD)
    def ask_for_what_is_not_there(self, index):
        with pytest.raises(HostError):
            self.session.on_launch(0, index)

    @rule(index=INDEX, stopped=st.booleans())
    def answer_what_was_not_asked(self, index, stopped):
        if index in self.flying and not stopped:
            return
        with pytest.raises(HostError):
            self.session.on_complete(0, index, stopped, 5, 5, ("reads",), (1.0,))

    @precondition(lambda self: self.flying and not self.finished)
    @rule(value=st.sampled_from([math.nan, math.inf, -1.0]), data=st.data())
    def answer_with_no_number(self, value, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        with pytest.raises(HostError):
            self.session.on_complete(0, index, False, 5, 5, ("reads",), (value,))

    @precondition(lambda self: self.flying and self.results and not self.finished)
    @rule(data=st.data())
    def answer_with_other_counters(self, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        with pytest.raises(HostError):
            self.session.on_complete(0, index, False, 5, 5, ("writes",), (1.0,))

    @rule(process=st.sampled_from([-1, 1, 2**32 - 1]), index=INDEX)
    def speak_of_another_process(self, process, index):
        for call in (
            lambda: self.session.on_launch(process, index),
            lambda: self.session.on_abort(process, index, None),
        ):
            with pytest.raises(HostError):
                call()

    # ---- ends

    @rule(cut=st.integers(0, 300), torn=st.booleans())
    def die_and_come_back(self, cut, torn):
        """The process is killed and may leave a torn line. Results are kept, what was in flight is wanted again."""
        if self.finished:
            return
        journal = self.session.journal.path
        self.session.journal.close()
        if torn:
            line = b'{"type":"result","process":0,"launch":3,"pass_index":0,"counters":{"cycles":5000.0},"chain":"00'
            journal.write_bytes(journal.read_bytes() + line[: cut % len(line)])
        self.flying.clear()
        self.failures.clear()
        self.session = self.host.open(self.yaml)

    @rule()
    def finish(self):
        if self.finished or len(self.results) < 2:
            return
        summary = self.session.finish()
        self.finished = True
        assert summary.launches == LAUNCHES
        assert summary.simulated == len(self.results)

    @invariant()
    def the_journal_adds_up(self):
        if not hasattr(self, "session"):
            return
        path = self.session.journal.path
        if not path.exists():
            return
        records = read_records(path)
        results = [record.launch for record in records if isinstance(record, ResultRecord)]
        assert len(results) == len(set(results)), "a launch has two results"
        assert sorted(results) == sorted(self.results)
        for record in records:
            if isinstance(record, ResultRecord):
                assert record.counters["cycles"] == self.results[record.launch]
        assert sum(isinstance(record, AbortRecord) for record in records) >= sum(self.failures.values())

    def teardown(self):
        """Whatever happened, the run can be completed, and then says what a run without disturbance says."""
        if hasattr(self, "session"):
            with self.folders:
                self._complete()

    def _complete(self):
        self.session.journal.close()
        if self.finished:
            return
        self.session = self.host.open(self.yaml)
        found = self.host.run(self.session)
        assert set(found["lost"]) == self.left_out()
        if found["lost"]:  # each failed twice; what it may be is in the half-width
            assert found["estimate"] is not None and found["half_width"] > 0.5 * self.host.cycles.min()
            assert not set(found["lost"]) & set(self.results)
            return
        calm = SimulatedHost(self.host.cycles, self._folder("calm"))
        expected = calm.run(calm.open(self.yaml))
        same = ("launches", "simulated", "estimate", "half_width", "counters")
        assert [found[key] for key in same] == [expected[key] for key in same]


AnyHost.TestCase.settings = settings(
    max_examples=int(os.environ.get("EXAMPLES", "25")),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnyHost = AnyHost.TestCase
