"""Means, spreads and shares."""

import math
from dataclasses import replace

import pytest

from kernelpoint.evaluation.evaluate import MethodResult
from kernelpoint.evaluation.page import mark_of, overall, per_workload

GOOD = MethodResult(
    "w",
    "p",
    0.05,
    0.95,
    0,
    launches=100,
    simulated=10,
    total=1000.0,
    simulated_total=100.0,
    estimate=1010.0,
    error=0.01,
    error_beyond_latency=0.01,
    cycle_speedup=10.0,
    bound="sequential",
    half_width=0.05,
    held=True,
)


def test_speedups_of_workloads_are_averaged_in_three_ways():
    rows = [GOOD, replace(GOOD, workload="v", simulated_total=25.0)]
    line = overall(per_workload(rows))[0]
    assert (line.harmonic, line.geometric, line.arithmetic) == pytest.approx((16.0, 20.0, 25.0))
    assert line.workloads == 2 and line.simulated == 20 and line.launches == 200


def test_over_seeds_the_speedup_is_the_total_over_the_mean_simulated():
    rows = [GOOD, replace(GOOD, seed=1, simulated_total=300.0)]
    assert per_workload(rows)[0].harmonic == pytest.approx(5.0)


def test_errors_are_averaged_by_size_and_their_bias_by_sign():
    line = per_workload([GOOD, replace(GOOD, seed=1, error=-0.07, held=False)])[0]
    assert line.error_mean == pytest.approx(0.04) and line.error_max == pytest.approx(0.07)
    assert line.bias == pytest.approx(-0.03) and line.spread == pytest.approx(math.sqrt(2) * 0.04)
    assert line.held == 0.5 and line.within == 0.5


def test_runs_that_state_no_bound_do_not_count_as_held():
    line = per_workload([replace(GOOD, bound="none", held=None, half_width=math.nan)])[0]
    assert math.isnan(line.held) and math.isnan(line.half_width)


def test_refused_workloads_keep_their_reason_and_count_nowhere():
    refused = MethodResult("v", "p", 0.05, 0.95, 0, launches=50, reason="no traces")
    lines = per_workload([GOOD, refused])
    assert [line.runs for line in lines] == [1, 0] and lines[1].reasons == ("no traces",)
    line = overall(lines)[0]
    assert line.workloads == 1 and line.launches == 100 and line.reasons == ("no traces",)


def test_a_policy_that_ran_on_some_workloads_is_in_no_average_beside_one_that_ran_on_all():
    other = [replace(GOOD, policy="q"), replace(GOOD, policy="q", workload="v")]
    lines = {line.policy: line for line in overall(per_workload([GOOD, *other]))}
    assert lines["q"].workloads == 2 and lines["q"].runs == 2
    assert not lines["p"].runs and "ran on 1 of 2 workloads" in lines["p"].reasons[0]


@pytest.mark.parametrize(
    ("changes", "mark"),
    [({}, "best"), ({"error": 0.06, "held": False}, "broken"), ({"simulated_total": 200.0}, "")],
)
def test_the_best_and_the_broken_are_marked_on_the_page(changes, mark):
    rival = replace(GOOD, policy="rival", simulated_total=150.0)
    line, *others = per_workload([replace(GOOD, **changes), rival])
    assert mark_of(line, [line, *others]) == mark
    assert mark_of(others[0], [line, *others]) == ("" if mark == "best" else "best")


def test_a_policy_without_a_bound_is_never_the_best_and_says_why_where_it_is_faster():
    unbounded = replace(GOOD, policy="u", bound="none", held=None, half_width=math.nan)
    rival = replace(GOOD, policy="rival", simulated_total=2 * GOOD.simulated_total)
    lines = per_workload([unbounded, rival])
    assert [mark_of(line, lines) for line in lines] == ["faster, no bound", "best"]
    slower = per_workload([replace(unbounded, simulated_total=3 * GOOD.simulated_total), rival])
    assert [mark_of(line, slower) for line in slower] == ["", "best"]
    assert mark_of(lines[0], lines[:1]) == "faster, no bound"


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({"bound": "none", "held": None, "half_width": math.nan, "error": 0.06}, ""),
        ({"simulated_total": GOOD.total / 1.04}, ""),
        ({"simulated_total": GOOD.total / 1.06}, "best"),
    ],
)
def test_a_policy_that_promises_nothing_breaks_nothing_and_one_that_simulates_everything_is_never_the_best(changes, mark):
    (line,) = per_workload([replace(GOOD, **changes)])
    assert mark_of(line, [line]) == mark
