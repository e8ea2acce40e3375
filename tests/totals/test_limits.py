"""Upper limits of counters of which the draws show too little for a half-width."""

import math

import limits
import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Estimate, passes
from kernelpoint.estimation.unseen import largest_amount
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.totals.limits import with_limits

N, KERNELS = 1000, 20


def limited(counters, seed, predicted=(), replay=None, expected=None):
    """Estimates with limits, of a sample of N launches of 20 kernels whose cycles are met at 5 %; counters named in
    `predicted` are predicted as they are, those in `expected` as there.
    """
    random = np.random.default_rng(seed)
    kernel = np.arange(N) % KERNELS
    x = 1000.0 * np.exp(random.normal(0.0, 0.6, KERNELS))[kernel]
    counters = {"cycles": x * random.uniform(0.97, 1.03, N), **counters}
    predictions = {"cycles": x, **{name: counters[name] for name in predicted}, **(expected or {})}
    design = AssistedDesign(predictions, kernel, random.random(N))
    engine = Engine(design, ErrorBudget(0.05))
    engine.systematic.set(replay or {})
    *_, look = passes(engine, tuple(counters), np.stack(list(counters.values()), axis=1))
    return with_limits(look, engine, Plan(Program((N,)), design, {}), set(), ("cycles",)).estimates


@pytest.mark.parametrize("rule", ["more of kernels with more launches", "whole kernels", "first launches"])
def test_a_limit_is_right_in_95_of_100_runs_and_below_the_whole(rule):
    stated, right, of_whole, _ = np.array([limits.run(rule, seed, 12, 0.06, 0.05) for seed in range(1000, 1040)]).T
    assert stated.mean() > 0.5 and np.nanmean(right) >= 0.95 and np.nanmedian(of_whole) < 0.7


def test_draws_that_represent_little_do_not_limit_the_launches_of_one_that_represents_much():
    amounts = np.array([900.0, *[1.0] * 100])
    assert 0.95 * 900.0 < largest_amount(amounts, 0.0, 0.05) < largest_amount(amounts, 100.0, 0.05) <= 1000.0


def test_a_counter_of_which_no_launch_can_have_any_is_exactly_0():
    none = np.zeros(N)
    total = limited({"l1_accesses": none, "l1_misses": none}, 1, ["l1_accesses"])["l1_misses"]
    assert (total.estimate, total.half_width) == (0.0, 0.0) and math.isnan(total.at_most)


def test_dram_writes_are_limited_by_the_l2_accesses_of_the_run_but_not_of_a_launch():
    writes, late = np.full(N, 10.0), np.where(np.arange(N) % 100 == 99, 500.0, 0.0)
    totals = limited({"l2_accesses": writes, "dram_writes": late}, 2, ["l2_accesses"])
    assert late.sum() <= totals["dram_writes"].at_most == pytest.approx(1.05 * writes.sum())


def test_bank_conflicts_that_no_draw_has_are_limited_by_the_accesses():
    accesses = np.full(N, 50.0)
    total = limited({"l1_accesses": accesses, "l1_bank_conflicts": np.zeros(N)}, 6, ["l1_accesses"])["l1_bank_conflicts"]
    assert total.estimate == 0.0 < total.at_most < 31.0 * accesses.sum()
    none, expected = np.zeros(N), {"l1_bank_conflicts": np.full(N, 0.01)}
    total = limited({"l1_accesses": accesses, "l1_bank_conflicts": none}, 6, ["l1_accesses"], None, expected)
    assert total["l1_bank_conflicts"].estimate == 0.0 < total["l1_bank_conflicts"].at_most, "only the model has any"
    other = limited({"l1_accesses": accesses, "l1_bank_conflicts": 40.0 * accesses}, 6, ["l1_accesses"])["l1_bank_conflicts"]
    assert math.isnan(other.at_most), "the simulator counts in another way"


def test_a_part_of_the_energy_that_no_draw_has_is_limited_by_the_energy():
    energy = np.random.default_rng(7).uniform(0.9, 1.1, N)
    totals = limited({"energy": energy, "energy_tensor": np.zeros(N)}, 7)
    assert totals["energy_tensor"].estimate == 0.0
    assert totals["energy_tensor"].at_most == totals["energy"].estimate + totals["energy"].half_width > energy.sum()


def test_a_counter_that_is_part_of_nothing_has_no_limit():
    total = limited({"spills": np.zeros(N)}, 3)["spills"]
    assert math.isnan(total.at_most) and not math.isfinite(total.half_width)


def test_a_limit_is_raised_by_the_replay_error_and_to_what_is_possible_where_that_is_unknown():
    accesses = np.full(N, 50.0)
    counters = {"l1_accesses": accesses, "l1_misses": np.zeros(N)}
    plain, off, unknown = (
        limited(counters, 4, ["l1_accesses"], replay)["l1_misses"].at_most
        for replay in ({}, {"l1_misses": Estimate.of(0.1, 0.1)}, {"l1_misses": Estimate.of(0.0, math.nan)})
    )
    assert 0.0 < plain < off < unknown <= accesses.sum()
    assert off == pytest.approx(plain / 0.8)


def test_a_launch_that_may_have_more_than_any_draw_represents_counts_with_all_that_it_may_have():
    accesses = np.where(np.arange(N) == 611, 1e6, 50.0)
    misses = np.where(accesses > 50.0, accesses, 0.0)
    estimates = [
        limited({"l1_accesses": accesses, "l1_misses": misses}, seed, ["l1_accesses"])["l1_misses"] for seed in range(5)
    ]
    assert all(e.half_width == 0.0 or e.simulated > 0.0 or 1e6 <= e.at_most < accesses.sum() for e in estimates)


def test_an_estimate_above_its_limit_stays_and_raises_it():
    accesses, misses = np.full(N, 50.0), np.where(np.arange(N) % 50 == 7, 50.0, 0.0)
    for seed in range(5):
        e = limited({"l1_accesses": accesses, "l1_misses": misses}, seed, ["l1_accesses"])["l1_misses"]
        assert not math.isfinite(e.at_most) or 0.0 <= e.simulated <= e.estimate <= e.at_most <= accesses.sum()


@pytest.mark.parametrize(
    "misses",
    [np.full(N, -3.0), np.full(N, 60.0), np.where(np.arange(N) % 2, 51.0, 0.0), np.full(N, 1e60)],
    ids=["below zero", "more than the whole", "more in some launches", "huge"],
)
def test_counts_that_no_part_of_the_whole_can_have_get_no_limit(misses):
    totals = limited({"l1_accesses": np.full(N, 50.0), "l1_misses": misses, "l1_global_writes": misses}, 5, ["l1_accesses"])
    assert all(math.isnan(totals[name].at_most) for name in ("l1_misses", "l1_global_writes"))
