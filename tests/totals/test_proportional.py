"""Totals of counters that are estimated from predicted counters: coverage, and totals that are not stated."""

import math

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Estimate, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.totals.proportional import proportional_total, with_proportional


def drawn_totals(seeds, between, within, drawn_groups):
    """(total, half-width, truth) over populations of 30 kernels of 10 launches, two draws of each drawn kernel."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        of = np.repeat(np.arange(30), 10)
        x = rng.lognormal(3.0, 1.0, 30)[of]
        y = x * np.exp(between * rng.standard_normal(30))[of] * (1.0 + within * rng.standard_normal(300))
        drawn = np.concatenate(
            [rng.choice(np.flatnonzero(of == g), 2, replace=False) for g in rng.permutation(30)[:drawn_groups]]
        )
        total, half = proportional_total(y[drawn], x[drawn], of[drawn], x, of, 0.95)
        yield total, half, float(y.sum())


@pytest.mark.parametrize(
    ("between", "within", "drawn_groups", "least"),
    [(0.2, 0.0, 20, 0.92), (0.2, 0.03, 25, 0.92), (0.0, 0.03, 30, 0.92), (1.0, 0.1, 25, 0.88)],
)
def test_half_widths_hold_the_truth(between, within, drawn_groups, least):
    held = [abs(total - truth) <= half for total, half, truth in drawn_totals(400, between, within, drawn_groups)]
    assert np.mean(held) >= least


@pytest.mark.parametrize(
    ("y", "x"),
    [([1.0] * 4 + [0.0] * 6, np.ones(10)), (np.zeros(10), np.ones(10)), (np.ones(10), np.arange(10) < 9)],
    ids=["few draws have it", "no draw has it", "a draw has it where nothing is predicted"],
)
def test_a_total_is_not_stated_where_draws_say_too_little_or_contradict_the_proportion(y, x):
    total = proportional_total(np.array(y), x.astype(float), np.arange(10), np.ones(20), np.arange(20), 0.95)
    assert all(math.isnan(value) for value in total)


GROUPS = np.repeat(np.arange(20), 10)
RARE = (GROUPS % 7 == 0).astype(float)


def looked(counters, predictions, seed):
    """A look at a sample of 200 launches of 20 kernels whose cycles are met at 1 %, with `counters` beside; engine, design."""
    rng = np.random.default_rng(seed)
    predictions = {"cycles": 1000.0 + 100.0 * GROUPS, **predictions}
    counters = {"cycles": predictions["cycles"] * (1.0 + 0.02 * rng.standard_normal(200)), **counters}
    design = AssistedDesign(predictions, GROUPS, rng.random(200))
    engine = Engine(design, ErrorBudget(0.01))
    *_, look = passes(engine, tuple(counters), np.stack(list(counters.values()), axis=1))
    return look, engine, design


def estimates_of(counters, predictions, seed=1, replay=None):
    """Estimates after the rule, and the draws."""
    look, engine, design = looked(counters, predictions, seed)
    engine.systematic.set(replay or {})
    return with_proportional(look, engine, Plan(Program((200,)), design, {}), {"cycles"}).estimates, engine.drawn()


def test_a_rare_counter_that_is_predicted_has_a_total():
    estimates, drawn = estimates_of({"l1_global_read_hits": 7.0 * RARE}, {"l1_global_read_hits": 7.0 * RARE})
    total = estimates["l1_global_read_hits"]
    assert len(drawn) < 100
    assert total.estimate == pytest.approx(210.0)
    assert 0.05 < total.relative_half_width < 0.25


@pytest.mark.parametrize(("name", "moves"), [("l1_global_read_hits", True), ("active_cycles", False)])
def test_active_cycles_stay_those_of_cycles(name, moves):
    look, engine, design = looked({name: 7.0 * RARE}, {name: 7.0 * RARE}, seed=1)
    whole = with_proportional(look, engine, Plan(Program((200,)), design, {}), {"cycles"})
    assert (whole.estimates[name] != look.estimates[name]) is moves


def test_a_counter_in_proportion_has_the_measured_error_of_replay():
    counters, predictions = {"icache_misses": 3.0 + RARE}, {"fetch_misses": 1.0 + 0.0 * RARE}
    error = Estimate.of(0.04, 0.03)
    plain, wider = (
        estimates_of(counters, predictions, replay=replay)[0]["icache_misses"] for replay in ({}, {"icache_misses": error})
    )
    assert wider.estimate == plain.estimate
    expected = 0.04 + math.hypot(plain.relative_half_width, 0.03)
    assert wider.relative_half_width == pytest.approx(expected, rel=1e-6)


def test_a_counter_that_replay_does_not_restore_has_no_bound():
    total = estimates_of({"l1_misses": 3.0 + RARE}, {"l1_lookup_misses": 1.0 + RARE})[0]["l1_misses"]
    assert math.isfinite(total.estimate) and math.isinf(total.half_width)
