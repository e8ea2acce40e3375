"""Parts of a run with predictions: its beginning and first units are estimated apart once outliers are found there."""

import re
from dataclasses import replace

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, GROUPS = 2000, 6
GROUP, SHAPES = np.arange(UNITS) % GROUPS, 48
SHAPE = GROUP + GROUPS * (np.arange(UNITS) * SHAPES // (GROUPS * UNITS))  # new ones in every eighth of the run
FIRST, FIRST_OF_SHAPE = (np.isin(np.arange(UNITS), np.unique(of, return_index=True)[1]) for of in (GROUP, SHAPE))


def example(seed: int) -> tuple[AssistedDesign, np.ndarray]:
    """Six kernels in turn, and a model that is right up to noise; the truth, the same for all seeds."""
    random = generator(0, "parts test")
    x = 2000.0 + random.lognormal(6.0, 1.0, GROUPS)[GROUP] * random.lognormal(0.0, 0.7, UNITS)
    y = 500.0 + x * (1.0 + 0.02 * GROUP) * np.exp(0.02 * random.standard_normal(UNITS))
    return AssistedDesign({"cycles": x}, GROUP, permanent_random_numbers(seed, 0, UNITS), shapes=SHAPE), y


def test_parts_are_the_begin_first_units_of_groups_and_of_further_shapes_and_the_rest():
    design, _ = example(0)
    rest, beginning, firsts, of_shapes = (part.units for part in design.parts({"cycles": 0.01}))
    assert sorted([*rest, *beginning, *firsts, *of_shapes]) == list(range(UNITS))
    assert firsts.tolist() == list(range(GROUPS)) and beginning.tolist() == list(range(GROUPS, UNITS // 10))
    assert of_shapes.tolist() == np.flatnonzero(FIRST_OF_SHAPE & ~FIRST).tolist()
    for shapes in (None, GROUP, np.arange(UNITS)):  # too many of them are no part
        assert len(replace(design, shapes=shapes, _trees={}).parts({"cycles": 0.01})) == 3
    many = AssistedDesign(design.predictions, np.arange(UNITS) // 2, design.u)
    assert len(many.parts({"cycles": 0.01})) == 1, "half of the run are first units: they are no part"
    trusting = AssistedDesign(design.predictions, design.groups, design.u, "repetitive")
    assert len(trusting.parts({"cycles": 0.01})) == 1


@pytest.mark.parametrize(
    ("slow", "times"),
    [(np.arange(UNITS) < 0.05 * UNITS, 3.0), (FIRST, 10.0), (FIRST_OF_SHAPE, 10.0)],
    ids=["beginning", "firsts", "firsts of shapes"],
)
def test_a_slow_begin_and_slow_first_units_are_found_and_cost_draws_there_only(run_passes, slow, times):
    held, rest = 0, []
    for seed in range(30):
        design, y = example(seed)
        y = np.where(slow, times, 1.0) * y
        engine = Engine(design, ErrorBudget(0.01))
        looks = run_passes(engine, y)
        look = looks[-1]
        assert all(bool(look.goes_on) == (look.estimates["cycles"].meets(0.01) and not look.met) for look in looks)
        held += look.estimates["cycles"].contains(float(y.sum()))
        rest.append(engine.sampling.cells[0])
        assert any(engine.sampling.pass_state()["apart"]) and FIRST[engine.drawn()].sum() == FIRST.sum()
        assert any("unlike the rest" in line for line in look.assumptions)
        assert engine.predict(np.arange(UNITS)).sum() == pytest.approx(look.estimates["cycles"].estimate)
    assert held >= 28 and np.median(rest) < 100


def test_a_begin_like_the_rest_is_not_found_odd_and_the_estimate_is_not_biased(run_passes):
    apart, errors = 0, []
    for seed in range(40):
        design, y = example(seed)
        engine = Engine(design, ErrorBudget(0.01))
        errors.append(run_passes(engine, y)[-1].estimates["cycles"].estimate / y.sum() - 1.0)
        apart += any(engine.sampling.pass_state()["apart"])
    assert apart <= 10 and abs(np.mean(errors)) < 3.5 * np.std(errors) / np.sqrt(40)


def test_a_restored_pass_knows_that_the_begin_was_odd(run_passes):
    design, y = example(1)
    engine = Engine(design, ErrorBudget(0.01))
    run_passes(engine, np.where(FIRST_OF_SHAPE, 10.0, 1.0) * y)
    again = Engine(design, ErrorBudget(0.01))
    again.sampling.restore_pass(engine.sampling.pass_state())
    assert again.drawn().tolist() == engine.drawn().tolist() and again.sampling.pass_state() == engine.sampling.pass_state()


@pytest.mark.parametrize("is_certain", [False, True], ids=["drawn", "always simulated"])
def test_a_result_beyond_the_allowance_raises_it_and_the_report_says_so(is_certain):
    x, u, group = 100.0 + np.arange(400) % 7, permanent_random_numbers(0, 0, 400), np.zeros(400, int)
    unit = Engine(AssistedDesign({"cycles": x}, group, u, "repetitive"), ErrorBudget(0.05)).wanted()[3]
    group[unit] = -is_certain
    for off in (1.0, 1.3):
        engine = Engine(AssistedDesign({"cycles": x}, group, u, "repetitive"), ErrorBudget(0.05))
        drawn = engine.wanted()
        engine.record_many(drawn, ("cycles",), np.where(drawn == unit, off, 1.0)[:, None] * x[drawn, None])
        (sentence,) = (line for line in engine.look().assumptions if "most influential" in line)
        assert ("more than the assumed 4 %" in sentence) == (off > 1.0)
        assert off == 1.0 or float(re.search(r"may be ([\d.e+]+) % off", sentence)[1]) >= 27.0


@pytest.mark.parametrize(("every", "is_testimony"), [(1, False), (2, True)], ids=["all are slow", "some are slow"])
def test_launches_of_an_odd_begin_testify_about_the_rest_if_they_are_slower_than_earlier_ones(run_passes, every, is_testimony):
    design, y = example(0)
    slow = (np.arange(UNITS) < 0.1 * UNITS) & (np.arange(UNITS) // GROUPS % every == every - 1)
    engine = Engine(design, ErrorBudget(0.01))
    look = run_passes(engine, np.where(slow, 3.0, 1.0) * y)[-1]
    (sentence,) = (line for line in look.assumptions if "most influential" in line)
    off = float(re.search(r"may be ([\d.e+]+) % off", sentence)[1])
    assert any(engine.sampling.pass_state()["apart"]) and (150.0 < off < 350.0 if is_testimony else off < 25.0)


@pytest.mark.parametrize(("scatter", "is_doubted"), [(0.02, False), (0.4, True)], ids=["all are slow", "they scatter"])
def test_where_predictions_scatter_in_an_odd_begin_few_draws_that_agree_are_not_enough_for_the_rest(
    run_passes, scatter, is_doubted
):
    rest = []
    for seed in range(8):
        design, _ = example(seed)
        off = 2.0 * np.exp(scatter * generator(1, "beginning").standard_normal(UNITS))
        engine = Engine(design, ErrorBudget(0.2))
        run_passes(engine, np.where(np.arange(UNITS) < 0.1 * UNITS, off, 1.0) * np.asarray(design.predictions["cycles"]))
        assert any(engine.sampling.pass_state()["apart"])
        rest.append(engine.sampling.cells[0])
    assert min(rest) >= 20 if is_doubted else np.median(rest) < 10


def test_launches_taken_for_certain_do_not_hide_a_tail_that_errs_as_they_do(run_passes):
    """The heaviest launches, and one in ten of all others, take 1.5 times the predicted cycles."""
    random = generator(10, "certain")
    group = np.arange(UNITS) % 15
    x = random.lognormal(6.0, 1.0, 15)[group] * random.lognormal(0.0, 0.6, UNITS)
    slow, heavy = random.random(UNITS) < 0.1, np.argsort(-x)[: UNITS // 60]
    slow[heavy] = True
    y = np.where(slow, 1.5, 1.0) * x
    group[heavy] = -1
    held = []
    for seed in range(12):
        engine = Engine(AssistedDesign({"cycles": x}, group, permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.02))
        held.append(run_passes(engine, y)[-1].estimates["cycles"].contains(y.sum()))
    assert np.mean(held) > 0.9
