"""Forecasts of `kernelpoint plan`."""

from dataclasses import replace

import numpy as np
import pytest
from embedded_host import run_host
from workloads import synthesised

from kernelpoint.api import Plan, simulate
from kernelpoint.cli.plan import plan as plan_list
from kernelpoint.config import parse_config
from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.journal import load_run
from kernelpoint.planning.forecast import Forecast, compared, sentences
from kernelpoint.planning.plan import Plan as Stored
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program
from kernelpoint.session.rehearsal import MOST_LAUNCHES, PRICED, forecasts

LAUNCHES = 200


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("traces"), "iterative-solver", LAUNCHES, rows=1024)


def expected(config, population):
    settings = parse_config({"version": 1, **config})
    policy = load_policy(settings.policy)
    return forecasts(settings, policy, population, Stored(population, design_of(policy(settings), population), origin={}))


def times(cycles, config=None):
    """Forecasts for launches with a profile of times."""
    from kernelpoint.program import ProgramBuilder

    builder = ProgramBuilder("times")
    for row, value in enumerate(cycles):
        builder.add(f"kernel{row % 3}", (1, 1, 1), (32, 1, 1), order=row, duration=value)
    population = builder.finish()
    return expected({"policy": "random", "profile": "times.csv", **(config or {})}, population)


def test_a_run_finds_the_plan_in_the_cache_and_says_what_was_expected_and_what_it_took(traces, tmp_path):
    plan_list(traces, tmp_path / "run.kpplan", gpu=["v100"])
    made = Stored.load(tmp_path / "run.kpplan", Program((LAUNCHES,)))
    forecast = next(f for f in made.forecast if f.relative_error == 0.01)
    config = tmp_path / "kp.yaml"
    config.write_text("version: 1\npolicy: kernelpoint\n")
    done = run_host(traces, tmp_path, None, "-kernel_sampling", config, check=True)
    summary = load_run(tmp_path / "run.kpjournal").ended()
    assert compared([forecast], 0.01, summary.simulated, summary.cycle_speedup) in done.stdout + done.stderr


def test_a_plan_says_what_it_assumes_of_launches_that_nobody_sees(traces):
    made = Plan.from_traces(traces, gpu=["v100"]).forecast
    times = {f.relative_error: f.unseen_times for f in made}
    assert times[0.05] > times[0.01] > times[0.005] > 1.0
    said = "\n".join(sentences(made, LAUNCHES))
    assert f"takes {times[0.01]:.2g} times its expected cycles breaks it unseen" in said


@pytest.mark.parametrize(
    ("workload", "launches", "errors", "sizes"),
    [("iterative-solver", 200, (0.05, 0.01), {"rows": [1024, 2048]}), ("transformer-decode", 120, (0.01,), {})],
)
def test_a_run_with_one_more_counter_takes_what_the_plan_said_within_a_factor_of_two(
    workload, launches, errors, sizes, tmp_path
):
    traces, of_looser = synthesised(tmp_path, workload, launches, **sizes), {}
    for error in errors:
        made = Plan.from_traces(traces, gpu=["v100"], error_budget={"relative_error": error})
        forecast = next(each for each in made.forecast if each.relative_error == error)
        assert forecast.prices.keys() == set(PRICED)
        for name, (least, most) in forecast.prices.items():
            budget = {"relative_error": error, "further": {name: error}}
            took = simulate(traces, tmp_path / f"{name}{error}.kpjournal", error_budget=budget).ended().simulated
            assert least / 2 <= took <= 2 * most, (name, error, least, most, took)
            assert forecast.launches <= least <= most <= launches and forecast.most_launches <= most
            assert least >= len(Engine(made.design, ErrorBudget(error)).drawn()), "the first pass alone takes more"
            assert least >= of_looser.get(name, [0, 0])[0] and most >= of_looser.get(name, [0, 0])[1]
        assert f"+- {forecast.budget} in cycles and in one more counter: l1_misses " in "\n".join(
            sentences([forecast], launches)
        )
        of_looser = forecast.prices


def test_a_plan_names_the_targets_of_which_it_has_no_forecast(traces, tmp_path, capsys):
    config = tmp_path / "kp.yaml"
    config.write_text("version: 1\npolicy: kernelpoint\nerror_budget: {cycles: 1 %, dram_reads: 5 %, nonsense: 10 %}\n")
    plan_list(traces, config=config, gpu=["v100"])
    said = capsys.readouterr().out
    assert "no forecast with nonsense: nothing predicts it" in said and "with dram_reads 5 %: " in said


def test_each_further_target_has_a_forecast_and_so_have_all_together(traces, tmp_path):
    config = tmp_path / "kp.yaml"
    config.write_text("version: 1\npolicy: kernelpoint\nerror_budget: {cycles: 1 %, dram_reads: 5 %, l1_miss_rate: 2 %}\n")
    plan_list(traces, tmp_path / "run.kpplan", config=config, gpu=["v100"])
    made = Stored.load(tmp_path / "run.kpplan", Program((LAUNCHES,))).forecast
    launches = {forecast.further: forecast.launches for forecast in made if forecast.relative_error == 0.01}
    assert list(launches) == ["", "dram_reads 5 %", "l1_miss_rate 2 %", "dram_reads 5 %, l1_miss_rate 2 %"]
    assert min(launches.values()) == launches[""]
    assert any(line.startswith("  +- 1 % with dram_reads 5 %: ") for line in sentences(made, LAUNCHES))


@pytest.mark.parametrize(
    ("workload", "launches", "sizes"),
    [
        ("iterative-solver", 400, {"rows": [1024, 2048]}),
        ("transformer-decode", 400, {}),
        ("graph-traversal", 300, {"vertices": [512, 768, 1024]}),
    ],
)
def test_a_run_takes_what_was_expected_within_a_factor_of_one_and_a_half(workload, launches, sizes, tmp_path):
    traces = synthesised(tmp_path, workload, launches, **sizes)
    for forecast in Plan.from_traces(traces, gpu=["v100"]).forecast[::2]:  # 5 and 0.5 %
        budget = {"relative_error": forecast.relative_error}
        took = simulate(traces, tmp_path / f"{budget}.kpjournal", error_budget=budget).ended()
        assert forecast.launches / 1.5 <= took.simulated <= 1.5 * forecast.most_launches, (forecast, took.simulated)
        assert forecast.least_speedup / 1.5 <= took.cycle_speedup <= 1.5 * forecast.speedup, (forecast, took.cycle_speedup)
        assert forecast.most_launches <= 6 * forecast.launches, "a range that says nothing"


def test_tighter_budgets_take_more(traces):
    forecasts = Plan.from_traces(traces, gpu=["v100"]).forecast
    assert [f.relative_error for f in forecasts] == [0.05, 0.01, 0.005]
    with_further_budget = Plan.from_traces(traces, gpu=["v100"], error_budget={"relative_error": 0.02}).forecast
    assert [f.relative_error for f in with_further_budget] == [0.05, 0.02, 0.01, 0.005]
    assert forecasts[0].launches <= forecasts[1].launches <= forecasts[2].launches
    assert forecasts[0].speedup >= forecasts[2].speedup >= 1.0
    assert all(f.minutes > 0 for f in forecasts)


def test_a_stored_plan_keeps_its_forecast(traces, tmp_path):
    plan = Plan.from_traces(traces, gpu=["v100"])
    plan.save(tmp_path / "a.kpplan")
    assert Stored.load(tmp_path / "a.kpplan", plan.program).forecast == plan.forecast


def test_a_second_plan_of_a_list_is_taken_from_the_cache_with_the_same_forecast(traces, tmp_path, monkeypatch):
    def planned(path):
        plan_list(traces, path, gpu=["v100"], seed=3)
        return path.read_bytes()

    first = planned(tmp_path / "first.kpplan")
    monkeypatch.setattr("kernelpoint.api.complete", None)  # nothing is read
    assert planned(tmp_path / "second.kpplan") == first


def test_where_sampling_does_not_pay_a_warning_says_so():
    forecasts = times(1000.0 * np.exp(3.0 * np.random.default_rng(1).standard_normal(30)))
    assert forecasts and forecasts[-1].speedup < 2
    assert "saves little at" in sentences(forecasts, 30)[-1]


def test_repeated_launches_pay_and_nothing_is_warned_of():
    forecasts = times(np.tile([1000.0, 1010.0, 990.0], 400))
    assert forecasts[0].speedup > 10
    assert not any("saves little" in line for line in sentences(forecasts, 1200))
    assert forecasts[0].source == "the profile's times"


def test_nothing_is_said_where_nothing_can_be(traces):
    plain = Program((10,))
    assert expected({"policy": "random"}, plain) == []
    assert times([1.0, 2.0, 3.0], {"error_budget": {"counter": "l2_misses"}}) == []
    assert expected({"policy": "random"}, replace(plain, counts=(MOST_LAUNCHES + 1,))) == []
    assert sentences([], 10) == []
    assert compared([Forecast(0.01, 5, 2.0, 1.0, "x")], 0.02, 5, 2.0) is None


def test_a_plan_says_beforehand_where_a_full_run_is_as_cheap():
    forecast = Forecast(0.01, 100, 4.0, 2.0, "instructions", 100, 4.0, 2.0, full_minutes=8.0, simulator="MacSim")
    assert "a full run" not in "\n".join(sentences([forecast], 1000, planning_seconds=60.0))
    said = sentences([forecast], 1000, planning_seconds=400.0)
    assert said[-1] == ("a full run is as cheap as a sampled one at 1 %: it takes about 8 min, and this plan took 6.7 min")
    assert "times in MacSim" in said[0]
    unknown = replace(forecast, minutes=float("nan"), full_minutes=float("nan"))
    assert "a full run" not in "\n".join(sentences([unknown], 1000, planning_seconds=400.0))
