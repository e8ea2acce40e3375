"""Estimators, and what one value does to them, against slow obvious oracles: all samples of a tiny population."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.estimation.constants import PRIOR_DEGREES
from kernelpoint.estimation.moments import Moments
from kernelpoint.estimation.numbering import in_order, number_labels, rank_in
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.strata.allocation import neyman, sampling_factors
from kernelpoint.estimation.strata.estimators import StrataSample, mean_total, ratio_total, regression_total
from kernelpoint.estimation.strata.variance import pooled_spread
from kernelpoint.randomness import generator

STRATA = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
Y = np.array([3.0, 7.0, 8.0, 20.0, 1.0, 50.0, 55.0, 41.0, 90.0])
X = np.array([1.0, 2.0, 2.0, 6.0, 0.5, 9.0, 11.0, 8.0, 30.0])
N = np.array([5, 4])


def all_samples(sizes: tuple[int, int]) -> list[np.ndarray]:
    """Every sample with those sizes; all are equally likely."""
    first, second = (list(combinations(np.flatnonzero(h == STRATA), sizes[h])) for h in (0, 1))
    return [np.array([*a, *b]) for a, b in product(first, second)]


def sample_of(units: np.ndarray) -> StrataSample:
    return StrataSample(STRATA[units], N, np.zeros(2, np.int64), X[units], np.bincount(STRATA, weights=X))


@pytest.mark.parametrize("estimator", [mean_total, regression_total])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 2), (4, 3)])
def test_over_all_samples_an_unbiased_estimator_averages_to_the_total(estimator, sizes):
    totals = [estimator(Y[units], sample_of(units)).totals for units in all_samples(sizes)]
    assert np.mean(totals, axis=0) == pytest.approx(np.bincount(STRATA, weights=Y), rel=1e-12)


@pytest.mark.parametrize("sizes", [(3, 2), (4, 3)])
def test_over_all_samples_lines_from_few_draws_leave_the_estimator_unbiased(sizes):
    fits = [regression_total(Y[units], sample_of(units)) for units in all_samples(sizes)]
    assert max(fit.slope.max() for fit in fits) > 1.0  # the lines are in use
    assert np.mean([fit.totals for fit in fits], axis=0) == pytest.approx(np.bincount(STRATA, weights=Y), rel=1e-12)


def test_lines_reduce_the_error_where_cycles_are_latency_plus_work():
    random = generator(0, "lines")
    x = random.lognormal(3.0, 1.0, 600)
    y = 5000.0 + 40.0 * x + 20.0 * random.standard_normal(600)
    errors = []
    for _ in range(50):
        units = random.choice(600, 40, replace=False)
        sample = StrataSample(np.zeros(40, np.int64), np.array([600]), np.zeros(1, np.int64), x[units], np.array([x.sum()]))
        errors.append([f(y[units], sample).totals.sum() - y.sum() for f in (mean_total, regression_total)])
    mean, line = np.sqrt(np.mean(np.square(errors), axis=0))
    assert line < 0.1 * mean


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (4, 3), (5, 4)])
def test_over_all_samples_the_variance_of_the_mean_estimator_is_the_textbook_one(sizes):
    totals = [mean_total(Y[units], sample_of(units)).totals.sum() for units in all_samples(sizes)]
    S2 = np.array([Y[h == STRATA].var(ddof=1) for h in (0, 1)])
    assert np.var(totals) == pytest.approx(sampling_factors(N, np.array(sizes)) @ S2, abs=1e-9)


def test_over_all_samples_the_sample_variances_average_to_the_true_ones():
    variances = [Moments.of(STRATA[units], Y[units], 2).variance for units in all_samples((3, 2))]
    assert np.mean(variances, axis=0) == pytest.approx([Y[h == STRATA].var(ddof=1) for h in (0, 1)])


def test_the_combined_ratio_is_exact_for_proportional_values():
    for units in all_samples((2, 1))[:20]:
        assert ratio_total(7.0 * X[units], sample_of(units)).totals.sum() == pytest.approx(7.0 * X.sum())


@pytest.mark.parametrize("estimator", [mean_total, regression_total, ratio_total])
def test_draws_and_predictions_of_the_rest_add_up_to_the_total(estimator):
    for units in all_samples((3, 2)):
        fit = estimator(Y[units], sample_of(units))
        rest = np.setdiff1d(np.arange(len(Y)), units)
        predicted = fit.intercept[STRATA[rest]] + fit.slope[STRATA[rest]] * X[rest]
        assert Y[units].sum() + predicted.sum() == pytest.approx(fit.totals.sum())


@pytest.mark.parametrize("estimator", [mean_total, regression_total, ratio_total])
def test_a_full_sample_gives_the_exact_total(estimator):
    assert estimator(Y, sample_of(np.arange(len(Y)))).totals.sum() == pytest.approx(Y.sum())


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.just(0.0) | st.floats(1e-6, 9.0), st.floats(0.5, 4.0)), min_size=1, max_size=3),
    st.floats(0.01, 1.0),
)
def test_the_allocation_meets_the_target_at_no_more_than_rounding_above_the_best_sizes(strata, share):
    sizes, S2, cost = (np.array(column, dtype=float) for column in zip(*strata, strict=True))
    counts, ones = sizes.astype(np.int64), np.ones(len(sizes), np.int64)
    target = share * float(sampling_factors(counts, ones) @ S2)
    n = np.ceil(neyman(counts, S2, cost, target, ones) - 1e-9)
    assert (n >= 1).all() and (n <= counts).all()
    assert sampling_factors(counts, n) @ S2 <= target * (1.0 + 1e-5)
    choices = [np.array(c) for c in product(*(range(1, m + 1) for m in counts))]
    best = min((c * cost).sum() for c in choices if sampling_factors(counts, c) @ S2 <= target * (1.0 + 1e-9))
    assert (n * cost).sum() <= best + cost.sum() + 1e-9


@pytest.mark.parametrize("degrees", [0.3, 1.0, 2.5, 7.0, 30.0, 1e4, 1e8])
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.001, 1e-9])
def test_t_quantiles_agree_with_scipy(alpha, degrees):
    stats = pytest.importorskip("scipy.stats")
    assert two_sided(alpha, degrees) == pytest.approx(stats.t.isf(alpha / 2.0, degrees), rel=1e-5)


def test_every_stratum_is_drawn_to_what_the_others_let_one_expect():
    observed = 1e-4 * generator(0, "chi-square").chisquare(8, 40) / 8.0
    observed[0] = 0.36
    ones = np.ones(40)
    spread = pooled_spread(ones, Moments(np.full(40, 9), ones, 8.0 * observed), ones)
    assert np.allclose(spread.weight, 8.0 / (8.0 + PRIOR_DEGREES), rtol=0.05)
    assert spread.pooled[0] < spread.S2[0] < 0.25 * observed[0]
    assert (spread.S2[1:] > observed[1:]).all()


def test_the_spread_of_a_log_normal_population_of_strata_is_estimated_from_two_draws_of_each():
    random = generator(0, "population of strata")
    squared_cov = np.exp(random.normal(-5.0, 0.5, 2000))
    observed = squared_cov * random.chisquare(1, 2000)
    ones = np.ones(2000)
    spread = pooled_spread(ones, Moments(np.full(2000, 2), ones, observed), ones)
    assert spread.pooled[0] == pytest.approx(np.exp(-5.0 + 0.5 * 0.5**2), rel=0.15)


@given(st.lists(st.integers(-5, 40)) | st.lists(st.integers(-(2**60), 2**60)))
def test_labels_are_numbered_in_ascending_order_with_the_first_unit_of_each(labels):
    values = np.array(labels, dtype=np.int64)
    _, first, number = np.unique(values, return_index=True, return_inverse=True)
    numbered = number_labels(values)
    assert numbered.first.tolist() == first.tolist() and numbered.number.tolist() == number.tolist()


@given(st.lists(st.tuples(st.integers(-1, 5) | st.integers(0, 2**60), st.integers(0, 2**20) | st.floats(0.0, 2.0**20))))
def test_units_are_ordered_by_label_then_number_then_place(pairs):
    labels = np.array([label for label, _ in pairs], dtype=np.int64)
    u = np.array([number for _, number in pairs], dtype=float) / (2.0**20 + 1.0)
    assert in_order(labels, u).tolist() == np.lexsort((u, labels)).tolist()
    assert in_order(labels).tolist() == np.argsort(labels, kind="stable").tolist()
    places = np.lexsort((u, labels)).tolist()
    before = [sum(labels[other] == labels[unit] for other in places[:at]) for at, unit in enumerate(places)]
    assert rank_in(labels, u)[places].tolist() == before


def test_numbers_that_agree_in_their_leading_bits_are_ordered_too():
    u = 0.5 + np.random.default_rng(0).permutation(2000) * 2.0**-52
    labels = np.arange(2000) % 3
    assert in_order(labels, u).tolist() == np.lexsort((u, labels)).tolist()
