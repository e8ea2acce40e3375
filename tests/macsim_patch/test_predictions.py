"""Predicted cycles of MacSim's launches: by the model of its cores, which knows what the branch predictors have learned."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelpoint import _native
from kernelpoint.config import parse_config
from kernelpoint.estimation import Estimate
from kernelpoint.fast_model import configuration_for, predict
from kernelpoint.program import Program
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import prepare
from kernelpoint.session.statement import Statement
from kernelpoint.session.validation import ReplayCheck, Validation, needs_validation, why_not_checked
from kernelpoint.session.verdict import OF_MEAN
from kernelpoint.simulators import OF_TOTAL, SPREAD
from kernelpoint.simulators.macsim import SIMULATOR
from kernelpoint.traces import ArtefactCache, read_trace_list
from kernelpoint.workload.host_info import HostInfo

REPLICATIONS = _native.macsim.REPLICATIONS
KNOBS = "num_sim_small_cores 2\nmax_block_per_core 2\nmax_threads_per_core 8\nbp_hist_length 6\n"


def predictions_of(paths, gpu, folder, identity):
    """Counters of the launches of these paths, from predictions that are kept in this folder."""
    program = Program((len(paths),), traces=list(paths))
    return predict(program, gpu, lambda line: None, ArtefactCache(folder / "kept"), files=identity).predictions


@pytest.fixture
def predicted(tmp_path):
    """Cycles and mispredictions of the launches of these paths, under MacSim's knobs."""

    def ask(paths, knobs=KNOBS):
        gpu = configuration_for("auto", "macsim", knobs, "", paths, lambda line: None)
        predictions = predictions_of(paths, gpu, tmp_path, f"{paths}")
        return predictions["cycles"].tolist(), predictions["mispredictions"].tolist()

    return ask


@pytest.fixture
def paths(launches_in, instruction):
    """Ten launches of one kernel with branches that are never taken, between two of one without."""
    branching = {0: [instruction("other", 64 * i, 0, "not") for i in range(20)]}
    computing = {0: [instruction("other", 16 * i) for i in range(20)]}
    config = launches_in("list", [computing, *[branching] * 10, computing])
    return read_trace_list(config).traces


def test_a_launch_is_predicted_to_take_less_once_its_branches_are_learned(predicted, paths):
    cycles, mispredictions = predicted(paths)
    assert mispredictions[1] > 0 and mispredictions[10] == 0
    assert cycles[1] > cycles[10]
    assert mispredictions[0] == mispredictions[11] == 0


@pytest.mark.parametrize("knob", ["perfect_bp 1", "use_branch_prediction 0"])
def test_predictors_that_are_never_wrong_cost_nothing(predicted, paths, knob):
    cycles, mispredictions = predicted(paths, f"{KNOBS}{knob}\n")
    assert set(mispredictions) == {0}
    assert cycles[10] == predicted(paths)[0][10]


def test_a_launch_without_a_readable_trace_is_not_predicted(predicted, paths, tmp_path):
    cycles, mispredictions = predicted([paths[1], "", str(tmp_path / "missing/trace.txt"), paths[1]])
    assert np.isnan(cycles).tolist() == np.isnan(mispredictions).tolist() == [False, True, True, False]


def test_a_request_for_a_line_on_its_way_is_a_miss(launches_in, instruction, tmp_path):
    load = [instruction("load", 0, 1 << 20), instruction("other", 16)]
    two_warps_and_another_core = {0: load, 1: load, 1 << 16: load}
    config = launches_in("list", [two_warps_and_another_core] * 2)
    listed = read_trace_list(config).traces
    gpu = configuration_for("auto", "macsim", KNOBS, "", listed, lambda line: None)
    counters = predictions_of(listed, gpu, tmp_path, "list")
    assert counters["l1_lookup_misses"].tolist() == [3, 0]
    assert counters["fetch_misses"].tolist() == [3, 0]
    assert counters["merged_misses"].tolist() == [2, 0], "the second warp's"


def test_the_model_of_the_cores_has_the_caches_of_the_configuration(launches_in, instruction, tmp_path):
    """Two lines take turns in a core's L1: with one way in one set each access misses, and finds its line in the last level."""
    loads = [instruction("load", 16 * i, (1 + i % 2) << 20) for i in range(8)]
    listed = read_trace_list(launches_in("list", [{0: loads}] * 2)).traces
    sizes = "l1_small_num_set 1\nl1_small_assoc {}\nllc_latency {}\n"

    def second(ways, latency):
        gpu = configuration_for("auto", "macsim", KNOBS + sizes.format(ways, latency), "", listed, lambda line: None)
        counters = predictions_of(listed, gpu, tmp_path, "list")
        return counters["cycles"][1], counters["l1_lookup_misses"][1]

    (cycles, misses), (small, all_miss), (far, also) = second(2, 100), second(1, 100), second(1, 150)
    assert (misses, all_miss, also) == (0, 6, 6), "seven records are simulated, the first of the line that was used last"
    assert cycles < small < far


def test_predictions_of_other_knobs_are_not_taken_for_these(predicted, paths):
    before = predicted(paths)
    assert predicted(paths, KNOBS.replace("bp_hist_length 6", "bp_hist_length 2")) != before
    assert predicted(paths) == before


def test_the_course_that_replay_takes_and_the_parts_of_the_total_fit_the_spreads(paths):
    """One of K numbers is at most (K - 1) / sqrt(K) standard deviations off their mean; parts are shared out by variance."""
    gpu = configuration_for("auto", "macsim", KNOBS, "", paths, lambda line: None)
    table, _ = _native.macsim.run_cores(paths, gpu, 1 << 20, lambda done, total: None)
    mean, spread, of_total, replayed = table.T[[0, 8, 9, 10]]
    assert (abs(replayed - mean) <= spread * (REPLICATIONS - 1) / REPLICATIONS**0.5 + 1e-9).all() and (replayed != mean).any()
    assert spread.max() > 0.0 and 0.0 < np.sqrt((of_total**2).sum()) <= spread.sum() * (1 + 1e-9)
    assert np.ptp(of_total[spread > 0.0] / spread[spread > 0.0]) < 1e-9


def test_only_cores_of_macsim_have_a_model_of_their_own():
    other = configuration_for("v100", "accelsim", "", "", [], lambda line: None)
    with pytest.raises(ValueError, match="no model of their own"):
        _native.macsim.run_cores([], other, 1, lambda done, total: None)


def test_an_error_of_the_progress_ends_the_predictions(paths):
    gpu = configuration_for("auto", "macsim", KNOBS, "", paths, lambda line: None)

    def fails(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.macsim.run_cores(paths, gpu, 1 << 20, fails)


@pytest.fixture
def setup(paths, monkeypatch):
    """A sampled run over the list, prepared for MacSim as it describes itself."""
    monkeypatch.setattr("kernelpoint.planning.making.LEAST_SECONDS", 0.0)

    def make(**more):
        config = parse_config({"version": 1, "policy": "kernelpoint", **more}, "test")
        trace_list = str(Path(paths[0]).parents[1] / "kernel_config.txt")
        host = HostInfo(
            "macsim", configuration=KNOBS, list_paths=(trace_list,), state_lines=64, predictor=(6, 2), keeps_l1=True
        )
        return prepare(config, host, lambda line: None)

    return make


@pytest.fixture
def scatter(setup):
    """The replay error of cycles where all pairs agree; more: keys of the configuration."""

    def of(**more):
        run = setup(**more)
        replays = InitialStates(run.host, print, plan=run.plan)
        validation = Validation(run, Sample(run, run.plan), replays)
        agreeing = ReplayCheck({"cycles": Estimate.of(0.0, 0.0)}, validations=6)
        return validation._with_trajectories(agreeing, Estimate.of(0.0, 0.0))

    return of


def test_a_bound_has_the_distance_of_one_full_run_from_the_mean_beside_the_error_of_pairs(setup, scatter):
    run, check = setup(), scatter()
    assert needs_validation(run) and check.assumption
    assert check.errors["cycles"].estimate == 0.0 and 0.0 < check.errors["cycles"].half_width < 0.5


def test_the_mean_of_all_full_runs_has_a_narrower_bound_than_one_of_them(scatter):
    single, mean = (scatter(replay={"total": total}) for total in ("run", "mean"))
    assert mean.assumption == OF_MEAN != single.assumption
    assert 0.0 < mean.errors["cycles"].half_width < 0.4 * single.errors["cycles"].half_width


@pytest.mark.parametrize("counter", ["mispredictions", "memory_requests", "llc_misses"])
def test_launches_with_another_number_of_events_than_the_model_predicts_began_with_another_state(setup, counter):
    """All take a tenth less than predicted. That is an error of replay in the share of events that differ."""
    run = setup()
    cycles, events = (run.plan.design.known[name] for name in ("cycles", SIMULATOR.cores.state_events[counter]))

    def error(count):
        sample = Sample(run, run.plan)
        validation = Validation(run, sample, InitialStates(run.host, print, plan=run.plan))
        for unit in sample.engine.wanted().tolist():
            at = np.array([unit])
            values = 0.9 * cycles.of_draw(at)[0], 1.0, count(events.of_draw(at)[0])
            sample.engine.record(unit, ("cycles", "instructions", counter), values)
        return validation._state_error()

    assert error(lambda predicted: predicted) == Estimate.of(0.0, 0.0)
    assert error(lambda predicted: predicted + 1e9).estimate == pytest.approx(-1 / 9, rel=1e-3)
    assert -1 / 9 < error(lambda predicted: 20.0 * predicted + 20.0).estimate < 0.0


@pytest.mark.parametrize(("counters", "warns"), [((), True), (("mispredictions",), False)])
def test_a_build_that_does_not_report_mispredictions_is_named_with_what_to_do(setup, counters, warns):
    run = setup()
    sample = Sample(run, run.plan)
    validation = Validation(run, sample, InitialStates(run.host, print, plan=run.plan))
    for unit in sample.engine.wanted().tolist():
        sample.engine.record(unit, ("cycles", "instructions", *counters), (900.0, 1.0, *(0.0 for _ in counters)))
    check = validation._with_trajectories(ReplayCheck({"cycles": Estimate.of(0.0, 0.0)}), Estimate.of(0.0, 0.0))
    sample.engine.systematic.set(check.errors)
    sample.look = sample.engine.look()
    summary = Statement(run, sample, check, [], is_done=True).summary
    named = [text for text in summary.warnings if "MacSim does not report mispredictions" in text]
    assert [("kernelpoint patch macsim" in text) for text in named] == [True] * warns


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"error_budget": {"counter": "llc_misses"}}, "branch predictors learn"),
        ({"replay": {"validation": 0}}, "replay.validation is 0"),
        ({"fast_model": "off"}, "branch predictors learn"),
    ],
)
def test_where_predictions_tell_nothing_of_a_counter_the_bound_is_on_sampling_error_only(setup, more, reason):
    run = setup(**more)
    assert why_not_checked(run).startswith(reason) and not needs_validation(run)


def test_a_full_run_has_no_replay_error(setup):
    assert not needs_validation(setup(policy="all"))


def test_where_no_predictor_learns_launches_and_totals_scatter_by_their_phases(paths, tmp_path):
    gpu = configuration_for("auto", "macsim", f"{KNOBS}perfect_bp 1\n", "", paths, lambda line: None)
    paths = [*paths, ""]
    predictions = predictions_of(paths, gpu, tmp_path, "perfect")
    cycles = predictions["cycles"][:-1]
    assert (predictions[SPREAD][:-1] >= 0.03 * cycles).all()
    of_total = np.hypot(0.005 * cycles.sum(), 0.03 * np.sqrt((cycles**2).sum()))
    assert np.sqrt((predictions[OF_TOTAL][:-1] ** 2).sum()) == pytest.approx(of_total, rel=0.01)
    assert np.isnan(predictions[SPREAD][-1]) and np.isnan(predictions[OF_TOTAL][-1])


@pytest.mark.parametrize("damaged", [False, True])
def test_replay_takes_the_states_that_were_recorded_with_the_predictions(setup, tmp_path, monkeypatch, damaged):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    host = replace(setup().host, residency=(2, 2, 8, 0, 0))
    kept = tmp_path / "cache/artefacts.sqlite"
    if damaged:
        with sqlite3.connect(kept) as file:
            file.execute("UPDATE artefacts SET value = x'00' WHERE kind = 'states of cores'")
        file.close()
    lines = []
    recorded = InitialStates(host, lines.append).before(0, 8)
    kept.unlink()
    passed = InitialStates(host, lines.append).before(0, 8)
    assert np.array_equal(recorded.counters, passed.counters) and (recorded.counters != 3).any()
    assert [str(kept) in line for line in lines] == [True] * damaged
