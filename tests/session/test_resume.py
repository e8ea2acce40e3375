"""A run killed at any byte goes on as if it had not been; one that is closed says why."""

import errno
import os
import random

import numpy as np
import pytest
from sealed_lines import journal_of
from simulated_host import SimulatedHost, failing_once
from workloads import synthesised

from kernelpoint.errors import HostError, JournalError, SessionError
from kernelpoint.estimation import Engine
from kernelpoint.journal import JournalWriter, PassRecord, ResumeRecord, load_run, read_records
from kernelpoint.journal import writer as writing
from kernelpoint.journal.lines import MAGIC, split_lines

TIGHT = "policy: random\nerror_budget: {relative_error: 0.001}"


def results(host):
    return {unit: r.counters for unit, r in load_run(host.folder / "run.kpjournal").results.items()}


def test_a_run_killed_at_many_random_bytes_ends_with_the_same_summary(host):
    whole = host.run(host.open(TIGHT))
    expected, data = results(host), (host.folder / "run.kpjournal").read_bytes()
    first = data.index(b"\n") + 1
    chance = random.Random(5)
    for point in chance.sample(range(first, len(data)), 25):
        torn = b"" if data[point - 1 : point] == b"\n" else chance.choice([b"", b"\n", b"\0" * 9, b"\0\n"])
        (host.folder / "run.kpjournal").write_bytes(data[:point] + torn)
        before = data[:point].count(b'"type":"outcome"')
        host.simulated = []
        again = host.run(host.open(TIGHT))
        assert again == whole
        assert results(host) == expected
        assert len(host.simulated) <= len(expected) - before + 1


def test_a_resumed_pass_tells_what_is_left_of_it(host):
    host.run(host.open(TIGHT))
    lines = (host.folder / "run.kpjournal").read_bytes().splitlines(keepends=True)
    results = [i for i, line in enumerate(lines) if b'"type":"outcome"' in line]
    wanted = int(next(line for line in host.log if "pass 0: " in line).split("pass 0: ")[1].split()[0])
    (host.folder / "run.kpjournal").write_bytes(b"".join(lines[: results[9] + 1]))
    del host.log[:]
    host.open(TIGHT)
    assert any(f"pass 0: {wanted - 10:,} of 200 launches to simulate" in line for line in host.log)


def test_a_journal_with_a_step_that_the_run_does_not_take_is_refused_with_its_line(host):
    host.run(host.open(TIGHT))
    lines = split_lines((host.folder / "run.kpjournal").read_bytes(), "it")[0]
    place = next(i for i, line in enumerate(lines) if b'"type":"look"' in line)
    further = b'{"type":"further_validations","pass_index":0,"validations":2}'  # of a simulator that cannot replay
    (host.folder / "run.kpjournal").write_bytes(journal_of([*lines[:place], further, *lines[place:]]))
    with pytest.raises(JournalError, match=rf"run\.kpjournal:{place + 1}: .* a record 'further_validations' where none can be"):
        host.open(TIGHT)


def test_a_resumed_run_goes_on_with_the_samples_of_its_journal_not_with_new_ones(host):
    host.run(host.open(TIGHT))
    journal = host.folder / "run.kpjournal"
    wanted = [record.wanted for record in read_records(journal) if isinstance(record, PassRecord)]
    lines = split_lines(journal.read_bytes(), "it")[0]
    last = max(i for i, line in enumerate(lines) if b'"type":"pass"' in line)
    journal.write_bytes(journal_of(lines[: last + 1]))
    host.simulated = []
    host.run(host.open(TIGHT.replace("0.001", "0.5")))  # the first look meets this budget, the journal's passes come first
    assert len(wanted) > 1 and len(host.simulated) == wanted[-1]


def test_a_finished_run_that_is_started_again_simulates_nothing(host):
    whole = host.run(host.open(TIGHT))
    host.simulated = []
    journal = (host.folder / "run.kpjournal").read_bytes()
    assert host.run(host.open(TIGHT)) == whole
    assert host.simulated == [] and (host.folder / "run.kpjournal").read_bytes() == journal


def test_a_finished_run_that_is_started_with_another_budget_states_another_summary(host):
    host.run(host.open(TIGHT))
    records, host.simulated = len(read_records(host.folder / "run.kpjournal")), []
    assert host.run(host.open(TIGHT.replace("0.001", "0.5")))["met"] and host.simulated == []
    later = read_records(host.folder / "run.kpjournal")[records:]
    assert isinstance(later[0], ResumeRecord) and later[-1].relative_error == 0.5


def test_a_tighter_budget_takes_the_old_results_over(host):
    host.run(host.open("policy: random\nerror_budget: {relative_error: 0.05}"))
    before = set(host.simulated)
    host.simulated = []
    summary = host.run(host.open(TIGHT))
    assert summary["relative_half_width"] <= 0.001 and not before & set(host.simulated)


@pytest.mark.parametrize(
    ("change", "info", "message"),
    [
        ("seed: 1", {}, "config.seed: the journal has 0, this run 1"),
        ("on_error: abort", {}, "config.on_error: the journal has 'simulate', this run 'abort'"),
        ("", {"config_hash": "other"}, "hashes.simulator_config: the journal has 'gpu', this run 'other'"),
    ],
)
def test_resume_is_refused_by_key_when_anything_else_differs_and_what_follows_from_it_is_not_told(host, change, info, message):
    host.run(host.open(TIGHT))
    before = (host.folder / "run.kpjournal").read_bytes()
    with pytest.raises(JournalError) as refused:
        host.open(f"{TIGHT}\n{change}", **info)
    assert str(refused.value).splitlines()[1:] == [message]
    assert (host.folder / "run.kpjournal").read_bytes() == before


def test_a_changed_simulated_gpu_is_told_by_its_options(host):
    gpu = "-gpgpu_n_clusters 80\n-gpgpu_cache:dl2 S:32:128:24\nl2_size: 6291456\n"
    host.run(host.open(TIGHT, config_hash="a", configuration=gpu))
    with pytest.raises(JournalError) as caught:
        host.open(TIGHT, config_hash="b", configuration=gpu.replace("80", "40").replace("l2_size: 6291456", ""))
    *_, first, second = str(caught.value).splitlines()
    assert first == "simulated GPU: -gpgpu_n_clusters: the journal has '80', this run '40'"
    assert second == "simulated GPU: l2_size: the journal has '6291456', this run 'nothing'"
    assert "hash" not in str(caught.value)


def test_resume_never_begins_anew_and_keeps_the_old_journal(host):
    host.run(host.open(TIGHT))
    old = (host.folder / "run.kpjournal").read_bytes()
    host.run(host.open(f"{TIGHT}\nresume: never"))
    assert (host.folder / "run.kpjournal.1").read_bytes() == old


def test_a_failed_decision_is_still_known_after_a_resume(host):
    failed = []
    whole = host.run(host.open(TIGHT), failing_once(host, failed))
    data = (host.folder / "run.kpjournal").read_bytes()
    (host.folder / "run.kpjournal").write_bytes(data[: int(len(data) * 0.6)])
    again = host.run(host.open(TIGHT))
    assert again["degraded"] == whole["degraded"] and again["estimate"] == whole["estimate"]


def test_a_run_killed_just_after_its_estimate_failed_still_simulates_everything(host, monkeypatch):
    session = host.open(TIGHT)
    monkeypatch.setattr(session.loop.sample.engine, "grow", lambda: 1 / 0)
    assert "ZeroDivisionError" in host.run(session)["degraded"][0]
    lines = (host.folder / "run.kpjournal").read_bytes().splitlines(keepends=True)
    last = next(i for i, line in enumerate(lines) if b'"everything":true' in line)
    (host.folder / "run.kpjournal").write_bytes(b"".join(lines[: last + 1]))
    summary = host.run(host.open(TIGHT))
    assert summary["simulated"] == 200 and summary["estimate"] == host.cycles.sum()


def test_a_run_with_predictions_whose_estimate_fails_simulates_every_launch(host, monkeypatch, tmp_path):
    info = {"list_paths": [str(synthesised(tmp_path / "t", "iterative-solver", 60, rows=1024))], "launch_counts": [60]}
    host.cycles = np.where(np.arange(60) % 2, 9000.0, 3000.0)  # far from any prediction, so the sample has to grow
    session = host.open("policy: kernelpoint\nerror_budget: {relative_error: 0.02}", **info)
    assert isinstance(session.loop.sample.engine, Engine)
    monkeypatch.setattr(session.loop.sample.engine, "grow", lambda: 1 / 0)
    assert session.loop.sample.open_count < 60
    summary = host.run(session)
    assert summary["simulated"] == 60 and summary["estimate"] == host.cycles.sum()


def test_a_launch_that_failed_for_good_gets_a_fresh_chance_in_the_next_process(host):
    def broken(session, index):
        if index == 17:
            session.on_abort(0, index, "corrupt trace")
        else:
            host.complete(session, index)

    full = "policy: all"
    assert host.run(host.open(full), broken)["estimate"] is None
    mended = host.run(host.open(full))
    assert mended["met"] and mended["lost"] == []


def test_resume_is_refused_when_the_traces_have_changed(host, tmp_path):
    info = {"list_paths": [str(synthesised(tmp_path / "t", "copy", 3))], "launch_counts": [3]}
    host.cycles = host.cycles[:3]
    host.run(host.open("policy: all", **info))
    trace = next((tmp_path / "t").glob("kernel-*.traceg"))
    trace.write_text(trace.read_text() + "\n")
    with pytest.raises(JournalError, match=r"hashes\.traces"):
        host.open("policy: all", **info)


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
    assert read_records(host.folder / "run.kpjournal")[-1].is_result


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
    assert np.isnan(session.summary.counters["reads"].simulated)


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
    path.write_bytes(MAGIC + b'"damaged')
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
    simulated = {index for index in range(200) if session.launch_estimate(0, index)[2]}
    assert 0 < len(before) < len(simulated) and simulated == set(load_run(path).results)


def test_predictions_add_up_to_the_estimate(host):
    session = host.open(LOOSE)
    summary = host.run(session)
    cycles, instructions, *_ = zip(*(session.launch_estimate(0, i) for i in range(200)), strict=True)
    assert sum(cycles) == pytest.approx(summary["estimate"], rel=1e-12)
    assert sum(instructions) == pytest.approx(summary["counters"]["instructions"]["estimate"], rel=1e-12)
