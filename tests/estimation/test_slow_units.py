"""Rare slow units: what light strata tell of heavy ones."""

import numpy as np

from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
from kernelpoint.estimation.variance import squared_excess
from kernelpoint.randomness import generator, permanent_random_numbers


def test_draws_that_agree_add_no_spread():
    strata = np.repeat(np.arange(5), 3)
    assert squared_excess(strata, 10.0 + strata, 5) == 0.0
    assert squared_excess(np.arange(4), np.array([1.0, 9.0, 1.0, 50.0]), 4) == 0.0, "one draw has nothing beside it"


def test_the_part_that_slow_draws_add_is_the_same_wherever_they_are():
    random = generator(0, "slow draws")
    found = []
    for scale in (np.ones(200), np.r_[np.full(20, 1000.0), np.ones(180)]):
        y = scale[:, None] * np.where(random.random((200, 5)) < 0.02, 3.0, 1.0)
        found.append(squared_excess(np.repeat(np.arange(200), 5), y.ravel(), 200))
    assert 0.5 * found[0] < found[1] < 2.0 * found[0]


def test_a_bound_holds_where_one_launch_in_a_hundred_is_three_times_as_long():
    random = generator(4, "periodic")
    size = random.lognormal(3.0, 1.0, 300)
    strata = np.repeat(np.arange(300), 20)
    order = random.permutation(len(strata))
    y = (size[strata] * random.lognormal(0.0, 0.02, len(strata)))[order]
    y = np.where(np.arange(len(y)) % 97 == 13, 3.0 * y, y)
    held = []
    for seed in range(40):
        u = permanent_random_numbers(seed, 0, len(y))
        design = Design(strata[order], np.full(300, 2), u, balanced=True)
        engine = Engine(design, ErrorBudget(0.01))
        *_, look = passes(engine, ("cycles",), y)
        held.append(look.estimates["cycles"].contains(y.sum()))
    assert np.mean(held) >= 0.9
