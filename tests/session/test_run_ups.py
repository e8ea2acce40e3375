"""Misses of replay are measured before the sample is drawn, and are part of the bound."""

import itertools
import random

import numpy as np
import pytest

from kernelpoint.errors import HostError
from kernelpoint.journal import RunUpRecord, load_run
from kernelpoint.session.phases.run_ups import places
from kernelpoint.session.replays import KEPT, REPLAYED

LAUNCHES = 200
LOOSE = "policy: random\nerror_budget: {relative_error: 0.1}"
COUNTERS = ("reads",)


class ReplayingHost:
    """A host whose launches take `bias` more from replayed state, and one more after each launch with its own state."""

    def __init__(self, host, bias=0.0):
        self.host, self.bias = host, bias
        (host.folder / "kernel-1.traceg").write_text("-kernel name = k\n")
        (host.folder / "kernelslist.g").write_text("kernel-1.traceg\n" * LAUNCHES)
        self.seen: list[tuple[int, int]] = []  # launch, state

    def open(self, yaml=LOOSE, **info):
        return self.host.open(yaml, state_lines=64, list_paths=[str(self.host.folder / "kernelslist.g")], **info)

    def step(self, session, index, fails=()):
        state = session.on_launch(0, index).state
        self.seen.append((index, state))
        if index in fails:
            session.on_abort(0, index, "no memory")
            return
        cycles = int(self.host.cycles[index] * (1.0 + self.bias * (state == REPLAYED)))
        session.on_complete(0, index, False, cycles, 10, COUNTERS, (0.0,))

    def run(self, session, **how):
        return self.host.run(session, lambda s, i: self.step(s, i, **how))


def test_run_ups_come_first_with_their_own_state_and_then_replayed(host):
    found = ReplayingHost(host)
    found.run(found.open())
    (a, b), (c, d), (e, f) = ((place[0], place[1]) for place in places(0, LAUNCHES, 3))
    real = [(a, REPLAYED), (b, KEPT), (c, REPLAYED), (d, KEPT), (e, REPLAYED), (f, KEPT)]
    assert found.seen[:9] == [*real, (b, REPLAYED), (d, REPLAYED), (f, REPLAYED)]
    assert all(state == REPLAYED for _, state in found.seen[9:])


def test_what_replay_misses_is_in_the_half_width_and_the_first_line(host):
    exact = ReplayingHost(host).run(ReplayingHost(host).open(LOOSE + "\nresume: never"))
    biased = ReplayingHost(host, bias=0.02)
    summary = biased.run(biased.open(LOOSE + "\nresume: never"))
    assert exact["covers"] == summary["covers"] == "total error"
    assert exact["replay_errors"]["cycles"] == {"error": 0.0, "half_width": 0.0}
    assert summary["replay_errors"]["cycles"]["error"] == pytest.approx(0.02, abs=5e-4)
    assert any("total within +- " in line and "error budget met" in line for line in host.log)


def test_an_error_of_replay_above_the_budget_is_not_called_met(host):
    found = ReplayingHost(host, bias=0.05)
    summary = found.run(found.open("policy: random\nerror_budget: {relative_error: 0.03}"))
    assert not summary["met"] and summary["relative_half_width"] > 0.05 - 1e-3
    assert not any("error budget met" in line for line in host.log)


def test_run_ups_count_as_simulated_cycles(host):
    found = ReplayingHost(host)
    summary = found.run(found.open())
    cycles = sum(host.cycles[index] for index, _ in found.seen)
    assert summary["cycle_speedup"] == pytest.approx(summary["estimate"] / cycles)


@pytest.mark.parametrize(
    ("yaml", "info", "reason"),
    [
        (LOOSE + "\nreplay: {check: 0}", {}, "replay.check is 0"),
        (LOOSE, {"state_lines": 0}, "this simulator does not restore the state between launches"),
        (LOOSE, {"predictor": (14, 2)}, "branch predictors learn during the whole run, which run-ups cannot tell"),
        (LOOSE + "\nreplay: {check: 10}", {}, "the list is too short for run-ups"),
    ],
)
def test_without_run_ups_the_first_line_says_why_the_bound_is_on_sampling_error_only(host, yaml, info, reason):
    found = ReplayingHost(host)
    session = found.host.open(yaml, **{"state_lines": 64, "list_paths": [str(host.folder / "kernelslist.g")], **info})
    summary = found.run(session)
    assert summary["covers"] == "sampling error" and summary["bound_excludes"] == reason
    assert any(f"bound on sampling error only ({reason})" in line for line in host.log)
    assert any(reason in text for text in summary["not_covered"])


def test_a_run_killed_at_random_bytes_also_in_its_run_ups_ends_with_the_same_summary(host):
    found = ReplayingHost(host, bias=0.01)
    whole = found.run(found.open())
    journal = host.folder / "run.kpjournal"
    data = journal.read_bytes()
    chance = random.Random(3)
    points = chance.sample(range(data.index(b"\n") + 1, len(data)), 15)
    last_run_up = data.rindex(b'"type":"run_up"')
    for point in [*points, *chance.sample(range(data.index(b"\n") + 1, last_run_up), 15)]:
        journal.write_bytes(data[:point])
        assert found.run(found.open()) == whole


def test_a_run_up_that_fails_is_left_out(host):
    found = ReplayingHost(host)
    first = places(0, LAUNCHES, 3)[0][1]
    session = found.open()
    for _ in range(2):
        found.step(session, session.next(0, -1)[1], fails=(first,))
    summary = found.run(session)
    assert summary["covers"] == "total error" and not summary["degraded"]


def test_two_failed_run_ups_of_three_leave_the_error_unknown(host):
    found = ReplayingHost(host)
    fails = {place[0] for place in places(0, LAUNCHES, 3)[:2]}
    session = found.open()
    for _ in range(3):
        found.step(session, session.next(0, -1)[1], fails=fails)
    summary = found.run(session)
    assert summary["bound_excludes"] == "too few run-ups could be simulated"


def test_a_launch_that_is_not_the_next_of_its_run_up_is_skipped_and_cannot_have_a_result(host):
    found = ReplayingHost(host)
    session = found.open()
    launch = session.next(0, -1)[1]
    assert session.on_launch(0, launch + 1)[0] == 1
    with pytest.raises(HostError, match="not in flight"):
        session.on_complete(0, launch, False, 10, 10, COUNTERS, (0.0,))
    with pytest.raises(HostError, match="the list has 200 launches"):
        session.on_launch(0, LAUNCHES)


def test_a_full_run_keeps_the_state_and_says_where_it_was_resumed(host):
    found = ReplayingHost(host)
    yaml = "policy: all"
    session = found.open(yaml)
    for _ in range(3):
        found.step(session, session.next(0, -1 if not found.seen else found.seen[-1][0])[1])
    session.on_launch(0, 3)
    session.journal.close()
    summary = found.run(found.open(yaml))
    assert [state for _, state in found.seen] == [KEPT, KEPT, KEPT, REPLAYED, *[KEPT] * (LAUNCHES - 4)]
    assert summary["restarts"] == [3] and "resumed at launch unit 3, with replayed state" in summary["warnings"][0]
    assert "run_up" not in (host.folder / "run.kpjournal").read_text()


def test_an_uninterrupted_full_run_warns_of_nothing(host):
    found = ReplayingHost(host)
    summary = found.run(found.open("policy: all"))
    assert summary["restarts"] == [] and summary["covers"] == "exact" and not summary["warnings"]


@pytest.mark.parametrize(("launches", "count"), [(90, 3), (200, 3), (3000, 3), (10**6, 100)])
def test_run_ups_do_not_meet_and_lie_all_over_the_list(launches, count):
    found = places(4, launches, count)
    ends = [(place[0], place[-1]) for place in found]
    assert ends[0][0] >= 0 and ends[-1][1] < launches
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
    assert places(4, launches, count) == found != places(5, launches, count)


def test_the_journal_holds_both_results_of_a_run_up(host):
    found = ReplayingHost(host, bias=0.01)
    found.run(found.open())
    run = load_run(host.folder / "run.kpjournal")
    states = [(record.run_up, record.state) for record in run.of(RunUpRecord)]
    again = [(i, "replayed") for i in range(3)]
    assert states == [*((i, state) for i in range(3) for state in ("replayed", "kept")), *again]
    assert np.isfinite([record.counters["cycles"] for record in run.of(RunUpRecord)]).all()
