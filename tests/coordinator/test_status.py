"""`kernelpoint file status`: what it says of runs that go on, have stopped, or have ended."""

import os
import time

from gpu import FakePool

from kernelpoint.cli import status as cli_status
from kernelpoint.cli.status import is_locked, status, status_of
from kernelpoint.coordinator.task import prepare_folder
from kernelpoint.journal import load_run
from kernelpoint.session.orders import Order

YAML = "policy: random\nerror_budget: {relative_error: 0.002}\nreplay: {validation: 0}"


def begin(gpu, results):
    """A run with some results, that goes on."""
    session = gpu.open(YAML)
    after = -1
    for _ in range(results):
        _, after = session.next(0, after)
        session.on_launch(0, after)
        session.on_outcome(gpu.simulate(Order(0, after, 1)))
    return session


def test_a_run_that_goes_on_is_told_from_one_that_has_stopped(gpu):
    session = begin(gpu, 5)
    path = session.journal.path
    status = status_of(load_run(path), is_locked(path), time.time() + 1e6)
    assert (status.state, status.simulated, status.launches) == ("running", 5, 200)
    assert status.pass_text.startswith("pass 0, 5 of ")
    session.journal.close()
    assert is_locked(path) is False
    assert status_of(load_run(path), None, time.time() + 1e6).state.startswith("stopped")
    assert status_of(load_run(path), None, time.time()).state.startswith("running elsewhere, or stopped")


def test_a_run_that_was_refused_a_moment_ago_does_not_go_on(gpu, capsys):
    """Its journal is fresh, but nobody holds it, and no other machine could."""
    session = begin(gpu, 1)
    path = session.journal.path
    session.journal.close()
    status(path)
    assert "stopped; start it again to go on" in capsys.readouterr().out


def test_the_kind_of_a_file_system_that_is_shared_leaves_it_open(gpu, monkeypatch):
    session = begin(gpu, 1)
    session.journal.close()
    monkeypatch.setattr(cli_status, "LOCAL", set())
    assert is_locked(session.journal.path) is None
    assert is_locked(gpu.folder / "nosuch.kpjournal") is None


def test_on_another_machine_a_run_whose_workers_wrote_a_moment_ago_goes_on(gpu):
    session = begin(gpu, 1)
    path = session.journal.path
    session.journal.close()
    os.utime(path, (1.0, 1.0))
    assert status_of(load_run(path), None, time.time()).state.startswith("stopped")
    (prepare_folder(path) / "batch.jsonl").write_text("")
    assert status_of(load_run(path), None, time.time()).state.startswith("running elsewhere")


def test_the_estimate_so_far_stands_between_passes_and_the_last_one_at_the_end(gpu, capsys):
    session = begin(gpu, 5)
    after = 1
    while not (looks := load_run(session.journal.path).looks):
        state, after = session.next(0, after)
        if state == 0 and session.on_launch(0, after)[0] == 0:
            session.on_complete(0, after, False, 5000 + after, 640, ("reads",), (1.0,))
    so_far = status_of(load_run(session.journal.path), True, time.time())
    assert f"{looks[-1].estimates['cycles'].estimate:,.0f} cycles +- " in so_far.estimate
    session.journal.close()
    session.journal.path.unlink()
    session.journal.path.write_bytes(gpu.spread(YAML, FakePool(gpu)))
    assert status_of(load_run(session.journal.path), False, 0.0).state == "ended"
    status(gpu.folder)
    assert "ended" in capsys.readouterr().out


def test_a_damaged_journal_is_a_line_and_not_the_end(gpu, capsys):
    (gpu.folder / "bad.kpjournal").write_text("nonsense\n")
    status(gpu.folder)
    assert "no" in capsys.readouterr().out
