"""Rare slow units: what light strata tell of heavy ones."""

import numpy as np

from kernelpoint.estimation import Design, Engine, ErrorBudget, passes, stratify
from kernelpoint.estimation.strata.allocation import cheapest
from kernelpoint.estimation.strata.variance import SlowDraws
from kernelpoint.estimation.unseen import unseen_slow
from kernelpoint.randomness import generator, permanent_random_numbers


def test_draws_that_agree_add_no_spread():
    strata = np.repeat(np.arange(5), 3)
    ones = np.ones(5)
    assert SlowDraws.of(strata, 10.0 + strata, 5).mean_square(ones).tolist() == [0.0] * 5
    alone = SlowDraws.of(np.arange(4), np.array([1.0, 9.0, 1.0, 50.0]), 4)
    assert alone.mean_square(ones).tolist() == [0.0] * 5, "one draw has nothing beside it"


def test_a_clock_that_reads_whole_microseconds_makes_no_slow_draws():
    strata = np.array([0, 0, 0, 0, 1, 1])
    read = np.array([0.0, 0.0, 1.0, 1.0, 40.0, 41.0])  # the first four take about half a microsecond
    assert len(SlowDraws.of(strata, read, 2).excess) == 0
    slow = np.array([1.0, 1.0, 1.0, 3.0, 40.0, 41.0])
    assert SlowDraws.of(strata, slow, 2).excess.tolist() == [2.0]


LENGTHS = np.r_[np.full(100, 1000.0), np.ones(100)]


def slow_draws(slow):
    """Five draws of each of 200 strata, half of them long; the first of some strata is three times as long."""
    y = np.repeat(LENGTHS[:, None], 5, axis=1)
    y[slow, 0] *= 3.0
    return SlowDraws.of(np.repeat(np.arange(200), 5), y.ravel(), 200)


def test_slow_draws_among_long_units_tell_that_all_may_be_slow():
    slow = slow_draws([10, 60, 110, 160])
    assert slow.times == 0.85, "as before any draw"
    of_long = 0.85 * 4 + 0.15 * 2  # as cycles, the two slow draws among short units are nothing here
    assert np.allclose(slow.mean_square(np.array([1.0, 1000.0])), [4.0 * 4 / 1000.0, 4.0 * of_long / 1000.0], rtol=1e-5)


def test_slow_draws_among_short_units_only_tell_that_they_add_cycles():
    few, many = slow_draws([110]), slow_draws(range(110, 122))
    assert np.isclose(few.times, 0.85 * 0.5 / (0.85 * 0.5 + 0.15)), "Bayes: one in two draws is as short"
    assert many.times < 0.01
    short, long = many.mean(np.array([1.0, 1000.0]))
    assert short == 2.0 and long < 0.02


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


def strata_of(cost):
    """Strata of 100 units each, of that mean value, as the policy makes them from names and shapes."""
    signature = np.repeat(np.arange(len(cost)), 100)
    return signature, np.asarray(cost, dtype=float)[signature]


def run(signature, y, seed, budget, **options):
    """Passes of the engine to the end; the last look, and how many are drawn."""
    u = permanent_random_numbers(seed, 0, len(y))
    design = stratify([signature], budget, spreads=(0.05,), expected=np.ones(len(y)), **options).design(u, seed)
    engine = Engine(design, budget)
    *_, look = passes(engine, ("cycles",), y)
    return look, len(engine.drawn())


def test_first_draws_hold_one_slow_unit_of_so_many_with_95_percent():
    signature, _ = strata_of(np.ones(40))
    u = permanent_random_numbers(0, 0, 4000)
    design = stratify([signature], ErrorBudget(0.05), spreads=(0.05,), allowance=0.1, slow_excess=4.0).design(u)
    several = design.first_sizes[design.first_sizes > 1].sum()
    rate = 0.05 / (4.0 * (1.0 - several / 4000))  # of undrawn units, that breaks the budget
    assert (1.0 - rate) ** several <= 0.05 < (1.0 - rate) ** (several - 30)
    tight = stratify([signature], ErrorBudget(0.001), spreads=(0.05,), allowance=0.0, slow_excess=4.0).design(u).first_sizes
    assert unseen_slow(2 * tight, tight, 1.0 * tight, 0.05) == 0.0, "rarer ones are not looked for"


def test_draws_that_look_for_slow_units_are_cheap_ones():
    cost = np.r_[np.full(10, 100.0), np.full(10, 1.0)]
    n = cheapest(1000.0 / cost, np.ones(20), np.full(20, 1000), lambda n: n.sum() >= 400)
    assert n.sum() >= 400 and n[10:].sum() >= 9 * n[:10].sum()


def test_without_a_slow_draw_single_units_are_believed_and_with_one_they_are_not():
    signature, y = strata_of(np.r_[np.full(2, 50.0), np.full(28, 1.0)])
    y = y * generator(1, "quiet").lognormal(0.0, 0.01, len(y))
    slow = np.where(np.arange(len(y)) % 50 == 7, 3.0 * y, y)
    budget, options = ErrorBudget(0.02), {"allowance": 0.5, "slow_excess": 4.0}
    quiet = [run(signature, y, seed, budget, **options)[1] for seed in range(5)]
    assert max(quiet) < 700
    for seed in range(5):
        look, drawn = run(signature, slow, seed, budget, **options)
        assert drawn > 2 * max(quiet) and look.estimates["cycles"].contains(slow.sum())


def test_a_bound_is_not_met_before_slow_units_are_excluded():
    signature, y = strata_of(np.full(30, 5.0))
    u = permanent_random_numbers(3, 0, len(y))
    engine = Engine(Design(signature, np.full(30, 2), u, allowance=0.01, slow_excess=4.0), ErrorBudget(0.05))
    units = engine.wanted()
    engine.record_many(units, ("cycles",), y[units][:, None])
    look = engine.look()
    assert not look.met and look.estimates["cycles"].relative_half_width > 0.05
    assert engine.grow()
    engine.record_many(engine.wanted(), ("cycles",), y[engine.wanted()][:, None])
    assert engine.look().met
