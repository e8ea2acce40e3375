"""Counters that the budget is not about: their half-widths hold too, or none is stated."""

import math

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, SEEDS = 2000, 30
KERNEL = np.arange(UNITS) % 20
CYCLES = 100.0 * generator(0, "cycles").lognormal(0.0, 0.02, UNITS)


def assisted(seed, **others):
    predictions = {"cycles": CYCLES, **others}
    return Engine(AssistedDesign(predictions, KERNEL, permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.01))


def sampled(seed):
    return Engine(Design(KERNEL % 4, np.full(4, 12), permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.05))


def of_runs(engine_of, values):
    """Estimates of `values` beside cycles, one for each seed."""
    for seed in range(SEEDS):
        *_, look = passes(engine_of(seed), ("cycles", "other"), np.stack([CYCLES, values], axis=1))
        yield look.estimates["other"]


def test_misses_that_predictions_do_not_tell_are_hardly_known():
    misses = np.where(generator(0, "misses").random(UNITS) < 0.02, 25.0, 0.0)
    misses[:3] = 40.0, 1.0, 1.0
    predicted = np.zeros(UNITS)
    predicted[:3] = 8.0, 1.0, 1.0
    for estimate in of_runs(lambda seed: assisted(seed, other=predicted), misses):
        assert estimate.contains(misses.sum())
        assert not estimate.relative_half_width <= 0.25


def test_misses_that_predictions_tell_are_known():
    misses = np.where(KERNEL % 2 == 0, 50.0, 0.0)
    for estimate in of_runs(lambda seed: assisted(seed, other=misses), misses):
        assert estimate.contains(misses.sum())
    narrow = [e.relative_half_width <= 0.25 for e in of_runs(lambda seed: assisted(seed, other=misses), misses)]
    assert np.mean(narrow) > 0.5


def test_skewed_misses_that_predictions_tell_roughly_have_a_bound_that_holds():
    shown, held = 0, 0
    for seed in range(20):
        random = generator(seed, "skewed misses")
        cycles = np.exp(random.normal(0.0, 0.6, 20))[KERNEL] * CYCLES
        some = random.random(UNITS) < (0.4 * random.random(20))[KERNEL]
        misses = np.where(some, random.lognormal(3.0, 0.5, UNITS).round() + 1.0, 0.0)
        rough = {
            "cycles": cycles * random.lognormal(0.0, 0.03, UNITS),
            "other": misses * random.lognormal(0.0, 0.2, UNITS),
        }
        engine = Engine(AssistedDesign(rough, KERNEL, permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.01))
        *_, look = passes(engine, ("cycles", "other"), np.stack([cycles, misses], axis=1))
        if look.estimates["other"].relative_half_width <= 0.25:
            shown, held = shown + 1, held + look.estimates["other"].contains(misses.sum())
    assert shown >= 10
    assert held >= 0.9 * shown


@pytest.mark.parametrize("engine_of", [lambda seed: assisted(seed, other=np.zeros(UNITS)), sampled])
def test_a_count_that_no_draw_shows_has_no_finite_bound(engine_of):
    for estimate in of_runs(engine_of, np.zeros(UNITS)):
        assert not math.isfinite(estimate.half_width)


def test_a_kernel_that_makes_up_much_of_another_counter_may_be_off_unseen():
    x = np.where(KERNEL == 7, 1000.0, 100.0)
    y = np.where(KERNEL == 7, 1.08, 1.0) * x
    held = [estimate.contains(y.sum()) for estimate in of_runs(lambda seed: assisted(seed, other=x), y)]
    assert np.mean(held) >= 0.95


def test_rare_counts_without_predictions_have_a_bound_that_holds_or_none():
    random = generator(0, "rare counts")
    counts = np.where(random.random(UNITS) < 0.01, random.lognormal(3.0, 2.0, UNITS).round(), 0.0)
    held = [
        math.isnan(estimate.half_width) or not estimate.relative_half_width <= 0.25 or estimate.contains(counts.sum())
        for estimate in of_runs(sampled, counts)
    ]
    assert np.mean(held) >= 0.95


def test_the_ratio_of_a_rare_count_is_known_no_better_than_the_count():
    misses = np.where(np.arange(UNITS) < 12, 5.0, 0.0)
    predicted = np.where(np.arange(UNITS) < 4, 2.0, 0.0)
    values = np.stack([CYCLES, misses, np.full(UNITS, 50.0)], axis=1)
    for seed in range(SEEDS):
        design = AssistedDesign(
            {"cycles": CYCLES, "misses": predicted, "accesses": np.full(UNITS, 50.0)},
            KERNEL,
            permanent_random_numbers(seed, 0, UNITS),
        )
        engine = Engine(design, ErrorBudget(0.01), ratios={"rate": ("misses", "accesses")})
        *_, look = passes(engine, ("cycles", "misses", "accesses"), values)
        assert look.ratios["rate"].contains(misses.sum() / values[:, 2].sum())
        assert not look.ratios["rate"].relative_half_width <= 0.25


def test_a_counter_without_predictions_is_in_proportion_to_the_one_of_the_budget():
    """Energies are 1e-8 of cycles: without the ratio its estimate was below zero, give or take 100,000 times as much."""
    n = 2000
    cycles = 5000.0 + 40.0 * (np.arange(n) % 37)
    joules = 2e-8 * cycles * (1.0 + 0.02 * np.sin(np.arange(n)))
    design = AssistedDesign({"cycles": cycles}, np.arange(n) % 5, np.random.default_rng(1).random(n))
    engine = Engine(design, ErrorBudget(0.01))
    for unit in engine.wanted():
        engine.record(int(unit), ("cycles", "energy", "energy_texp"), (cycles[unit], joules[unit], 0.0))
    look = engine.look()
    energy = look.estimates["energy"]
    assert energy.contains(joules.sum()) and 0.0 < energy.relative_half_width < 0.1
    assert look.estimates["energy_texp"].estimate == 0.0, "of a part that no draw uses"
    assert engine.predict(np.arange(n))[:, 1].sum() == pytest.approx(energy.estimate)
