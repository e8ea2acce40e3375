"""Results that cannot be, and a journal that cannot be written, in a session."""

import errno
import os

import pytest
from simulated_host import SimulatedHost

from kernelpoint.errors import HostError, JournalError, SessionError
from kernelpoint.journal import JournalWriter, ResultRecord, load_run, read_records
from kernelpoint.journal import writer as writing

LOOSE = "policy: random\nerror_budget: {relative_error: 0.05}"


def begun(host):
    """A session, and a launch in flight."""
    session = host.open(LOOSE)
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    return session, index


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (("reads", "reads"), (1.0, 2.0), "each name once"),
        (("cycles",), (1.0,), "each name once"),
        (("reads", "instructions"), (1.0, 2.0), "each name once"),
        (("reads",), (float("nan"),), "finite numbers"),
        (("reads",), (-1.0,), "finite numbers"),
    ],
)
def test_a_result_that_the_engine_refuses_never_enters_the_journal(host, names, values, message):
    session, index = begun(host)
    before = (host.folder / "run.kpjournal").read_bytes()
    with pytest.raises(HostError, match=message):
        session.on_complete(0, index, False, 10, 10, names, values)
    assert (host.folder / "run.kpjournal").read_bytes() == before
    session.on_complete(0, index, False, 10, 10, ("reads",), (1.0,))
    assert isinstance(read_records(host.folder / "run.kpjournal")[-1], ResultRecord)


def test_sums_that_are_not_finite_do_not_break_the_end_of_a_run(host):
    def huge(session, index):
        session.on_complete(0, index, False, 5000 + index, 1, ("reads",), (1e308,))

    summary = host.run(host.open(LOOSE), huge)
    assert summary["simulated"] + summary["skipped"] == 200
    assert summary["counters"]["reads"]["estimate"] is None
    load_run(host.folder / "run.kpjournal").content()


def test_a_run_that_ends_inside_a_pass_survives_sums_that_are_not_finite(host):
    session = host.open(LOOSE)
    after = -1
    for _ in range(2):
        after = session.next(0, after)[1]
        session.on_launch(0, after)
        session.on_complete(0, after, False, 10, 10, ("reads",), (1e308,))
    session.finish()
    assert session.summary.counters["reads"].simulated is None


def test_after_a_failed_write_every_call_says_that_the_run_is_closed(host, monkeypatch):
    session, index = begun(host)
    with monkeypatch.context() as broken:

        def full(descriptor, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        broken.setattr(writing.os, "write", full)
        with pytest.raises(SessionError, match="No space left"):
            host.complete(session, index)
    calls = (
        lambda: session.next(0, -1),
        lambda: session.on_launch(0, 199),
        lambda: host.complete(session, index),
        lambda: session.on_abort(0, index, None),
        lambda: session.on_progress(0, index, 1, 1, 1, 1, 1),
        session.finish,
    )
    for call in calls:
        with pytest.raises(SessionError, match="No space left"):
            call()
    host.simulated = []
    assert host.run(host.open(LOOSE))["met"], "the run goes on from its journal"


def test_on_error_abort_closes_the_run(host):
    session = host.open(f"{LOOSE}\non_error: abort")
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    for call in (lambda: session.on_abort(0, index, "lost"), lambda: session.next(0, -1), session.finish):
        with pytest.raises(SessionError, match=r"lost.*on_error: abort"):
            call()


def test_a_journal_in_use_is_refused_before_it_is_read(host):
    path = host.folder / "run.kpjournal"
    path.write_bytes(b'{"type":"run","version":2,"damaged')
    holder = JournalWriter(path, resume=True)
    path.write_bytes(b"\n" * 3)
    with pytest.raises(JournalError, match="in use by another run"):
        host.open(LOOSE)
    holder.close()


@pytest.mark.parametrize("resume", ["auto", "never"])
def test_notes_named_as_the_journal_stay_as_they_are(host, tmp_path, resume):
    notes = tmp_path / "notes.txt"
    notes.write_text("remember the milk")
    with pytest.raises(JournalError, match="is not a journal"):
        host.open(f"{LOOSE}\nresume: {resume}\njournal: {notes}")
    assert notes.read_text() == "remember the milk"


def test_a_refused_configuration_leaves_no_journal(host):
    with pytest.raises(Exception, match="absent"):
        host.open(f"{LOOSE}\nplan: absent.kpplan")
    assert not (host.folder / "run.kpjournal").exists()


def test_a_launch_simulated_before_a_kill_is_told_as_simulated_afterwards(host):
    assert isinstance(host, SimulatedHost)
    host.run(host.open(LOOSE))
    path = host.folder / "run.kpjournal"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    before = set(load_run(path).results)
    session = host.open(LOOSE)
    host.run(session)
    told = {index for index in range(200) if session.launch_estimate(0, index)[2]}
    assert 0 < len(before) < len(told) and told == set(load_run(path).results)


def test_predictions_add_up_to_the_estimate(host):
    for estimate in ("regression", "mean"):
        session = host.open(f"{LOOSE}\nestimate: {estimate}\njournal: {host.folder / estimate}")
        summary = host.run(session)
        cycles, instructions, *_ = zip(*(session.launch_estimate(0, i) for i in range(200)), strict=True)
        assert sum(cycles) == pytest.approx(summary["estimate"], rel=1e-12)
        assert sum(instructions) == pytest.approx(summary["counters"]["instructions"]["estimate"], rel=1e-12)
