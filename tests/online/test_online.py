"""Runs without a list: a census learns which launches there are, then they are planned and sampled as if they were known."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from embedded_host import run_host
from sealed_lines import journal_of
from simulated_host import failing_once

from kernelpoint.errors import ConfigError, HostError, JournalError, SessionError
from kernelpoint.journal import DecisionRecord, load_run
from kernelpoint.journal.lines import split_lines
from kernelpoint.journal.records import plain
from kernelpoint.paired import compare_runs
from kernelpoint.report.result import result_of

LAUNCHES = 240  # as many as the list of conftest.py
LOOSE = "error_budget: {relative_error: 0.05}"


def decisions(host, number=1):
    return [r for r in load_run(host.journal).of(DecisionRecord) if r.pass_index == number]


def through_census(host):
    """A session after its census, and the first launch that it wants."""
    session = host.open(LOOSE)
    for index, path in enumerate(host.paths):
        assert session.on_launch(0, index, path).action == 1
    status, first = session.next(0, -2)
    assert status == 0
    return session, first


def test_a_host_without_a_list_gets_an_estimate_of_launches_that_nobody_knew(host):
    session = host.open(LOOSE)
    summary = host.walk(session)
    assert summary["launches"] == LAUNCHES and summary["met"]
    assert abs(summary["estimate"] / host.cycles.sum() - 1) < 0.05
    assert summary["simulated"] == len(host.simulated) == len(set(host.simulated)) < LAUNCHES / 2


def test_a_host_that_knows_their_number_gets_the_same_run(host):
    unknown = host.walk(host.open(LOOSE))
    host.journal.unlink()
    first, host.simulated, host.stated = host.simulated, [], LAUNCHES
    counted = host.walk(host.open(LOOSE))
    assert first == host.simulated and unknown == counted


def test_the_census_simulates_nothing_and_takes_every_trace_down_once(host):
    host.walk(host.open(LOOSE))
    records = decisions(host, 0)
    assert [r.launch for r in records] == list(range(LAUNCHES)) and {r.action for r in records} == {"skip"}
    assert [r.trace for r in records] == host.paths


def test_a_run_without_a_list_simulates_what_a_run_with_it_does(host):
    host.walk(host.open(LOOSE))
    first, host.simulated = host.simulated, []
    host.journal.unlink()
    listed = str(Path(host.paths[0]).parent / "kernelslist.g")
    host.walk(host.open(f"{LOOSE}\nfast_model: off", list_paths=[listed], launch_counts=[LAUNCHES]))
    assert first == host.simulated


def test_later_launches_are_drawn_by_their_permanent_random_number_alone(host):
    host.walk(host.open(LOOSE))
    drawn = [record for record in decisions(host) if record.u is not None]
    assert drawn
    for record in drawn:
        assert (record.action == "simulate") == (record.u <= record.threshold)


def test_results_do_not_change_what_the_first_pass_simulates(host):
    host.walk(host.open(LOOSE))
    actions = [(r.launch, r.action) for r in decisions(host)]
    host.journal.unlink()
    host.cycles = host.cycles[::-1].copy()
    host.walk(host.open(LOOSE))
    assert actions == [(r.launch, r.action) for r in decisions(host)]


def test_a_run_killed_at_any_byte_ends_the_same(host):
    whole = host.walk(host.open(LOOSE))
    data = host.journal.read_bytes()
    for cut in [*np.random.default_rng(0).integers(0, len(data), 12).tolist(), data.index(b'"population"') + 40]:
        host.journal.write_bytes(data[:cut])
        assert host.walk(host.open(LOOSE)) == whole
        assert len(load_run(host.journal).results) == whole["simulated"]


def test_resuming_on_other_traces_is_refused_with_the_launch(host):
    host.walk(host.open(LOOSE), limit=10)
    lines = split_lines(host.journal.read_bytes(), "it")[0]
    number = next(i for i, line in enumerate(lines) if b'"decision"' in line)
    record = json.loads(lines[number])
    record["trace"] = host.paths[record["launch"] + 1]
    lines[number] = json.dumps(record).encode()
    host.journal.write_bytes(journal_of(lines))
    with pytest.raises(JournalError, match=r"the traces have changed since this run began: hashes\.design was"):
        host.open(LOOSE)


def test_a_launch_that_cannot_be_read_is_simulated_for_certain_and_said(host):
    host.paths = [*host.paths[:50], None, "missing.traceg", *host.paths[52:]]
    summary = host.walk(host.open(LOOSE))
    assert {50, 51} <= set(host.simulated) and len(summary["degraded"]) >= 2
    assert "launch 50 of process 0 is ordered for certain" in summary["degraded"][0]
    assert "missing.traceg" in summary["degraded"][1]
    assert [r.take_all for r in decisions(host) if r.launch in (50, 51)] == ["failure", "failure"]
    assert summary["met"] and summary["launches"] == LAUNCHES


def test_on_error_abort_stops_at_a_launch_that_cannot_be_read(host):
    host.paths = ["missing.traceg", *host.paths[1:]]
    with pytest.raises(SessionError, match="missing"):
        host.walk(host.open(f"{LOOSE}\non_error: abort"))


def test_a_launch_that_fails_is_tried_again_in_a_later_pass(host):
    failed = []
    summary = host.walk(host.open(LOOSE), failing_once(host, failed))
    assert failed[0] in host.simulated and summary["met"] and summary["degraded"]


def test_launches_in_flight_hold_the_end_of_the_pass_up(host):
    session, index = through_census(host)
    waiting, status = [], 0
    while status == 0:
        waiting.append(index)
        for _ in range(2):  # asking twice gives the same answer
            assert session.on_launch(0, index, host.paths[index]).action == 0
        status, index = session.next(0, index)
    assert status == 2 and session.next(0, -2) == (2, -1)
    for index in reversed(waiting):
        host.complete(session, index)
    assert host.walk(session)["met"]


def test_a_run_ended_early_speaks_of_no_launch_that_it_has_not_seen(host):
    session = host.open(LOOSE)
    for index in range(100):
        if session.on_launch(0, index, host.paths[index])[0] == 0:
            host.complete(session, index)
    session.finish()
    content = plain(session.summary)
    assert content["launches"] == 100 and content["estimate"] is None and content["bound"] == "none"
    assert content["simulated"] + content["skipped"] == 100


def test_a_result_in_the_census_is_refused(host):
    session = host.open(LOOSE)
    session.on_launch(0, 0, host.paths[0])
    with pytest.raises(HostError, match="launch 0 of process 0 is not in flight"):
        host.complete(session, 0)


def test_the_report_reads_an_online_run(host):
    summary = host.walk(host.open(LOOSE))
    run = load_run(host.journal)
    assert run.summary.estimate == summary["estimate"]
    assert len(result_of(run).values) == LAUNCHES


@pytest.mark.parametrize(
    ("yaml", "policy", "message"),
    [
        ("clusters: online", "random", "policy random needs all launches beforehand"),
        ("clusters: online\nplan: a.kpplan", "kernelpoint", "plan: got 'a.kpplan'"),
        ("clusters: online\nprofile: a.csv", "kernelpoint", "profile: got 'a.csv'"),
        ("clusters: sometimes", "kernelpoint", "clusters"),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_first_launch(host, yaml, policy, message):
    host.stated = 10
    with pytest.raises(ConfigError, match=message):
        host.open(yaml, policy)


def test_two_online_runs_are_compared_launch_by_launch(host):
    first, a = host.cycles, host.folder / "a.kpjournal"
    host.walk(host.open(LOOSE))
    host.journal.rename(a)
    host.cycles = np.round(1.2 * first).astype(int)
    host.walk(host.open(LOOSE))
    comparison = compare_runs(load_run(a), load_run(host.journal))
    cycles = next(row for row in comparison.rows if row.counter == "cycles")
    assert cycles.ratio.contains(host.cycles.sum() / first.sum()) and cycles.tighter > 3


def test_several_applications_are_walked_together(host):
    info = {"process_count": 2, "list_paths": [None, None], "launch_counts": [60, 50]}
    session = host.open(LOOSE, **info)
    after, done, waited = [-1, -1], [False, False], 0
    while not all(done):
        for process in (0, 1):
            status, index = session.next(process, after[process])
            waited += status == 2
            done[process] = status == 1
            if status == 0:
                after[process] = index
                if session.on_launch(process, index, host.paths[index])[0] == 0:
                    session.on_complete(process, index, False, int(host.cycles[index]), 1)
    session.finish()
    content = plain(session.summary)
    assert waited and content["met"] and content["launches"] == 110
    assert [p["launches"] for p in content["processes"]] == [60, 50]


def test_several_applications_of_unknown_length_are_refused(host):
    with pytest.raises(ConfigError, match="has to state launch_counts"):
        host.open(LOOSE, process_count=2, list_paths=[None, None], launch_counts=[60, 0])


def test_where_no_launch_can_be_read_every_launch_is_simulated_and_a_finished_run_answers_on(host):
    host.paths = host.paths[:3]
    host.stated = 3
    session = host.open()
    for index in range(3):
        session.on_launch(0, index, "/no/such/trace")
    for index in range(3):
        assert session.next(0, index - 1) == (0, index) and session.on_launch(0, index).action == 0
        session.on_complete(0, index, False, 5, 5, ("reads",), (1.0,))
    assert session.next(0, -2) == (1, -1) and session.on_launch(0, 1).action == 1
    session.finish()
    assert session.summary.estimate == 15 and "no plan could be made" in session.summary.degraded[0]


def test_the_embedded_host_runs_online(traces, tmp_path):
    listed = Path(traces[0]).with_name("kernelslist.g")
    yaml = "policy: kernelpoint\nclusters: online\nerror_budget: {relative_error: 0.05}"
    done = run_host(listed, tmp_path, yaml)
    assert done.returncode == 0, done.stderr
    assert "no list names the launches before the run" in done.stdout + done.stderr
    summary = load_run(tmp_path / "run.kpjournal").content()
    assert summary["launches"] == len(traces) and summary["met"] and not summary["degraded"]
    assert summary["simulated"] + summary["skipped"] == len(traces)


def test_an_online_run_on_known_streams_imports_neither_torch_nor_scikit_learn(host):
    host.walk(host.open("error_budget: {relative_error: 0.05}"))  # fills the cache of embeddings
    host.journal.unlink()
    code = (
        "import sys\n"
        "from kernelpoint.session import boundary\n"
        f"session = boundary.open({str(host.folder / 'kernelpoint.yaml')!r}, "
        "{'simulator': 'test', 'config_hash': 'gpu', 'launch_counts': [0]}, lambda line: None)\n"
        f"session.on_launch(0, 0, {host.paths[0]!r})\n"
        "print(*[m for m in ('torch', 'sklearn', 'scipy', 'typer', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "", done.stdout + done.stderr
