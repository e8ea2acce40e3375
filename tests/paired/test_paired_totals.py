"""The estimator of two totals from common draws, against plain formulas."""

import numpy as np
import paired_designs as designs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.estimation.bounds import joint_error_probability
from kernelpoint.estimation.inference import ratio
from kernelpoint.estimation.strata.estimators import StrataSample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change

KINDS = ("first", "learning", "sized", "sized", "sized")
NOTHING = np.zeros((0, 2))


def ratio_of(sample, values, exact=NOTHING):
    return ratio("", PAIR[::-1], errors_of_change(sample, values, exact, "mean"), 0.95)


def test_all_pairs_of_looks_together_spend_the_error_probability_at_most():
    looks = [KINDS[:k] for k in range(1, 6)]
    spent = sum(joint_error_probability(("sequential",) * 2, 0.05, (a, b)) for a in looks for b in looks)
    assert 0.03 < spent <= 0.05


def test_one_stratum_gives_the_textbook_interval_at_least():
    random = np.random.default_rng(0)
    a = 100 + 20 * random.random(60)
    b = 1.2 * a + 3 * random.random(60)
    sample = StrataSample(np.zeros(60, int), np.array([1000]), np.zeros(1, int))
    estimate = ratio_of(sample, np.column_stack([a, b]))
    R = b.mean() / a.mean()
    plain = np.sqrt((1 - 0.06) / 60 * (b - R * a).var(ddof=1)) / a.mean()
    assert estimate.estimate == pytest.approx(R)
    assert plain * 0.9 < estimate.std_error < plain * 2.5  # pooled towards what is expected of strata in general
    assert 1.96 * estimate.std_error < estimate.half_width < 2.1 * estimate.std_error


def test_take_all_units_enter_exactly():
    sample = StrataSample(np.zeros(2, int), np.array([2]), np.zeros(1, int))
    values, exact = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[10.0, 20.0]])
    errors = errors_of_change(sample, values, exact, "mean")
    assert [errors([(1.0, name)]).value for name in PAIR] == [14.0, 27.0]
    assert ratio_of(sample, values, exact).half_width == 0.0
    assert errors([(1.0, PAIR[1]), (-1.0, PAIR[0])]).estimate("", 0.95).half_width == 0.0


def test_a_pair_has_no_bound_where_only_take_all_units_show_its_counter():
    """The undrawn units of the strata are unknown, so neither a ratio nor a difference is exact."""
    sample = StrataSample(np.array([0, 0, 1, 1]), np.array([1000, 1000]), np.zeros(2, int))
    values, exact = np.zeros((4, 2)), np.array([[5.0, 10.0]])
    difference = errors_of_change(sample, values, exact, "mean")([(1.0, PAIR[1]), (-1.0, PAIR[0])])
    assert np.isnan(ratio_of(sample, values, exact).half_width)
    assert np.isnan(difference.estimate("", 0.95).half_width)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(-9.0, 9.0))
def test_the_error_of_a_change_is_proportional_to_its_weights(seed, draws, log_factor):
    """So a ratio, whose weights are divided by a total, has the interval of the change in cycles."""
    random, factor = np.random.default_rng(seed), 10.0**log_factor
    strata = np.repeat(np.arange(12), draws)
    first = 10.0 ** random.uniform(2, 6, 12)[strata] * random.normal(1.0, 0.02, len(strata))
    second = first * np.where(random.random(12) < 0.3, random.uniform(0.5, 2.0, 12), 1.2)[strata]
    second *= random.normal(1.0, 0.02, len(strata))
    sample = StrataSample(strata, random.integers(10, 5000, 12), np.arange(12) // 4)
    errors = errors_of_change(sample, np.column_stack([first, second]), NOTHING, "mean")
    whole, scaled = (errors([(c, PAIR[1]), (-1.1 * c, PAIR[0])]) for c in (1.0, factor))
    assert whole.t * whole.error > 0.0
    assert scaled.t * scaled.error == pytest.approx(factor * whole.t * whole.error)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.1, 10.0))
def test_a_second_gpu_that_is_slower_by_a_factor_has_that_ratio(seed, strata, factor):
    random = np.random.default_rng(seed)
    sample = StrataSample(np.repeat(np.arange(strata), 4), np.full(strata, 50), np.arange(strata))
    a = random.uniform(10, 20, size=4 * strata)
    values = np.column_stack([a, factor * a])
    ratio, errors = ratio_of(sample, values), errors_of_change(sample, values, NOTHING, "mean")
    assert ratio.estimate == pytest.approx(factor) and ratio.half_width >= 0.0
    first, second = (errors([(1.0, name)]).value for name in PAIR)
    assert errors([(1.0, PAIR[1]), (-1.0, PAIR[0])]).value == pytest.approx(second - first, abs=1e-9 * first)


def test_strata_with_one_draw_learn_from_the_other_strata_of_their_cluster():
    """Differences between strata of a cluster count, for nothing else tells what differs within them."""
    single, two = np.arange(12), np.repeat(np.arange(12), 2)
    for strata in (single, two):
        e = 30.0 * np.sin(strata)  # differs between strata, not within
        values = np.column_stack([np.full(len(strata), 100.0), 100.0 + e])
        wide = ratio_of(StrataSample(strata, np.full(12, 40), np.zeros(12, int)), values)
        assert wide.std_error > 0.03


@pytest.mark.parametrize("strata", [2, 4])
@pytest.mark.parametrize("change", [0.1, 0.3])
@pytest.mark.parametrize("draws", [2, 4])
def test_the_interval_holds_where_few_strata_react(strata, change, draws):
    held, _ = np.array(list(designs.numbers(designs.Reaction(strata, "even", change), draws, "own", seeds=150))).T
    assert held.mean() >= 0.95


def test_strata_that_move_alike_in_many_draws_add_little():
    """A stratum that moved does not count as spread for ever: the draws say that it has none."""
    strata = np.repeat(np.arange(4), 12)
    a = 100.0 + 5.0 * np.random.default_rng(3).random(48)
    b = a * np.array([0.7, 0.9, 1.0, 1.1])[strata]
    estimate = ratio_of(StrataSample(strata, np.full(4, 50), np.arange(4)), np.column_stack([a, b]))
    assert 0.0 < estimate.half_width < 0.03 * estimate.estimate
