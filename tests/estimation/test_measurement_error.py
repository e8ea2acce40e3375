"""Errors of the results themselves: in the half-width, in the budget that is left for sampling, in what is said."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import Design, Engine, ErrorBudget, Look, SystematicError
from kernelpoint.randomness import generator, permanent_random_numbers

NAMES = ("cycles", "instructions")


def population(seed: int = 0, units: int = 300) -> tuple[Design, np.ndarray]:
    """Three strata in two clusters, a few take-all units; values of two counters."""
    random = generator(seed, "measurement error test")
    strata = random.integers(-1, 3, units).astype(np.int32)
    strata[:3] = np.arange(3)
    cycles = np.array([100.0, 300.0, 50.0, 700.0])[strata] * random.lognormal(0.0, 0.1, units)
    u = permanent_random_numbers(seed, 0, units)
    design = Design(strata, np.full(3, 12), u, clusters=np.array([0, 0, 1]))
    return design, np.column_stack([cycles, 2.0 * cycles])


def one_pass(engine: Engine, values: np.ndarray, own: dict[str, float | None] | None = None) -> Look:
    """Simulate what is wanted; `own` are half-widths relative to the values."""
    for unit in engine.wanted():
        row = values[unit]
        half_widths = own and {n: h and h * row[NAMES.index(n)] for n, h in own.items()}
        engine.record(int(unit), NAMES, row.tolist(), half_widths)
    return engine.look()


def all_passes(engine: Engine, values: np.ndarray, own: dict[str, float | None] | None = None) -> Look:
    while not (look := one_pass(engine, values, own)).met and engine.grow():
        pass
    return look


@pytest.mark.parametrize("own", [0.001, 0.01])
def test_own_errors_add_up_to_what_their_results_stand_for(own):
    """Oracle: N_h / n_h times each half-width, written out; the design's part from an engine without errors."""
    design, values = population()
    engine = Engine(design, ErrorBudget(0.3), "mean")
    look = one_pass(engine, values, dict.fromkeys(NAMES, own))
    drawn = engine.drawn()
    weight = np.append(design.sizes / engine.sampling.sizes, 1.0)[design.strata[drawn]]
    added = own * float((weight * values[drawn, 0]).sum())
    share = min(0.6, added / look.estimates["cycles"].estimate / 0.3)
    alone = one_pass(Engine(design, ErrorBudget(0.3 * math.sqrt(1 - share**2)), "mean"), values)
    sampling = alone.estimates["cycles"].half_width
    assert look.estimates["cycles"].half_width == pytest.approx(math.hypot(sampling, added), rel=1e-6)
    for cluster in look.clusters:
        inside = np.append(engine.sampling.clusters, -1)[design.strata[drawn]] == cluster.number
        part = own * float((weight * values[drawn, 0])[inside].sum())
        without = alone.clusters[cluster.number].estimates["cycles"].half_width
        assert cluster.estimates["cycles"].half_width == pytest.approx(math.hypot(without, part), rel=1e-6)


def test_errors_go_through_the_estimator_that_is_used():
    """Units with much work are drawn too seldom: the line carries what is wrong with them to the rest."""
    x = np.concatenate([np.linspace(1.0, 5.0, 14), np.full(286, 20.0)])
    y, h = 1000.0 + 50.0 * x + np.sin(np.arange(300)), 10.0 * x
    design = Design(np.zeros(300, np.int32), np.array([14]), np.linspace(0.001, 0.999, 300), x=x)
    totals, added = [], 0.0
    for off in (0.0, 1.0):
        engine = Engine(design, ErrorBudget(0.05))
        for unit in range(14):
            engine.record(unit, NAMES, [y[unit] + off * h[unit], y[unit]], {"cycles": h[unit], "instructions": 0.0})
        look = engine.look().estimates
        totals.append(look["cycles"].estimate)
        added = look["cycles"].half_width
    assert 1.5 * (300 / 14) * h[:14].sum() < abs(totals[1] - totals[0]) <= added


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.001, 0.004, 0.01]))
def test_a_run_with_own_errors_meets_its_budget_or_says_why_not(seed, own):
    design, values = population(seed)
    engine = Engine(design, ErrorBudget(0.02), "mean")
    look = all_passes(engine, values, dict.fromkeys(NAMES, own))
    assert look.met == (look.estimates["cycles"].half_width <= 0.02 * look.estimates["cycles"].estimate * (1 + 1e-9))
    assert look.met or any("error budget of 2 % is not met" in said for said in look.warnings)
    assert engine.budget.relative_error == 0.02  # nobody overwrites what the user asked for


def test_the_sample_grows_where_own_errors_leave_less_for_sampling():
    sizes = {0.0: 0, 0.01: 0}
    for seed, own in product(range(8), sizes):
        design, values = population(seed)
        engine = Engine(design, ErrorBudget(0.02), "mean")
        assert all_passes(engine, values, dict.fromkeys(NAMES, own) if own else None).met
        sizes[own] += len(engine.drawn())
    assert sizes[0.0] < sizes[0.01] < 8 * len(values)


def test_exact_results_are_wanted_once_errors_keep_a_look_from_its_budget():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.02), "mean")
    assert not one_pass(engine, values, dict.fromkeys(NAMES, 0.019)).met and not engine.wants_exact_results
    while not engine.wants_exact_results:
        assert engine.grow()
        look = one_pass(engine, values, dict.fromkeys(NAMES, 0.019))
    while not look.met:
        assert engine.grow()
        look = one_pass(engine, values)


@pytest.mark.parametrize("half_widths", [{}, {"cycles": None}, {"cycles": None, "instructions": 0.0}])
def test_a_result_of_unknown_error_leaves_no_bound(half_widths):
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean", {"ipc": ("instructions", "cycles")})
    look = one_pass(engine, values, half_widths)
    assert math.isnan(look.estimates["cycles"].half_width) and not look.met
    assert math.isnan(look.estimates["instructions"].half_width) == ("instructions" not in half_widths)
    assert math.isnan(look.ratios["ipc"].half_width)


def test_another_engine_takes_results_over_with_their_errors():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.02), "mean")
    one_pass(engine, values, dict.fromkeys(NAMES, 0.01))
    engine.set_systematic_errors({"cycles": SystematicError(0.001, 0.0)})
    other = Engine(design, ErrorBudget(0.02), "mean")
    other.take_over(engine)
    assert other.look().estimates == engine.look().estimates


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-0.01, 0.01))
def test_an_interval_widened_by_a_systematic_error_holds_the_truth(seed, bias):
    """Every result is off by the same factor, which was estimated to within a tenth."""
    design, values = population(seed)
    engine = Engine(design, ErrorBudget(0.05), "mean")
    engine.set_systematic_errors({"cycles": SystematicError(0.9 * bias, 0.1 * abs(bias))})
    look = all_passes(engine, values * (1.0 + bias))
    estimate = look.estimates["cycles"]
    assert look.met and estimate.relative_half_width <= 0.05 * (1 + 1e-9)
    assert abs(estimate.estimate - values[:, 0].sum()) <= estimate.half_width
    assert estimate.half_width >= abs(0.9 * bias) * estimate.estimate * (1 - 1e-6)


def test_the_systematic_error_is_added_and_its_uncertainty_in_squares():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean", {"ipc": ("instructions", "cycles")})
    engine.set_systematic_errors({"cycles": SystematicError(-0.01, 0.02)})
    look = one_pass(engine, values)
    total, left = look.estimates["cycles"].estimate, math.sqrt((0.05 - 0.01) ** 2 - 0.02**2)
    alone = one_pass(Engine(design, ErrorBudget(left), "mean", engine.ratios), values)
    sampling = alone.estimates["cycles"].half_width
    expected = 0.01 * total + math.hypot(sampling, 0.02 * total)
    assert look.estimates["cycles"].half_width == pytest.approx(expected, rel=1e-9)
    instructions = alone.estimates["instructions"].half_width
    assert look.estimates["instructions"].half_width == pytest.approx(instructions)
    ipc = look.ratios["ipc"]
    sampling = alone.ratios["ipc"].half_width
    assert ipc.half_width == pytest.approx(ipc.estimate * 0.01 + math.hypot(sampling, ipc.estimate * 0.02), rel=1e-9)


@pytest.mark.parametrize(
    "error", [SystematicError(0.03, 0.0), SystematicError(0.0, 0.05), SystematicError(-0.01, 0.015)]
)
def test_a_systematic_error_beyond_the_budget_ends_the_run_unmet_without_simulating_everything(error):
    design, values = population()
    engine = Engine(design, ErrorBudget(0.02), "mean")
    engine.set_systematic_errors({"cycles": error})
    look = all_passes(engine, values)
    assert not look.met and len(engine.drawn()) < len(values)
    assert look.estimates["cycles"].relative_half_width > 0.02
    assert any("a larger sample does not remove" in said for said in look.warnings)


def test_a_systematic_error_of_unknown_uncertainty_leaves_no_bound():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean")
    engine.set_systematic_errors({"cycles": SystematicError(0.001, math.nan)})
    look = one_pass(engine, values)
    assert math.isnan(look.estimates["cycles"].half_width) and not look.met
    assert look.estimates["instructions"].half_width > 0


@pytest.mark.parametrize("arguments", [(math.nan, 0.0), (math.inf, 0.0), (0.0, -1.0)])
def test_impossible_systematic_errors_are_refused(arguments):
    with pytest.raises(ConfigError, match="systematic error: got"):
        SystematicError(*arguments)
