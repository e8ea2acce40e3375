"""The names that `import kernelpoint` offers, at work on a small list."""

import numpy as np
import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.errors import ConfigError


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A list of about sixty launches."""
    return synthesised(tmp_path_factory.mktemp("api"), "iterative-solver", 60, rows=1024)


@pytest.fixture(scope="module")
def runs(traces, tmp_path_factory):
    """A full and a sampled run of the list."""
    folder = tmp_path_factory.mktemp("runs")
    full = kp.simulate(traces, folder / "full.kpjournal", policy="all")
    budget = {"relative_error": 0.05}
    return full, kp.simulate(traces, folder / "run.kpjournal", policy="random", error_budget=budget, seed=1)


def test_a_simulation_writes_over_no_configuration_of_the_user(runs, traces, tmp_path):
    configuration = tmp_path / "kernelpoint.yaml"
    configuration.write_text("mine")
    kp.simulate(traces, tmp_path / "kernelpoint.kpjournal", policy="all")
    assert configuration.read_text() == "mine"


def test_every_name_that_is_offered_exists_and_completion_shows_no_other():
    assert all(hasattr(kp, name) for name in kp.__all__) and set(dir(kp)) == {*kp.__all__, "__version__"}
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        _ = kp.nosuch


def test_a_run_is_shown_in_one_line(runs):
    shown = repr(runs[1])
    assert len(shown) < 300 and "random" in shown and "of 60 launches simulated, ended" in shown


def test_journals_and_runs_are_compared_alike(runs):
    full, _ = runs
    by_path, by_run = kp.compare_runs(str(full.path), full), kp.compare_runs(full, full)
    assert by_path.record() == by_run.record() and by_run.rows[0].ratio.estimate == 1.0


def test_a_plan_and_its_clusters_cover_every_launch(traces):
    plan = kp.Plan.from_traces(traces, policy="random", seed=3)
    labels = kp.cluster(traces, policy="random", seed=3)
    assert len(labels) == len(plan.design.strata) and np.array_equal(labels, plan.cluster_of_unit())
    assert len(plan.program.names.distinct) > 0


def test_a_simulated_run_comes_back_with_its_frame_and_its_verdict(runs):
    full, sampled = runs
    assert sampled.summary.simulated < full.summary.simulated == len(full.to_frame())
    assert sampled.to_frame()["estimated_cycles"].sum() == pytest.approx(sampled.summary.estimate)
    assert "95 %" in sampled._repr_html_() and "<td>cycles</td>" in sampled._repr_html_()


def test_charts_of_a_run_are_altairs(runs):
    pytest.importorskip("altair", reason="charts in notebooks need the extra report (altair)")
    chart = runs[1].plot("passes").to_dict()
    assert chart["layer"] and chart["width"] == 600
    with pytest.raises(ConfigError, match="allowed: "):
        runs[1].plot("nosuch")


def test_methods_are_compared_against_a_full_run(runs, traces):
    workload = {"truth": str(runs[0].path), "traces": str(traces)}
    rows = kp.compare(workload, ["random", "sieve"], budgets=[0.05], seeds=2)
    assert {row.policy for row in rows} == {"random", "sieve"} and all(row.estimate > 0 for row in rows if not row.reason)
    with pytest.raises(ConfigError, match="truth=FILE"):
        kp.compare({"traces": str(traces)}, ["random"])


def test_a_key_that_is_not_known_is_refused_before_anything_runs(traces, tmp_path):
    with pytest.raises(ConfigError, match="seeed"):
        kp.simulate(traces, tmp_path / "run.kpjournal", seeed=1)
    assert not list(tmp_path.iterdir())
