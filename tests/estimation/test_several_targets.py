"""An error budget with several targets: one sample meets all of them."""

import numpy as np
import pytest

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, SEEDS = 3000, 20
KERNEL = np.arange(UNITS) % 12
CYCLES = 100.0 * (1 + KERNEL) * generator(0, "cycles").lognormal(0.0, 0.3, UNITS)
READS = np.where(KERNEL >= 9, 50.0 * generator(0, "reads").lognormal(0.0, 1.0, UNITS), 1.0)
COUNTERS = ("cycles", "reads")
TRUTH = np.column_stack(
    [
        CYCLES * generator(1, "cycles").lognormal(0.0, 0.03, UNITS),
        READS * generator(1, "reads").lognormal(0.0, 0.05, UNITS),
    ]
)
BOTH = ErrorBudget(0.01, further={"reads": 0.03})


def assisted(seed, budget, predictions=None):
    known = {"cycles": CYCLES, "reads": READS} if predictions is None else predictions
    design = AssistedDesign(known, KERNEL, permanent_random_numbers(seed, 0, UNITS))
    return Engine(design, budget, ratios={"reads_per_cycle": ("reads", "cycles")})


def stratified(seed, budget):
    strata = np.unique(KERNEL * 8 + np.digitize(np.log(READS), np.linspace(0.0, 6.0, 7)), return_inverse=True)[1]
    first = np.full(strata.max() + 1, 3)
    design = Design(strata, first, permanent_random_numbers(seed, 0, UNITS), x=CYCLES)
    return Engine(design, budget, ratios={"reads_per_cycle": ("reads", "cycles")})


def last_look(engine):
    *_, look = passes(engine, COUNTERS, TRUTH)
    return look


@pytest.mark.parametrize("engine_of", [assisted, stratified])
def test_every_target_meets_its_own_error_and_holds_the_truth(engine_of):
    held = []
    for seed in range(SEEDS):
        look = last_look(engine_of(seed, BOTH))
        assert look.met
        assert look.estimates["cycles"].relative_half_width <= 0.01
        assert look.estimates["reads"].relative_half_width <= 0.03
        held.append([look.estimates[name].contains(TRUTH[:, k].sum()) for k, name in enumerate(COUNTERS)])
    assert np.mean(held, axis=0).min() >= 0.9


@pytest.mark.parametrize("engine_of", [assisted, stratified])
def test_a_run_goes_on_until_the_last_target_meets_its_error(engine_of):
    alone = last_look(engine_of(3, ErrorBudget(0.01)))
    assert alone.met
    assert alone.estimates["reads"].relative_half_width > 0.01
    assert last_look(engine_of(3, ErrorBudget(0.01, further={"reads": 0.01}))).met


@pytest.mark.parametrize("engine_of", [assisted, stratified])
def test_a_ratio_may_be_a_target(engine_of):
    budget = ErrorBudget(0.02, further={"reads_per_cycle": 0.03})
    look = last_look(engine_of(5, budget))
    assert look.met
    assert look.ratios["reads_per_cycle"].relative_half_width <= 0.03


def test_a_target_without_predictions_of_its_own_is_met_in_proportion_to_another():
    reads = TRUTH[:, 0] / 50.0
    engine = assisted(2, BOTH, {"cycles": CYCLES})
    *_, look = passes(engine, COUNTERS, np.column_stack([TRUTH[:, 0], reads]))
    assert look.met
    assert look.estimates["reads"].contains(reads.sum())


def test_cells_for_both_targets_cost_less_than_a_sample_that_ignores_one():
    """Cells made for cycles alone leave reads to chance: their sample has to be larger for the same errors."""
    joint = np.mean([len(drawn_for_both(assisted(seed, BOTH))) for seed in range(10)])
    ignorant = np.mean([len(drawn_for_both(ignoring_reads(seed))) for seed in range(10)])
    assert joint < 0.8 * ignorant


def ignoring_reads(seed):
    engine = assisted(seed, BOTH)
    engine.sampling._parts = type(engine.sampling._parts)(engine.sampling.design, {"cycles": 0.01})
    engine.sampling._parts.set(engine.sampling._parts.first(engine.sampling.design.care, ErrorBudget(0.01)))
    return engine


def drawn_for_both(engine):
    assert last_look(engine).met
    return engine.drawn()


def test_one_target_has_the_cells_and_the_sample_that_it_has_without_the_others():
    one = assisted(4, ErrorBudget(0.01))
    only = assisted(4, BOTH.each()[0])
    assert last_look(one).estimates == last_look(only).estimates
    assert one.drawn().tolist() == only.drawn().tolist()


def test_the_computed_half_width_is_no_larger_than_the_stated_one():
    look = last_look(assisted(1, BOTH))
    for name, allowed in BOTH.targets.items():
        found = look.estimates[name]
        assert found.half_width == pytest.approx(max(found.computed_half_width, allowed * found.estimate))


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"cycles": 0.1}, "given twice"),
        ({"reads": 0.0}, "error_budget.reads: 0.0 is not allowed"),
        ({"reads": 2.0}, "above 0 and below 1"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused_by_name(further, message):
    with pytest.raises(ConfigError, match=message):
        ErrorBudget(0.01, further=further)


def test_a_target_that_no_result_has_is_refused_by_name():
    engine = assisted(0, ErrorBudget(0.01, further={"writes": 0.1}))
    engine.record_many(engine.wanted(), COUNTERS, TRUTH[engine.wanted()])
    with pytest.raises(ConfigError, match="'writes' is not reported"):
        engine.look()


def test_a_target_that_hardly_any_draw_shows_is_not_met_by_draws_that_agree_on_nothing():
    """One launch in 100 reads from DRAM, and no prediction tells which: few draws are all zeros."""
    for seed in range(10):
        reads = np.where(generator(seed, "rare reads").random(UNITS) < 0.01, 40.0, 0.0)
        engine = assisted(seed, BOTH, {"cycles": CYCLES, "reads": np.zeros(UNITS)})
        *_, look = passes(engine, COUNTERS, np.column_stack([TRUTH[:, 0], reads]))
        assert look.met
        assert look.estimates["reads"].contains(reads.sum())
