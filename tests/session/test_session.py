"""The state machine behind the ABI: passes, decisions, failures, the books."""

import gc

import numpy as np
import pytest
from simulated_host import failing_once

from kernelpoint.errors import ConfigError, HostError
from kernelpoint.estimation import ErrorBudget, Estimate, Look
from kernelpoint.journal import PassRecord, load_run
from kernelpoint.journal.records import plain
from kernelpoint.planning.plan import Plan
from kernelpoint.session.recorder import Recorder

LOOSE = "policy: random\nerror_budget: {relative_error: 0.05}"
TIGHT = "policy: random\nerror_budget: {relative_error: 0.001}"


def test_all_simulates_every_launch_in_order_and_states_the_exact_total(host):
    summary = host.run(host.open("policy: all"))
    assert host.simulated == list(range(200))
    assert summary["estimate"] == host.cycles.sum() and summary["half_width"] == 0
    assert (summary["simulated"], summary["skipped"], summary["passes"]) == (200, 0, 1)


def test_random_meets_a_loose_budget_with_its_pilot(host):
    summary = host.run(host.open(LOOSE))
    assert summary["simulated"] == 30 and summary["met"]
    assert abs(summary["estimate"] / host.cycles.sum() - 1) < 0.05
    assert 0 < summary["relative_half_width"] <= 0.05


def test_a_budget_not_met_brings_further_passes_until_it_is(host):
    summary = host.run(host.open(TIGHT))
    assert summary["passes"] > 1 and summary["met"] and summary["relative_half_width"] <= 0.001


def test_launches_run_in_program_order_within_each_pass(host):
    host.run(host.open(TIGHT))
    run = load_run(host.folder / "run.kpjournal")
    for number in {r.pass_index for r in run.of(PassRecord)}:
        order = [r.launch for r in run.results.values() if r.pass_index == number]
        assert order == sorted(order)


def test_the_same_seed_gives_the_same_sample_and_another_seed_another(host, tmp_path):
    samples = []
    for number, seed in enumerate((3, 3, 4)):
        host.simulated = []
        host.run(host.open(f"{LOOSE}\nseed: {seed}\njournal: {tmp_path / str(number)}"))
        samples.append(host.simulated)
    assert samples[0] == samples[1] != samples[2]


def test_every_counter_gets_its_own_bound_from_the_same_sample(host):
    summary = host.run(host.open(LOOSE))
    assert set(summary["counters"]) == {"cycles", "instructions", "reads"}
    assert summary["counters"]["reads"]["half_width"] > 0


def test_a_counter_that_no_simulated_launch_has_any_of_has_no_bound_where_nothing_limits_it(host):
    def complete(session, index):
        host.simulated.append(index)
        session.on_complete(0, index, False, int(host.cycles[index]), 10 + index, ("spills",), (0.0,))

    session = host.open(LOOSE)
    spills = host.run(session, complete)["counters"]["spills"]
    assert spills["half_width"] is None and "at_most" not in spills
    assert any(
        line.endswith("no bound on spills: few simulated launches have any, or none, and no trace limits what others may have")
        for line in host.log
    )


def test_a_counter_that_the_host_does_not_report_is_refused_with_those_it_does(host):
    session = host.open("policy: random\nerror_budget: {counter: joules}")
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    with pytest.raises(HostError, match="got 'joules'; this host reports cycles, instructions, reads, ipc"):
        host.complete(session, index)


@pytest.mark.parametrize("policy", ["random", "all", "kernelpoint\nclusters: online"])
def test_a_counter_that_the_host_does_not_name_is_refused_when_the_run_opens(host, policy):
    with pytest.raises(HostError, match=r"got 'read'; this host reports .*, reads, ipc \(did you mean reads\?\)"):
        host.open(f"policy: {policy}\nerror_budget: {{counter: read}}", counter_names=["reads"])
    assert not (host.folder / "run.kpjournal").exists()


@pytest.mark.parametrize("counter", ["reads", "ipc"])
def test_a_counter_that_the_host_names_and_a_ratio_of_two_may_be_budgeted(host, counter):
    budget = f"error_budget: {{relative_error: 0.05, counter: {counter}}}"
    summary = host.run(host.open(f"policy: random\n{budget}", counter_names=["reads"]))
    assert summary["counter"] == counter


def test_a_result_with_other_counters_than_the_host_named_is_refused(host):
    session = host.open(LOOSE, counter_names=["writes"])
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    with pytest.raises(HostError, match=r"got \('cycles', 'instructions', 'reads'\); allowed: \(.*'writes'\)"):
        host.complete(session, index)


def test_an_aborted_launch_is_tried_again_in_the_next_pass(host):
    tried = []
    summary = host.run(host.open(LOOSE), failing_once(host, tried))
    assert tried[0] in host.simulated and summary["simulated"] == 30
    assert summary["half_width"] is not None and "no memory" in summary["degraded"][0]


def without(host, victims):
    """The deeds of a host that cannot simulate some launches."""

    def act(session, index):
        if index in victims:
            session.on_abort(0, index, f"kernel-{index}.traceg: cut short")
        else:
            host.complete(session, index)

    return act


def test_a_launch_that_fails_twice_ends_a_full_run_without_a_stated_bound(host):
    session = host.open("policy: all")
    summary = host.run(session, without(host, {17}))
    assert summary["half_width"] is None and summary["bound"] == "none" and summary["lost"] == [17]
    assert summary["simulated"] == 199 and summary["counters"]["cycles"]["simulated"] > 0


def test_a_launch_that_fails_twice_is_left_out_of_a_sample_and_the_bound_is_wider(host):
    session = host.open(LOOSE)
    victim = session.next(0, -1)[1]
    summary = host.run(session, without(host, {victim}))
    assert summary["lost"] == [victim] and summary["simulated"] == 30, "another launch is drawn in its place"
    assert abs(summary["estimate"] - host.cycles.sum()) <= summary["half_width"]
    assert summary["relative_half_width"] > summary["relative_error"], "the budget, plus what was lost"
    assert not summary["met"] and summary["counters"]["cycles"]["computed_half_width"] < 0.05 * summary["estimate"]
    sentences = [line for line in summary["degraded"] if f"kernel-{victim}.traceg" in line]
    assert len(sentences) == 1 and any("1 launch has no result" in line for line in summary["warnings"])
    assert session.launch_estimate(0, victim)[2] is False
    costs = [session.launch_estimate(0, index)[0] for index in range(200)]
    assert sum(costs) == pytest.approx(summary["estimate"])


def test_an_error_budget_below_what_the_launches_that_fail_may_be_is_not_met(host):
    summary = host.run(host.open(TIGHT), without(host, {40, 41}))
    assert set(summary["lost"]) <= {40, 41} and summary["lost"], "so small a budget draws nearly all"
    assert not summary["met"] and summary["half_width"] > 0.9 * len(summary["lost"]) * host.cycles.mean()
    assert abs(summary["estimate"] - host.cycles.sum()) <= summary["half_width"]
    assert summary["simulated"] < 200, "no draw takes away that a launch is not known"


def test_a_run_in_which_every_launch_fails_says_nothing(host):
    summary = host.run(host.open(LOOSE), without(host, set(range(200))))
    assert summary["estimate"] is None and summary["half_width"] is None and summary["simulated"] == 0


def test_a_host_that_never_completes_a_launch_gets_no_bound(host):
    session = host.open(LOOSE)
    after = -1
    for _ in range(30):
        after = session.next(0, after)[1]
        session.on_launch(0, after)
        if session.loop.sample.results < 29:
            host.complete(session, after)
    assert session.next(0, after) == (2, -1)
    assert session.finish().flags & 2 and plain(session.summary)["never_completed"] == [after]


def test_overlapping_launches_and_a_cycles_budget_do_not_go_together(host):
    with pytest.raises(ConfigError, match="overlap"):
        host.open(LOOSE, concurrent=True)


def test_a_host_that_knows_neither_list_nor_count_is_refused(host):
    with pytest.raises(ConfigError, match="and names neither"):
        host.open(LOOSE, launch_counts=[0])


def test_progress_lines_tell_pass_launches_and_bound(host):
    host.run(host.open(LOOSE))
    assert any("pass 0: 30 of 200 launches to simulate" in line for line in host.log)
    assert any("half-width within the error budget" in line for line in host.log)


def test_a_pass_within_the_budget_says_why_the_run_goes_on():
    log = []
    look = Look(1, {"cycles": Estimate.of(200.0, 2.0)}, {}, met=False, goes_on="the beginning is unlike the rest")
    Recorder(None, log.append, stops_at_errors=False).looked(look, 1, ErrorBudget(0.01))
    wanted = "cycles 200 +- 1 %; within the error budget, but the run goes on: the beginning is unlike the rest"
    assert log == [f"kernelpoint: pass 1: {wanted}"]


def test_the_journal_tells_the_estimate_of_every_launch_and_they_add_up_to_the_total(host):
    summary = host.run(host.open(LOOSE))
    run = load_run(host.folder / "run.kpjournal")
    cycles = run.launch_estimates.cycles
    assert cycles.sum() == pytest.approx(summary["estimate"], rel=1e-12)
    assert all(cycles[unit] == result.counters["cycles"] for unit, result in run.results.items())


def start(host, victims):
    """The summary of a run that goes on from its journal; None where a launch ended the simulator."""

    def act(session, index):
        if index in victims:
            session.on_abort(0, index, "the simulator ended in it: an assertion failed")
            raise SystemExit
        host.complete(session, index)

    try:
        return host.run(host.open(LOOSE), act)
    except SystemExit:
        pass
    gc.collect()  # the journal is unlocked, as at the end of a process
    return None


def test_a_launch_that_ended_the_simulator_is_left_out_at_the_next_start(host):
    assert start(host, set(range(200))) is None
    summary = start(host, ())
    (victim,) = summary["lost"]
    assert victim not in host.simulated and summary["simulated"] == 30 and not summary["met"]
    assert abs(summary["estimate"] - host.cycles.sum()) <= summary["half_width"]
    assert any(f"launch {victim} is left out: the simulator ended in it" in line for line in summary["degraded"])


def test_two_launches_of_a_kernel_and_shape_that_ended_the_simulator_speak_for_all_of_them(host, monkeypatch):
    shapes = (np.arange(200) % 5 == 3).astype(np.int64)
    monkeypatch.setattr(Plan, "kernels_and_shapes", lambda plan: shapes)
    alike = set(np.flatnonzero(shapes).tolist())
    assert [start(host, alike), start(host, alike)] == [None, None]
    summary = start(host, alike)
    assert set(summary["lost"]) == alike, "a third start meets none of them"
    assert abs(summary["estimate"] - host.cycles.sum()) <= summary["half_width"]


def test_kernels_have_no_records_where_the_cycles_of_a_launch_are_unknown(host):
    session = host.open("policy: random")
    host.run(session)
    statement = session._statement
    statement._kernels = ["gemm", "copy"], np.arange(200) % 2
    assert [record.name for record in statement._kernel_records()] == ["gemm", "copy"]
    statement._values["cycles"] = np.where(np.arange(200) == 3, np.nan, 5.0)
    assert statement._kernel_records() == []
