"""Every policy behind the ABI: planned from a trace list or a profile, run to its end, books adding up."""

import csv

import numpy as np
import pytest
from simulated_host import completed
from workloads import synthesised

from kernelpoint.errors import ConfigError, PolicyError, ProfileError
from kernelpoint.estimation import AssistedDesign
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.names import demangle
from kernelpoint.session import boundary
from kernelpoint.traces import read_header, read_trace_list
from kernelpoint.workload import Available, Need

LAUNCHES = 60


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("traces"), "iterative-solver", LAUNCHES, rows=1024)


@pytest.fixture
def profile(traces, tmp_path):
    """A uniform CSV of the list as a profiler would see it: demangled names, one launch missing, a copy in between."""
    path = tmp_path / "profile.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["idx", "name", "grid", "block", "regs", "smem", "stream", "ts_us", "dur_us"])
        writer.writerow([-1, "Memcpy HtoD", "", "", "", "", 7, 0, 3])
        for index, trace in enumerate(read_trace_list(traces).traces):
            shape = read_header(trace)
            if index != 7:
                sizes = ("x".join(map(str, shape.grid)), "x".join(map(str, shape.block)))
                time = 5 + len(shape.kernel_name) % 7 + 0.01 * (index % 3)
                writer.writerow([index, demangle(shape.kernel_name), *sizes, shape.registers, 0, 7, 10 * index, time])
    return path


def open_session(tmp_path, traces, policy, extra="", log=None):
    config = tmp_path / "kernelpoint.yaml"
    config.write_text(f"version: 1\npolicy: {policy}\njournal: {tmp_path / 'run.kpjournal'}\n{extra}")
    info = {"simulator": "test", "config_hash": "x", "list_paths": [str(traces)], "launch_counts": [LAUNCHES]}
    return boundary.open(str(config), info, (log if log is not None else []).append)


def run(session):
    cycles = 3000 + np.random.default_rng(0).integers(0, 50, LAUNCHES)
    summary = completed(session, lambda run, index: run.on_complete(0, index, False, int(cycles[index]), 10))
    return summary, int(cycles.sum())


@pytest.mark.parametrize("policy", POLICIES.names())
def test_every_policy_runs_behind_the_abi(tmp_path, traces, profile, policy):
    needs_profile = Need.PROFILE in load_policy(policy).inputs(Available(traces=True))
    session = open_session(tmp_path, traces, policy, f"profile: {profile}\n" if needs_profile else "")
    summary, total = run(session)
    assert summary["simulated"] + summary["skipped"] == LAUNCHES and not summary["degraded"]
    assert summary["estimate"] == pytest.approx(total, rel=0.05)
    assert (summary["bound"] != "none") == (load_policy(policy).bounds[0] == "sequential")


@pytest.mark.parametrize("policy", ["stem", "allegro"])
def test_a_policy_that_needs_a_profile_says_so_before_the_run(tmp_path, traces, policy):
    with pytest.raises(PolicyError, match=f"{policy} plans from the time or counters .* with `profile:`"):
        open_session(tmp_path, traces, policy)


def test_what_does_not_match_between_profile_and_list_is_said_and_simulated(tmp_path, traces, profile):
    log = []
    session = open_session(tmp_path, traces, "stem", f"profile: {profile}\n", log)
    assert any("59 of 60 launches are in the profile" in line for line in log)
    assert any("the first is launch 7" in line for line in log)
    strata = session.setup.plan.design.strata
    assert strata[7] == -1 and (np.delete(strata, 7) >= 0).all()
    session.journal.close()


def test_a_profile_of_another_workload_is_refused(tmp_path, traces):
    other = tmp_path / "other.csv"
    other.write_text("idx,name,grid,block,dur_us\n" + "".join(f"{i},other,1x1x1,1x1x1,5\n" for i in range(60)))
    with pytest.raises(ProfileError, match="another workload"):
        open_session(tmp_path, traces, "stem", f"profile: {other}\n")


def test_a_bound_that_the_user_names_is_measured(tmp_path, traces, profile):
    extra = f"profile: {profile}\nerror_budget: {{bound: sequential, relative_error: 0.02}}\n"
    summary, total = run(open_session(tmp_path, traces, "stem", extra))
    assert summary["bound"] == "sequential" and summary["relative_half_width"] <= 0.02
    assert abs(summary["estimate"] / total - 1) <= 0.02


def test_a_bound_that_does_not_go_with_a_method_is_refused(tmp_path, traces):
    with pytest.raises(ConfigError, match="policy sieve allows"):
        open_session(tmp_path, traces, "sieve", "error_budget: {bound: sequential}\n")


def test_a_plan_for_another_profile_is_another_plan(tmp_path, traces, profile):
    first = open_session(tmp_path, traces, "stem", f"profile: {profile}\n")
    first.journal.close()
    assert first.setup.plan.origin["profile"] == read_profile_hash(profile, traces)
    assert first.setup.plan.origin["error_budget"]["relative_error"] == 0.01


def read_profile_hash(profile, traces):
    from kernelpoint.workload import aligned

    program = read_trace_list(traces)
    return program.with_times_of(aligned(read_profile(profile), program, lambda text: None)).hash()


def test_a_profile_without_names_gets_those_of_the_traces(traces):
    from kernelpoint.program import ProgramBuilder
    from kernelpoint.workload import aligned

    builder = ProgramBuilder("full.kpjournal")
    for launch in range(LAUNCHES):
        builder.add("", order=launch, counters={"cycles": 1000.0 + launch})
    program = read_trace_list(traces)
    profile = aligned(builder.finish(), program, lambda text: None)
    assert list(profile.names) == [read_header(path).kernel_name for path in program.traces]
    assert (profile.grid > 0).all() and np.array_equal(profile.time, 1000.0 + np.arange(LAUNCHES))


def test_a_policy_that_plans_from_times_takes_those_of_the_fast_model(tmp_path, traces):
    log = []
    session = open_session(tmp_path, traces, "stem", "profile: model\n", log)
    assert sum("the fast model predicts 60 of 60 launches" in line for line in log) == 1
    summary, _ = run(session)
    assert summary["simulated"] + summary["skipped"] == LAUNCHES and not summary["degraded"]


def test_predictions_of_the_fast_model_come_before_a_profile_and_the_run_says_so(tmp_path, monkeypatch, traces, profile):
    log = []
    session = open_session(tmp_path, traces, "kernelpoint", f"profile: {profile}\n", log)
    assert isinstance(session.setup.plan.design, AssistedDesign)
    assert sum("is not used, because the fast model predicts" in line for line in log) == 1
    session.journal.close()
    log.clear()
    without = open_session(tmp_path, traces, "kernelpoint", f"profile: {profile}\nfast_model: off\nresume: never\n", log)
    assert without.setup.plan.design.known["cycles"].is_observed
    assert not any("is not used" in line for line in log)
