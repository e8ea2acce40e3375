"""`kernelpoint status`: what it says of runs that go on, have stopped, or have ended."""

import json
import socket
import time
from dataclasses import asdict

from gpu import FakeEngine

from kernelpoint.cli import status as cli_status
from kernelpoint.cli.status import is_locked, status, status_of
from kernelpoint.coordinator.state import Progress, State, read_state, state_path
from kernelpoint.journal import load_run
from kernelpoint.session.worker_protocol import Step

YAML = "policy: random\nerror_budget: {relative_error: 0.002}\nreplay: {check: 0}"


def begin(gpu, results):
    """A run with some results, that goes on."""
    session = gpu.open(YAML)
    after = -1
    for _ in range(results):
        _, after = session.next(0, after)
        session.on_launch(0, after)
        (_, cycles), (_, instructions), (name, reads) = gpu.simulate(Step(0, after, 1)).counters
        session.on_complete(0, after, False, int(cycles), int(instructions), (name,), (reads,))
    return session


def test_a_run_that_goes_on_is_told_from_one_that_has_stopped(gpu):
    session = begin(gpu, 5)
    path = session.journal.path
    found = status_of(load_run(path), None, is_locked(path), time.time() + 1e6)
    assert (found.state, found.simulated, found.launches) == ("running", 5, 200)
    assert found.pass_text.startswith("pass 0, 5 of ")
    session.journal.close()
    assert is_locked(path) is False
    assert status_of(load_run(path), None, None, time.time() + 1e6).state.startswith("stopped")
    assert status_of(load_run(path), None, None, time.time()).state.startswith("running elsewhere, or stopped")


def test_a_run_that_was_refused_a_moment_ago_does_not_go_on(gpu, capsys):
    """Its journal and its state are fresh, but nobody holds the journal, and no other machine could."""
    session = begin(gpu, 1)
    path = session.journal.path
    session.journal.close()
    status(path)
    assert "stopped; start it again to go on" in capsys.readouterr().out
    state = State(socket.gethostname(), 1, 16, "", 40, 10, 90.0, time.time())
    for locked in (False, None):
        assert status_of(load_run(path), state, locked, time.time()).state.startswith("stopped")


def test_the_kind_of_a_file_system_that_is_shared_leaves_it_open(gpu, monkeypatch):
    session = begin(gpu, 1)
    session.journal.close()
    monkeypatch.setattr(cli_status, "LOCAL", set())
    assert is_locked(session.journal.path) is None
    assert is_locked(gpu.folder / "nosuch.kpjournal") is None


def test_on_another_machine_a_run_that_wrote_a_moment_ago_goes_on(gpu):
    session = begin(gpu, 1)
    session.journal.close()
    state = State("elsewhere", 1, 16, "http://there", 40, 10, 90.0, time.time())
    found = status_of(load_run(session.journal.path), state, None, time.time())
    assert (found.state, found.workers, found.left) == ("running", 16, 90.0)
    assert found.pass_text.endswith("simulated: 10 of 40")


def test_the_estimate_so_far_stands_between_passes_and_the_last_one_at_the_end(gpu, capsys):
    session = begin(gpu, 5)
    after = 1
    while not (looks := load_run(session.journal.path).looks):
        state, after = session.next(0, after)
        if state == 0 and session.on_launch(0, after)[0] == 0:
            session.on_complete(0, after, False, 5000 + after, 640, ("reads",), (1.0,))
    found = status_of(load_run(session.journal.path), None, True, time.time())
    assert f"{looks[-1].estimates['cycles'].estimate:,.6g} cycles +- " in found.estimate
    session.journal.close()
    session.journal.path.unlink()
    session.journal.path.write_bytes(gpu.spread(YAML, FakeEngine(gpu)))
    assert status_of(load_run(session.journal.path), None, False, 0.0).state == "ended"
    status(gpu.folder)
    assert "ended" in capsys.readouterr().out


def test_a_damaged_journal_is_a_line_and_not_the_end(gpu, capsys):
    (gpu.folder / "bad.kpjournal").write_text("nonsense\n")
    status(gpu.folder)
    assert "no" in capsys.readouterr().out


def test_progress_is_told_to_the_user_and_to_others(tmp_path, monkeypatch):
    said, clock = [], [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    path = state_path(tmp_path / "run.kpjournal")
    path.parent.mkdir()
    progress = Progress(path, 4, "http://here", said.append)
    progress.take(100, 0, 1.0)
    clock[0] += 20
    progress.take(100, 40, 0.5)
    assert said == ["kernelpoint: 40 of 100 simulated, about 20 s left in this pass"]
    state = read_state(path)
    assert state is not None and (state.done, state.expected, state.workers, state.seconds_left) == (40, 100, 4, 20.0)
    path.write_text(json.dumps({"torn": 1}))
    assert read_state(path) is None
    good = json.loads(json.dumps(asdict(state)))
    for key, value in (("seconds_left", "x"), ("workers", None), ("written", 1e999), ("node", 7), ("done", [])):
        path.write_text(json.dumps(good | {key: value}))
        assert read_state(path) is None
