"""Systematic errors of results: in the half-width, in the budget that is left for sampling, in what is said."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import Design, Engine, ErrorBudget, Estimate, Look
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


def one_pass(engine: Engine, values: np.ndarray) -> Look:
    """Simulate what is wanted."""
    wanted = engine.wanted()
    engine.record_many(wanted, NAMES, values[wanted])
    return engine.look()


def all_passes(engine: Engine, values: np.ndarray) -> Look:
    while not (look := one_pass(engine, values)).met and engine.grow():
        pass
    return look


def test_another_engine_takes_results_over_with_their_errors():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.02), "mean")
    one_pass(engine, values)
    engine.systematic.set({"cycles": Estimate.of(0.001, 0.0)})
    other = Engine(design, ErrorBudget(0.02), "mean")
    other.take_over(engine)
    assert other.look().estimates == engine.look().estimates


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-0.01, 0.01))
def test_an_interval_widened_by_a_systematic_error_holds_the_truth(seed, bias):
    """Every result is off by the same factor, which was estimated to within a tenth."""
    design, values = population(seed)
    engine = Engine(design, ErrorBudget(0.05), "mean")
    engine.systematic.set({"cycles": Estimate.of(0.9 * bias, 0.1 * abs(bias))})
    look = all_passes(engine, values * (1.0 + bias))
    estimate = look.estimates["cycles"]
    assert look.met and estimate.relative_half_width <= 0.05 * (1 + 1e-9)
    assert abs(estimate.estimate - values[:, 0].sum()) <= estimate.half_width
    assert estimate.half_width >= abs(0.9 * bias) * estimate.estimate * (1 - 1e-6)


def test_the_systematic_error_is_added_and_its_uncertainty_in_squares():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean", {"ipc": ("instructions", "cycles")})
    engine.systematic.set({"cycles": Estimate.of(-0.01, 0.02)})
    look = one_pass(engine, values)
    for_sampling = math.sqrt((0.05 - 0.01) ** 2 - 0.02**2)
    alone = one_pass(Engine(design, ErrorBudget(for_sampling), "mean", engine.ratios), values).by_name
    for name, estimate in look.by_name.items():
        bias, random = (0.0, 0.0) if name == "instructions" else (0.01 * estimate.estimate, 0.02 * estimate.estimate)
        expected = bias + math.hypot(alone[name].computed_half_width, random)
        assert estimate.computed_half_width == pytest.approx(expected, rel=1e-9)
        sampling = alone[name].half_width
        assert sampling >= for_sampling * estimate.estimate * (1 - 1e-9)
        stated = max(bias + math.hypot(sampling, random), 0.05 * estimate.estimate)
        assert estimate.half_width == pytest.approx(stated, rel=1e-9)


def test_a_counter_that_is_no_target_states_the_floor_of_sampling_with_its_systematic_error_on_top():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean")
    engine.systematic.set({"instructions": Estimate.of(0.02, 0.005)})
    stated = one_pass(engine, values).estimates["instructions"]
    assert stated.computed_half_width < 0.05 * stated.estimate
    assert stated.half_width == pytest.approx((0.02 + math.hypot(0.05, 0.005)) * stated.estimate, rel=1e-9)


@pytest.mark.parametrize("error", [Estimate.of(0.03, 0.0), Estimate.of(0.0, 0.05), Estimate.of(-0.01, 0.015)])
def test_a_systematic_error_beyond_the_budget_ends_the_run_unmet_without_simulating_everything(error):
    design, values = population()
    engine = Engine(design, ErrorBudget(0.02), "mean")
    engine.systematic.set({"cycles": error})
    look = all_passes(engine, values)
    assert not look.met and len(engine.drawn()) < len(values)
    assert look.estimates["cycles"].relative_half_width > 0.02
    assert any("a larger sample does not remove" in said for said in look.warnings)


def test_a_systematic_error_of_unknown_uncertainty_leaves_no_bound():
    design, values = population()
    engine = Engine(design, ErrorBudget(0.05), "mean")
    engine.systematic.set({"cycles": Estimate.of(0.001, math.nan)})
    look = one_pass(engine, values)
    assert math.isnan(look.estimates["cycles"].half_width) and not look.met
    assert look.estimates["instructions"].half_width > 0


@pytest.mark.parametrize("arguments", [(math.nan, 0.0), (math.inf, 0.0), (0.0, -1.0)])
def test_impossible_systematic_errors_are_refused(arguments):
    engine = Engine(population()[0], ErrorBudget(0.02), "mean")
    with pytest.raises(ConfigError, match="systematic error: got"):
        engine.systematic.set({"cycles": Estimate.of(*arguments)})
