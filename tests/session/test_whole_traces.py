"""A simulator that damage in a trace would end is never handed such a trace: it is one launch less known."""

import json
import os

import numpy as np
import pytest
from simulated_host import SimulatedHost
from trace_writer import cta, numbered, small_trace

from kernelpoint.admission.simulable import TraceIntegrity
from kernelpoint.config import load_config
from kernelpoint.session.orders import SIMULATE, SKIP, Order
from kernelpoint.session.worker import WorkerSession, encode_chain

LAUNCHES = 60
WHOLE = small_trace(cta(["0000 ffffffff 0 MOV 0 0", "0010 ffffffff 0 EXIT 0 0"]))
DAMAGED = {
    "a mask that is no number": WHOLE.replace("0000 ffffffff", "0000 fff%ffff"),
    "fewer instructions than it says": WHOLE.replace("insts = 2", "insts = 7"),
    "more instructions than it says": WHOLE.replace("insts = 2", "insts = 1"),
    "a warp that the CTA does not have": WHOLE.replace("warp = 0", "warp = 900"),
    "another CTA": WHOLE.replace("thread block = 0,0,0", "thread block = 5,0,0"),
    "a page of zeros": WHOLE.replace("ffffffff 0 MOV 0 0", "\0" * 40),
}


class Simulator(SimulatedHost):
    """A host that ends where it is handed a damaged trace."""

    def open(self, yaml="policy: random\nerror_budget.relative_error: 0.1", **info):
        paths = [f"kernel-{i}.traceg" for i in range(LAUNCHES)]
        for name in paths:
            if not (self.folder / name).exists():
                (self.folder / name).write_text(numbered(WHOLE, name))
        (self.folder / "kernelslist.g").write_text("\n".join(paths) + "\n")
        info = {"list_paths": [str(self.folder / "kernelslist.g")], "needs_whole_traces": True, **info}
        return super().open(yaml, **info)

    def path(self, index):
        return self.folder / f"kernel-{index}.traceg"

    def walk(self, session):
        """Ask as kernelpoint::Client does; the launches that were to be simulated."""
        handed, after = [], -1
        while (answer := session.next(0, after))[0] == 0:
            after = answer[1]
            if session.on_launch(0, after, str(self.path(after))).action == SIMULATE:
                assert numbered(self.path(after).read_text(), "kernel-1") == WHOLE, "the simulator ends"
                handed.append(after)
                self.complete(session, after)
        session.finish()
        session.journal.close()
        return handed


@pytest.fixture
def simulator(tmp_path):
    return Simulator(3000 + np.random.default_rng(1).integers(0, 300, size=LAUNCHES), tmp_path)


def first_drawn(simulator, count=1, yaml="policy: random"):
    session = simulator.open(f"{yaml}\njournal: {simulator.folder / 'first'}")
    drawn = session.loop.sample.engine.wanted()[:count].tolist()
    session.journal.close()
    return drawn


@pytest.mark.parametrize("how", DAMAGED)
def test_a_drawn_launch_with_a_damaged_trace_is_left_out_with_a_wider_bound(simulator, how):
    (lost,) = first_drawn(simulator)
    session = simulator.open()
    simulator.path(lost).write_text(DAMAGED[how])  # after the run has begun
    handed = simulator.walk(session)
    summary = session.summary
    assert lost not in handed and summary.lost == [lost]
    assert any(f"kernel-{lost}.traceg" in reason for reason in summary.degraded)
    assert abs(summary.estimate - simulator.cycles.sum()) <= summary.half_width
    assert summary.half_width > 0.5 * simulator.cycles.min()


def test_a_damaged_trace_in_a_validation_is_not_simulated_either(simulator):
    yaml = "policy: random\nreplay.validation: 2\nerror_budget.relative_error: 0.1"
    session = simulator.open(yaml, state_lines=64)
    index = session.next(0, -1)[1]
    simulator.path(index).write_text(DAMAGED["another CTA"])
    assert index not in simulator.walk(session)


def test_launches_not_known_beforehand_are_read_as_well(simulator):
    session = simulator.open("policy: kernelpoint\nclusters: online\nerror_budget.relative_error: 0.1")
    simulator.path(0).write_text(DAMAGED["another CTA"])
    assert 0 not in simulator.walk(session)


def test_a_trace_that_is_whole_again_is_simulated_in_the_next_pass(simulator):
    (broken,) = first_drawn(simulator)
    session = simulator.open()
    simulator.path(broken).write_text(DAMAGED["another CTA"])
    assert session.on_launch(0, broken, str(simulator.path(broken))).action == SKIP
    simulator.path(broken).write_text(WHOLE)
    assert broken in simulator.walk(session)
    assert session.summary.lost == []


def test_a_simulator_that_handles_damage_is_told_to_simulate(simulator):
    (broken,) = first_drawn(simulator)
    session = simulator.open(needs_whole_traces=False)
    simulator.path(broken).write_text(DAMAGED["another CTA"])
    assert session.on_launch(0, broken, str(simulator.path(broken))).action == SIMULATE


def test_a_trace_is_read_once_and_again_when_it_has_changed(simulator, monkeypatch):
    reads = []
    monkeypatch.setattr("kernelpoint.admission.simulable.scan_trace", reads.append)
    traces = TraceIntegrity()
    simulator.path(0).write_text(WHOLE)
    assert [traces.problem(str(simulator.path(0))) for _ in range(3)] == [""] * 3 and len(reads) == 1
    simulator.path(0).write_text(WHOLE + "\n")
    assert traces.problem(str(simulator.path(0))) == "" and len(reads) == 2


def test_a_worker_does_not_simulate_it_and_tells_the_coordinator(simulator, monkeypatch):
    simulator.open().journal.close()
    simulator.path(3).write_text(DAMAGED["another CTA"])
    (chains, into), (answers, out) = os.pipe(), os.pipe()
    config = load_config(str(simulator.folder / "kernelpoint.yaml"))
    info = {"simulator": "test", "launch_counts": [LAUNCHES], "needs_whole_traces": True}
    worker = WorkerSession(config, info, print, f"{chains},{out}")
    with os.fdopen(into, "w") as to_worker, os.fdopen(answers) as from_worker:
        json.loads(from_worker.readline())  # the worker's identity
        to_worker.write(f"{encode_chain((Order(0, 3, 1),))}\n\n")
        to_worker.flush()
        assert worker.next(0, -1) == (0, 3)
        assert worker.on_launch(0, 3, str(simulator.path(3))).action == SKIP
        assert "kernel-3.traceg" in from_worker.readline()
        assert worker.next(0, 3) == (1, -1)
