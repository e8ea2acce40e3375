"""Any host: launches in any order, several in flight, aborts, wrong results, kills at any time.

A state machine drives a session with random calls, right and wrong, and beside it stands a model of what any run must keep to,
which is slow and obvious: who may be asked what, which results count, and that the journal adds up to the list. At the end the
run is completed, and the sample and every estimate are those of a host that walked the list in order and never stopped.
"""

import math
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kinds_of_runs import draw_selection
from simulated_host import SimulatedHost
from workloads import one_trace

from kernelpoint.errors import HostError
from kernelpoint.journal import LeftOutRecord, Outcome, read_records
from kernelpoint.session.orders import KEPT

OK, DONE, PENDING = 0, 1, 2
SIMULATE = 0
BEFORE_FIRST, END_OF_LIST = -1, -2
WILD = st.sampled_from([-3, -1, 200, 2**40, 2**63, 2**64 - 1])
SAME = ("launches", "simulated", "estimate", "half_width", "counters", "bound_scope", "replay_errors")
TORN = b'{"type":"outcome","process":0,"launch":3,"pass_index":0,"counters":{"cycles":5000.0},"chain":"00'


@cache
def a_selection():
    """A selection, its launches traced beside it, and their places in the program."""
    return draw_selection(Path(tempfile.mkdtemp(prefix="any-host-")))


class Calls(RuleBasedStateMachine):
    """Steps of any host: complete, abort, answer wrongly, die."""

    def open_first(self, yaml, count, seed, **how):
        self.cycles = 3000 + np.random.default_rng(seed).integers(0, 1500, size=count)
        self.host = SimulatedHost(self.cycles, self.folder("host"))
        self.yaml, self.how = yaml, how
        self.flying: dict[int, int] = {}  # told to simulate, and not answered for; the state each begins in
        self.results: dict[int, float] = {}  # the results that the sample may hold
        self.failures = 0
        self.finished = False
        self.last: int | None = None  # launch that this process has simulated last
        self.session = self.host.open(yaml, **how)

    def folder(self, name):
        if not hasattr(self, "folders"):
            self.folders = tempfile.TemporaryDirectory(prefix="any-host-")
        (folder := Path(self.folders.name) / name).mkdir()
        return folder

    def any_launch(self, data):
        return data.draw(st.integers(0, len(self.cycles) - 1))

    def cost(self, index, state):
        """Cycles of a launch from a state."""
        return int(self.cycles[index])

    def answer(self, session, index):
        cycles = self.cost(index, self.flying.pop(index))
        session.on_complete(0, index, False, cycles, 10, ("reads",), (1.0,))
        self.results[index] = float(cycles)
        self.last = index

    @precondition(lambda self: self.flying and not self.finished)
    @rule(data=st.data())
    def complete(self, data):
        self.answer(self.session, data.draw(st.sampled_from(sorted(self.flying))))

    @precondition(lambda self: self.flying and not self.finished)
    @rule(data=st.data())
    def abort(self, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        self.session.on_abort(0, index, "no reason")
        del self.flying[index]
        self.last, self.failures = None, self.failures + 1

    # ---- wrong calls: refused, and nothing changes

    @rule(index=WILD)
    def ask_for_what_is_not_there(self, index):
        with pytest.raises(HostError):
            self.session.on_launch(0, index)

    @rule(data=st.data(), stopped=st.booleans())
    def answer_what_was_not_asked(self, data, stopped):
        index = self.any_launch(data)
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

    @precondition(lambda self: not self.finished)
    @rule(cut=st.integers(0, 300), torn=st.booleans())
    def die_and_come_back(self, cut, torn):
        """Kill the process, perhaps inside a write. The resumed run keeps results and asks for launches in flight again."""
        journal = self.session.journal.path
        self.session.journal.close()
        if torn:
            journal.write_bytes(journal.read_bytes() + TORN[: cut % len(TORN)])
        self.flying.clear()
        self.last = None
        self.session = self.host.open(self.yaml, **self.how)

    def completed(self, session):
        """Summary of a run that a host without faults completes."""
        self.flying.clear()
        asked = session.on_launch

        def ask(process, index):
            answer = asked(process, index)
            self.flying[index] = answer.state
            return answer

        session.on_launch = ask
        return self.host.run(session, self.answer)

    def check_completed(self, summary):
        """The result of a run without disturbance."""
        calm = self.completed(self.host.open(f"{self.yaml}\njournal: {self.folder('calm')}/run.kpjournal", **self.how))
        assert [summary[key] for key in SAME] == [calm[key] for key in SAME]


class AnyHost(Calls):
    """A run without replay."""

    @initialize(policy=st.sampled_from([*4 * ["random"], "all", "all", "kernelpoint"]), seed=st.integers(0, 5))
    def begin(self, policy, seed):
        yaml, numbers, how = f"policy: {policy}\nerror_budget.relative_error: 0.05", np.arange(14), {}
        if policy == "kernelpoint":  # over a selection, which has its own seed
            drawn, numbers = a_selection()
            yaml, how = f"{yaml}\nselection: {drawn}", {"list_paths": [str(drawn.parent / "traced" / "kernelslist.g")]}
        else:
            yaml += f"\nseed: {seed}"
        self.numbers = numbers  # in the program
        self.open_first(yaml, len(numbers), seed, **how)

    def left_out(self):
        """Launches that the run goes on without, as its journal has them."""
        records = read_records(self.session.journal.path)
        return {launch for record in records if isinstance(record, LeftOutRecord) for _, launch in record.launches}

    @rule(data=st.data())
    def ask(self, data):
        index = self.any_launch(data)
        if self.finished:
            with pytest.raises(HostError):
                self.session.on_launch(0, index)
            return
        answer = self.session.on_launch(0, index)
        if index in self.flying:
            assert answer.action == SIMULATE
        elif answer.action == SIMULATE:
            assert index not in self.results, "a launch with a result is simulated again"
            assert self.numbers[index] not in self.left_out(), "a launch that was given up is simulated again"
            self.flying[index] = answer.state

    @rule(data=st.data(), after=st.sampled_from([BEFORE_FIRST, END_OF_LIST, None]))
    def step(self, data, after):
        after = self.any_launch(data) if after is None else after
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

    @precondition(lambda self: self.flying and self.results and not self.finished)
    @rule(data=st.data())
    def answer_with_other_counters(self, data):
        index = data.draw(st.sampled_from(sorted(self.flying)))
        with pytest.raises(HostError):
            self.session.on_complete(0, index, False, 5, 5, ("writes",), (1.0,))

    @rule(process=st.sampled_from([-1, 1, 2**32 - 1]), data=st.data())
    def speak_of_another_process(self, process, data):
        index = self.any_launch(data)
        for call in (
            lambda: self.session.on_launch(process, index),
            lambda: self.session.on_abort(process, index, None),
        ):
            with pytest.raises(HostError):
                call()

    @precondition(lambda self: len(self.results) > 1 and not self.finished)
    @rule()
    def finish(self):
        summary = self.session.finish()
        self.finished = True
        assert summary.launches >= len(self.cycles)
        assert summary.simulated == len(self.results)

    @invariant()
    def the_journal_adds_up(self):
        if not hasattr(self, "session"):
            return
        records = read_records(self.session.journal.path)
        results = [(r.launch, r.counters["cycles"]) for r in records if isinstance(r, Outcome) and r.is_result]
        assert sorted(results) == sorted((self.numbers[index], cycles) for index, cycles in self.results.items())
        assert sum(isinstance(record, Outcome) and not record.counters for record in records) >= self.failures

    def teardown(self):
        """Whatever happened, the run can be completed, and then says what a run without disturbance says."""
        if not hasattr(self, "session"):
            return
        with self.folders:
            self.session.journal.close()
            if self.finished:
                return
            self.session = self.host.open(self.yaml, **self.how)
            summary = self.completed(self.session)
            assert set(summary["lost"]) == self.left_out()
            if summary["lost"]:  # each failed twice; what it may be is in the half-width
                assert summary["estimate"] is not None and summary["half_width"] > 0.5 * self.cycles.min()
            else:
                self.check_completed(summary)


class AnyReplayingHost(Calls):
    """A run with validation launches: launches take 1 % more from replayed state."""

    @initialize(kind=st.sampled_from([(64, "0.02\nreplay.validation: 2"), (96, "0.02")]), seed=st.integers(0, 3))
    def begin(self, kind, seed):
        count, more = kind
        listed = str(one_trace(self.folder("list"), count))
        yaml = f"policy: random\nseed: {seed}\nerror_budget.relative_error: {more}"
        self.open_first(yaml, count, seed, list_paths=[listed], state_lines=64)

    def cost(self, index, state):
        return int(self.cycles[index] * (1.0 if state == KEPT else 1.01))

    def ask(self, index):
        answer = self.session.on_launch(0, index)
        if answer.action != SIMULATE:
            return False
        if index not in self.flying and answer.state == KEPT:
            assert self.last == index - 1, "a launch goes on from one that was not simulated right before it"
        self.flying[index] = answer.state
        return True

    @rule(steps=st.integers(1, 12))
    def walk(self, steps):
        """Some launches as a host without faults simulates them."""
        for _ in range(steps):
            status, index = self.session.next(0, BEFORE_FIRST)
            if status != OK:
                return
            assert 0 <= index < len(self.cycles) and index not in self.flying
            if self.ask(index):
                self.answer(self.session, index)

    @rule(data=st.data())
    def ask_any(self, data):
        self.ask(self.any_launch(data))

    @invariant()
    def no_launch_has_two_results(self):
        if not hasattr(self, "session"):
            return
        records = read_records(self.session.journal.path)
        results = [record.launch for record in records if isinstance(record, Outcome) and record.is_result]
        assert len(results) == len(set(results))
        for record in records:
            if isinstance(record, Outcome) and record.is_result:
                assert record.counters["cycles"] == self.cost(record.launch, None)
            if isinstance(record, Outcome) and record.validation is not None and record.counters:
                kept = KEPT if record.state == "kept" else None
                assert record.counters["cycles"] == self.cost(record.launch, kept)

    def teardown(self):
        if not hasattr(self, "session"):
            return
        with self.folders:
            self.session.journal.close()
            summary = self.completed(self.host.open(self.yaml, **self.how))
            if self.failures:  # a validation launch or a launch may be given up for it
                assert summary["launches"] >= len(self.cycles)
            else:
                self.check_completed(summary)


def example_settings(count):
    number = int(os.environ.get("EXAMPLES", count))
    return settings(max_examples=number, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))


AnyHost.TestCase.settings, AnyReplayingHost.TestCase.settings = example_settings(25), example_settings(6)
TestAnyHost, TestAnyReplayingHost = AnyHost.TestCase, AnyReplayingHost.TestCase
