"""Upper limits of counters of which the draws show too little for a half-width."""

import math

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Estimate, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.totals.limits import with_limits

N, KERNELS = 1000, 20


def limited(counters, seed, predicted=(), replay=None):
    """Estimates with limits, of a sample of N launches of 20 kernels whose cycles are met at 5 %; counters named in
    `predicted` are predicted as they are.
    """
    random = np.random.default_rng(seed)
    kernel = np.arange(N) % KERNELS
    x = 1000.0 * np.exp(random.normal(0.0, 0.6, KERNELS))[kernel]
    counters = {"cycles": x * random.uniform(0.97, 1.03, N), **counters}
    design = AssistedDesign({"cycles": x, **{name: counters[name] for name in predicted}}, kernel, random.random(N))
    engine = Engine(design, ErrorBudget(0.05))
    engine.set_systematic_errors(replay or {})
    *_, look = passes(engine, tuple(counters), np.stack(list(counters.values()), axis=1))
    return with_limits(look, engine, Plan(Program((N,)), design, {}), set(), ("cycles",)).estimates


def shares(kind, random):
    """Share of its accesses that each launch misses."""
    if kind == "launches":
        return (random.random(N) < 0.03) * random.random(N)
    if kind == "kernels":
        return (random.random(KERNELS) < 0.1)[np.arange(N) % KERNELS] * 1.0
    return np.where(np.arange(N) < KERNELS, 1.0, 0.0)  # first launches


@pytest.mark.parametrize("kind", ["launches", "kernels", "first launches"])
def test_a_limit_is_right_in_95_of_100_runs_and_below_the_whole(kind):
    right, of_whole = [], []
    for seed in range(40):
        random = np.random.default_rng(1000 + seed)
        accesses = np.round(np.exp(random.normal(4.0, 1.5, KERNELS)))[np.arange(N) % KERNELS]
        misses = np.round(shares(kind, random) * accesses)
        limit = limited({"l1_accesses": accesses, "l1_misses": misses}, seed, ["l1_accesses"])["l1_misses"].at_most
        if math.isfinite(limit):
            right.append(limit >= misses.sum())
            of_whole.append(limit / accesses.sum())
    assert len(right) > 10 and np.mean(right) >= 0.95 and np.median(of_whole) < 0.7


def test_a_counter_of_which_no_launch_can_have_any_is_exactly_0():
    none = np.zeros(N)
    found = limited({"l1_accesses": none, "l1_misses": none}, 1, ["l1_accesses"])["l1_misses"]
    assert (found.estimate, found.half_width) == (0.0, 0.0) and math.isnan(found.at_most)


def test_dram_writes_are_limited_by_the_writes_of_the_run_but_not_of_a_launch():
    writes, late = np.full(N, 10.0), np.where(np.arange(N) % 100 == 99, 500.0, 0.0)
    found = limited({"l2_global_writes": writes, "dram_writes": late}, 2, ["l2_global_writes"])
    assert late.sum() <= found["dram_writes"].at_most == pytest.approx(1.05 * writes.sum())


def test_a_counter_that_is_part_of_nothing_has_no_limit():
    found = limited({"spills": np.zeros(N)}, 3)["spills"]
    assert math.isnan(found.at_most) and not math.isfinite(found.half_width)


def test_a_limit_is_raised_by_the_replay_error_and_to_what_is_possible_where_that_is_unknown():
    accesses = np.full(N, 50.0)
    counters = {"l1_accesses": accesses, "l1_misses": np.zeros(N)}
    plain, off, unknown = (
        limited(counters, 4, ["l1_accesses"], replay)["l1_misses"].at_most
        for replay in ({}, {"l1_misses": Estimate.of(0.1, 0.1)}, {"l1_misses": Estimate.of(0.0, math.nan)})
    )
    assert 0.0 < plain < off < unknown <= accesses.sum()
    assert off == pytest.approx(plain / 0.8)
