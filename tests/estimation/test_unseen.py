"""The sentence on what a run cannot see, for exactly the launches that it does not see."""

import re

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, SEEDS = 2000, 60


def predicted(seed, x):
    return Engine(
        AssistedDesign({"cycles": x}, np.arange(UNITS) % 4, permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.01)
    )


def unpredicted(seed, x):
    strata = np.arange(UNITS) % 4
    design = Design(strata, np.full(4, 12), permanent_random_numbers(seed, 0, UNITS), allowance=0.01)
    return Engine(design, ErrorBudget(0.05))


@pytest.mark.parametrize("engine_of", [predicted, unpredicted])
@pytest.mark.parametrize(("every", "factor"), [(97, 3.0), (50, 1.5)])
def test_what_may_be_missed_is_no_more_than_what_the_look_says(engine_of, every, factor):
    x = 100.0 * generator(0, "sizes").lognormal(0.0, 0.02, UNITS)
    slow = np.arange(UNITS) % every == 13
    y = np.where(slow, factor * x, x)
    share, none, wrong, held = x[slow].sum() / x.sum(), 0, 0, 0
    for seed in range(SEEDS):
        engine = engine_of(seed, x)
        *_, look = passes(engine, ("cycles",), y)
        if len(engine.drawn()) == UNITS:  # then nothing is said
            held += 1
            continue
        text = next(line for line in look.assumptions if "kinds of units that were never sampled" in line)
        stated = float(re.search(r"make up at most ([\d.]+) %", text)[1]) / 100.0
        unseen = not slow[engine.drawn()].any()
        estimate = look.estimates["cycles"]
        none += unseen
        wrong += unseen and share > stated
        held += abs(estimate.estimate - y.sum()) <= estimate.half_width + (factor - 1.0) * stated * estimate.estimate
    assert none > 0, "some runs draw none of them"
    assert wrong <= 0.05 * SEEDS + 3, "with 5 %"
    assert held >= 0.95 * SEEDS - 3, "the bound and what the sentence adds to it"


@pytest.mark.parametrize("engine_of", [predicted, unpredicted])
def test_the_open_unit_breaks_the_budget_at_the_multiple_that_the_look_says_and_no_sooner(engine_of):
    x = 100.0 * generator(0, "sizes").lognormal(0.0, 0.3, UNITS)
    for seed in range(10):
        engine = engine_of(seed, x)
        *_, look = passes(engine, ("cycles",), x)
        open_unit, estimate = look.open_unit, look.estimates["cycles"]
        eps, expected = engine.budget.relative_error, float(engine.predict([open_unit.unit])[0, 0])
        assert open_unit.unit not in engine.drawn() and 0.0 < open_unit.probability < 0.5
        if engine_of is predicted:  # the largest of all that is expected of an open unit
            assert expected == max(engine.predict(np.setdiff1d(np.arange(UNITS), engine.drawn()))[:, 0])
        for multiple, breaks in ((1.01 * open_unit.times, True), (0.99 * open_unit.times, False)):
            assert ((multiple - 1.0) * expected > eps * estimate.estimate) is breaks


@pytest.mark.parametrize("engine_of", [predicted, unpredicted])
def test_an_open_unit_is_drawn_as_often_as_the_look_says(engine_of):
    x = 100.0 * generator(0, "sizes").lognormal(0.0, 0.02, UNITS)
    unit, stated, drawn = UNITS // 2, [], []
    x[unit] = 130.0  # of this one most is expected wherever it is not drawn, where there are predictions
    for seed in range(4 * SEEDS):
        engine = engine_of(seed, x)
        *_, look = passes(engine, ("cycles",), x)
        if engine_of is unpredicted or look.open_unit.unit == unit:
            stated.append(look.open_unit.probability)
        drawn.append(unit in engine.drawn())
    assert abs(np.mean(drawn) - np.mean(stated)) <= 3.0 * np.sqrt(max(np.mean(stated), 0.01) / len(drawn))


def test_a_run_that_draws_everything_has_no_open_unit():
    engine = Engine(AssistedDesign({"cycles": np.ones(5)}, np.zeros(5, int), np.linspace(0, 0.9, 5)), ErrorBudget(0.01))
    *_, look = passes(engine, ("cycles",), np.array([1.0, 90.0, 3.0, 700.0, 2.0]))
    assert len(engine.drawn()) == 5 and look.open_unit is None
