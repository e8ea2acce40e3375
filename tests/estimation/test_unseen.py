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
