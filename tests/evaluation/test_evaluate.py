"""One cell: what a policy may see, and how it is judged."""

import numpy as np
import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.errors import ConfigError, KernelPointError, ProfileError
from kernelpoint.evaluation.evaluate import Cell, Inputs, evaluate
from kernelpoint.evaluation.workload import Workload, load_workload, parse_request
from kernelpoint.policies.methods.pka import COUNTERS
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import ProgramBuilder

from .conftest import profile_text


def load(text, communication=False):
    request = parse_request(text)
    return load_workload(request, communication, lambda line: None)


def row_of(workload, policy, budget=0.05, seed=0, **more):
    return evaluate(Inputs(workload, lambda line: None), Cell(policy, budget, seed, **more))


def test_simulating_everything_has_no_error_and_no_speedup(truth_file):
    row = row_of(load(str(truth_file)), "all")
    assert row.error == pytest.approx(0, abs=1e-12) and row.cycle_speedup == pytest.approx(1)
    assert row.simulated == row.launches == 300 and row.held and row.half_width == 0


@pytest.fixture
def other(tmp_path):
    """Times of another run of the same program."""
    (path := tmp_path / "other.csv").write_text(profile_text(seed=1))
    return path


@pytest.mark.parametrize(
    ("profile", "marked"),
    [
        (None, {"stem": True, "random": False, "kernelpoint": False}),
        ("other.csv", {"stem": False}),
        ("truth", {"stem": True, "random": False, "kernelpoint": True}),
    ],
)
def test_a_method_that_plans_from_the_times_that_judge_it_is_marked(truth_file, other, profile, marked):
    key = {None: "", "other.csv": f",profile={other}"}.get(profile, f",profile={profile}")
    workload = load(f"truth={truth_file}{key}")
    assert {policy: row_of(workload, policy).from_truth for policy in marked} == marked


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ("pka", "profile of Nsight Compute"),
        ("sieve", "counter such as smsp__inst_executed.sum"),
        ("gcl", "needs the traces"),
    ],
)
def test_what_a_policy_lacks_is_a_reason_and_no_failure(truth_file, policy, names):
    row = row_of(load(str(truth_file)), policy)
    assert names in row.reason and np.isnan(row.error)


def test_a_policy_that_can_do_without_times_never_sees_those_of_the_truth(truth_file):
    inputs = Inputs(load(str(truth_file)), lambda line: None)
    for name in ("kernelpoint", "random"):
        profile, sees = inputs._profile(load_policy(name))
        assert not sees and profile is not None and np.isnan(profile.duration).all(), name
    profile, sees = inputs._profile(load_policy("stem"))
    assert sees and np.isfinite(profile.duration).all()


@pytest.mark.parametrize("informed", [False, True], ids=["usual", "on demand"])
def test_a_policy_that_plans_from_counters_never_sees_the_total_it_is_judged_on(informed):
    builder = ProgramBuilder("ncu.csv")
    for launch in range(40):
        size = 1.0 + launch % 4
        counters = {name: size * (i + 1) for i, name in enumerate(COUNTERS)}
        counters |= {"cycles": 500 * size, "gpc__cycles_elapsed.max": 500 * size}
        builder.add(f"k{launch % 4}", (1, 1, 1), (32, 1, 1), duration=100.0 * size, counters=counters)
    truth = builder.finish()
    workload = Workload("w", truth.time, "ns", truth, from_truth=True, informed=informed)
    seen, marked = Inputs(workload, lambda line: None)._profile(load_policy("pka"))
    assert not marked and np.isnan(seen.duration).all() and set(seen.counters) == set(COUNTERS)
    row = row_of(workload, "pka", 0.01)
    assert not row.from_truth and row.error == pytest.approx(0) and row.simulated == 4


def test_the_number_of_principal_kernels_is_chosen_on_another_run_where_there_is_one(truth_file, other):
    seen, marked = Inputs(load(f"truth={truth_file},profile={other}"), lambda line: None)._profile(load_policy("pka"))
    assert not marked and np.isfinite(seen.duration).all()


def test_a_detailed_profile_of_some_launches_is_joined_with_names_and_shapes_of_all(truth_file, tmp_path):
    prefix = tmp_path / "prefix.csv"
    prefix.write_text("".join(profile_text(seed=1).splitlines(keepends=True)[:41]))
    said = []
    request = parse_request(f"truth={truth_file},profile={prefix}")
    program = load_workload(request, False, said.append).program
    assert np.isfinite(program.duration).sum() == 40 and all(program.names)
    assert any("40 of 300 launches" in line for line in said)


def test_a_profile_of_another_run_is_what_methods_plan_from_and_the_truth_is_what_judges(truth_file, tmp_path):
    slower = tmp_path / "slower.csv"
    slower.write_text(profile_text(seed=0, scale=3.0))
    workload = load(f"truth={truth_file},profile={slower}")
    row = row_of(workload, "stem", 0.03)
    assert row.total == pytest.approx(load(str(truth_file)).total) and abs(row.error) < 0.05


def test_the_stated_bound_is_promised_measured_or_none(truth_file, tmp_path):
    text = "launch_index,kernel_name,cycles,warp_instructions\n"
    text += "".join(f"{i},k{i % 3},{100 + i % 3},{50 + i % 3}\n" for i in range(60))
    results = tmp_path / "results.csv"
    results.write_text(text)
    workload = load(str(results))
    assert workload.counter == "cycles"
    assert row_of(workload, "stem").bound == "promised" and row_of(workload, "stem").half_width == 0.05
    assert row_of(workload, "stem", bound="sequential").bound == "sequential"
    sieve = row_of(workload, "sieve")
    assert sieve.bound == "none" and sieve.held is None and np.isnan(sieve.half_width)


def test_a_bound_holds_exactly_when_the_error_is_within_it_and_the_speedup_is_of_the_total(truth_file):
    workload = load(str(truth_file))
    rows = [row_of(workload, policy, 0.02, seed) for policy in ("random", "stem") for seed in range(5)]
    for row in rows:
        assert row.held == (abs(row.estimate - row.total) <= row.half_width * row.estimate * (1 + 1e-12))
        assert row.cycle_speedup == pytest.approx(row.total / row.simulated_total)


def test_latency_is_taken_off_for_the_second_error_which_no_latency_leaves_out(truth_file):
    assert np.isnan(row_of(load(str(truth_file)), "random").error_beyond_latency)
    workload = load(f"truth={truth_file},latency=1000")
    row = row_of(workload, "random")
    assert row.error_beyond_latency == pytest.approx(row.error * row.total / (row.total - 300 * 1000))


@pytest.mark.parametrize(
    ("latency", "message"),
    [*((value, r"the shortest launch of .*truth\.csv") for value in ("1e9", "-1")),
     *((value, "expected a finite number") for value in ("nan", "inf", "many"))],
)  # fmt: skip
def test_a_latency_that_is_not_below_the_shortest_launch_is_refused(truth_file, latency, message):
    with pytest.raises(KernelPointError, match=rf"latency: got .*{message}"):
        load(f"truth={truth_file},latency={latency}")


def test_equal_seeds_give_equal_rows_and_others_differ(truth_file):
    workload = load(str(truth_file))
    estimates = [row_of(workload, "random", 0.05, seed).estimate for seed in (0, 0, 1)]
    assert estimates[0] == estimates[1] != estimates[2]


def test_nccl_is_dropped_and_said_unless_kept(tmp_path):
    path = tmp_path / "nccl.csv"
    path.write_text(profile_text(nccl=True))
    assert load(str(path)).size == 300 and any("NCCL" in note for note in load(str(path)).notes)
    assert load(str(path), communication=True).size == 301


@pytest.mark.parametrize(
    "text",
    ["truth=a.csv,colour=red", "name=x", "host=v100", "truth=a.csv,latency=much", "truth=a.csv,profile=host:v100"],
)
def test_a_workload_that_makes_no_sense_is_refused(text):
    with pytest.raises(ConfigError, match="--workload"):
        parse_request(text)


def test_a_profile_of_another_workload_is_refused(truth_file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(profile_text(count=40).replace(",k", ",other"))
    with pytest.raises(ProfileError, match="seems to be of another workload"):
        load(f"truth={truth_file},profile={other}")


def test_the_truth_under_another_name_is_recognised(truth_file, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(truth_file.read_bytes())
    workload = load(f"truth={truth_file},profile={copy}")
    assert row_of(workload, "stem").from_truth and any("very times" in note for note in workload.notes)


def test_runs_that_know_no_names_get_those_of_the_traces(tmp_path):
    traces = synthesised(tmp_path / "traces", "iterative-solver", 12, rows=1024)
    for name in ("here", "elsewhere"):
        rows = "".join(f"{i},,{(2 if name == 'here' else 3) * (100 + i)}\n" for i in range(12))
        (tmp_path / f"{name}.csv").write_text("launch_index,kernel_name,cycles\n" + rows)
    workload = load(f"truth={tmp_path / 'here.csv'},profile={tmp_path / 'elsewhere.csv'},traces={traces}")
    assert all(workload.program.names) and len(workload.program.names.distinct) > 1
    assert workload.program.time.tolist() == [3 * (100 + i) for i in range(12)]


def test_validation_launches_count_as_simulated(tmp_path):
    """A run with a bound over traces makes them; a policy without a bound, or a workload without traces, has none."""
    traces = synthesised(tmp_path / "traces", "iterative-solver", 120, rows=1024)
    rows = "".join(f"{i},,{1000 + i}\n" for i in range(120))
    (tmp_path / "truth.csv").write_text("launch_index,kernel_name,cycles\n" + rows)
    named = f"truth={tmp_path / 'truth.csv'}"
    with_traces = load(f"{named},traces={traces},fast_model=off")
    loose, tight = (row_of(with_traces, "kernelpoint", budget) for budget in (0.05, 0.01))
    assert 2 <= loose.validation < tight.validation < tight.simulated
    assert tight.simulated_total > 1000 * tight.simulated and tight.cycle_speedup < 120 / tight.simulated * 1.12
    assert row_of(with_traces, "gcl").validation == row_of(load(named), "kernelpoint").validation == 0


@pytest.mark.parametrize("budget", [0.05, 0.01])
def test_a_comparison_draws_what_the_simulator_draws(tmp_path, budget):
    traces = synthesised(tmp_path / "traces", "iterative-solver", 120, rows=1024)
    keys = {"fast_model": "rtx", "error_budget": {"relative_error": budget}}
    run = kp.simulate(traces, tmp_path / "run.kpjournal", gpu="v100", **keys)
    row = row_of(load(f"traces={traces},host=v100,fast_model=rtx"), "kernelpoint", budget)
    validation = len(run.validations)
    assert (row.simulated - row.validation, row.passes) == (run.ended().simulated, run.ended().passes)
    assert (row.validation > 0) == (validation > 0)


def test_the_latency_that_the_truth_does_not_state_is_taken_out(tmp_path):
    """Launches of 5,000 constant cycles and some more: fewer are simulated than where all cycles are predicted."""
    traces = synthesised(tmp_path / "traces", "iterative-solver", 120, rows=1024)
    host = load(f"traces={traces},host=v100,fast_model=rtx")
    rows = "".join(f"{i},,{cycles + 5000:.0f}\n" for i, cycles in enumerate(host.results))
    (tmp_path / "truth.csv").write_text("launch_index,kernel_name,cycles\n" + rows)
    named = f"truth={tmp_path / 'truth.csv'},traces={traces},fast_model=rtx"
    row, without = (row_of(load(text), "kernelpoint", 0.01) for text in (f"{named},latency=5000", named))
    assert row.held and row.simulated < without.simulated
