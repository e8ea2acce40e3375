"""Effect of one value that is off on an estimated total, against changing it and estimating again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.estimation import Design, Engine, ErrorBudget
from kernelpoint.estimation.strata.estimators import ESTIMATORS, Sample
from kernelpoint.estimation.strata.influence import influences


def workload(seed, spread=0.01):
    """A sample of three strata in two clusters whose values are affine in x."""
    random = np.random.default_rng(seed)
    strata = np.repeat(np.arange(3), (14, 12, 3))
    x = random.lognormal(3.0, 1.0, len(strata))
    N = np.array([300, 40, 3])
    X = np.bincount(strata, weights=x) * N / np.array([14, 12, 3]) * np.array([1.3, 0.8, 1.0])
    y = (1000.0 + 40.0 * x) * random.normal(1.0, spread, len(x))
    return y, Sample(strata, N, np.array([0, 1, 1]), x, X)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["mean", "regression", "ratio", "separate_ratio"]))
def test_no_value_moves_the_total_by_more_than_its_influence(seed, method):
    y, sample = workload(seed, spread=1e-4)
    total, bound = ESTIMATORS[method](y, sample).totals.sum(), influences(method, sample)
    for draw in range(len(y)):
        other = y.copy()
        other[draw] += 1.0
        assert (
            abs(ESTIMATORS[method](other, sample).totals.sum() - total) <= bound[draw] * 1.005
        )  # lines are shrunk by a factor that moves too


@pytest.mark.parametrize("method", ["mean", "ratio", "separate_ratio"])
def test_of_estimators_without_lines_it_is_the_exact_slope(method):
    y, sample = workload(1)
    moved = ESTIMATORS[method](y + 1.0, sample).totals.sum() - ESTIMATORS[method](y, sample).totals.sum()
    assert moved == pytest.approx(influences(method, sample).sum())


def test_noise_about_the_lines_leaves_the_sum_of_influences_large_enough():
    for seed in range(20):
        y, sample = workload(seed, spread=0.1)
        total, moved = ESTIMATORS["regression"](y, sample).totals.sum(), 0.0
        for draw in range(len(y)):
            other = y.copy()
            other[draw] *= 1.0 + 1e-5
            moved += 1e5 * abs(ESTIMATORS["regression"](other, sample).totals.sum() - total)
        assert moved <= 1.01 * (influences("regression", sample) * y).sum()


def test_a_line_carries_an_error_further_than_the_weight_of_its_launch():
    _, sample = workload(2)
    weight = (sample.N / sample.n)[sample.strata]
    assert (influences("regression", sample) >= weight).all()
    assert influences("regression", sample).max() > 1.5 * weight.max()


def test_the_engine_gives_a_take_all_unit_the_influence_1():
    engine = Engine(
        Design(np.array([0] * 20 + [-1], np.int32), np.array([4]), np.linspace(0.1, 0.9, 21)), ErrorBudget(0.01)
    )
    engine.record_many(engine.wanted(), ("cycles",), np.full((5, 1), 7.0))
    assert engine.sampling.influences(np.array([20, *engine.wanted(), 0])).tolist() == [1.0, 5.0]
