"""The sentence on what a run cannot see, for exactly the launches that it does not see."""

import re

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Design, Engine, ErrorBudget, passes
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, SEEDS = 2000, 60


def predicted(seed, x):
    return AssistedEngine(
        AssistedDesign({"cycles": x}, np.arange(UNITS) % 4, permanent_random_numbers(seed, 0, UNITS)), ErrorBudget(0.01)
    )


def unpredicted(seed, x):
    strata = np.arange(UNITS) % 4
    design = Design(strata, np.full(4, 12), permanent_random_numbers(seed, 0, UNITS), odd=0.01)
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
        text = next(line for line in look.assumptions if "of a kind that no draw is of" in line)
        stated = float(re.search(r"make up ([\d.]+) %", text)[1]) / 100.0
        unseen = not slow[engine.drawn()].any()
        estimate = look.estimates["cycles"]
        none += unseen
        wrong += unseen and share > stated
        held += abs(estimate.estimate - y.sum()) <= estimate.half_width + (factor - 1.0) * stated * estimate.estimate
    assert none > 0, "some runs draw none of them"
    assert wrong <= 0.05 * SEEDS + 3, "with 5 %"
    assert held >= 0.95 * SEEDS - 3, "the bound and what the sentence adds to it"


@pytest.mark.parametrize("engine_of", [predicted, unpredicted])
def test_a_single_unit_is_drawn_as_often_as_the_look_says_and_breaks_the_budget_if_it_is_that_large(engine_of):
    x = 100.0 * generator(0, "sizes").lognormal(0.0, 0.02, UNITS)
    chosen, stated, drawn, wrong = generator(1, "single units").integers(UNITS // 4, UNITS, SEEDS), [], [], 0
    for seed, unit in enumerate(chosen):
        engine = engine_of(seed, x)
        *_, look = passes(engine, ("cycles",), x)
        text = next(line for line in look.assumptions if line.startswith("a single unit"))
        times, probability = (
            float(number) for number in re.search(r"unit ([\d.]+) times .* probability of ([\d.]+) %", text).groups()
        )
        y = np.where(np.arange(UNITS) == unit, 2.5 * times * x, x)
        engine = engine_of(seed, x)
        *_, look = passes(engine, ("cycles",), y)
        seen = unit in engine.drawn()
        drawn.append(seen)
        stated.append(probability / 100.0)
        wrong += not seen and look.estimates["cycles"].contains(float(y.sum()))
    assert wrong <= 0.05 * SEEDS, "a run that does not draw it states a bound that it breaks"
    assert abs(np.mean(drawn) - np.mean(stated)) <= 3.0 * np.sqrt(np.mean(stated) / SEEDS)
