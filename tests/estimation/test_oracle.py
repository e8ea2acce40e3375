"""Stratified totals, ratios and domains against samplics, a package for the analysis of survey samples.

The numbers are those of samplics 0.6.1 (TaylorEstimator with strata, weights and finite-population corrections; 28 November
2026). It is archived, so it is no requirement of the tests.
"""

import numpy as np
import pytest

from kernelpoint.estimation.moments import Moments
from kernelpoint.estimation.strata.allocation import sampling_factors
from kernelpoint.estimation.strata.estimators import StrataSample, mean_total

Y = np.array([12.0, 15, 11, 14, 40, 44, 39, 101, 95, 108, 99, 104])
X = np.array([6.0, 7, 5, 7, 21, 22, 20, 50, 48, 55, 49, 51])
STRATA, DOMAIN = np.array([0] * 4 + [1] * 3 + [2] * 5), np.array([0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0])
N, n = np.array([20, 15, 8]), np.array([4, 3, 5])
RATIO = 1.995975378787879  # of the totals of Y and X, and its standard error
TOTAL_X = 1686.2 / RATIO


def total_and_error(values: np.ndarray) -> tuple[float, float]:
    """Expansion estimator of a total and its standard error (Cochran 1977, theorems 5.3 and 5.5)."""
    total = float(mean_total(values, StrataSample(STRATA, N, np.zeros(3, np.int64))).totals.sum())
    return total, float(np.sqrt(sampling_factors(N, n) @ Moments.of(STRATA, values, 3).variance))


@pytest.mark.parametrize(
    ("values", "published"),
    [
        (Y, (1686.2, 28.34266512991795)),
        (Y * (DOMAIN == 0), (795.0, 223.58533046691593)),
        (Y * (DOMAIN == 1), (891.2, 236.46192082447442)),
        ((Y - RATIO * X) / TOTAL_X, (0.0, 0.011818767663859928)),
    ],
    ids=["a total", "a domain", "another domain", "a linearised ratio"],
)
def test_stratified_estimates_are_those_of_samplics(values, published):
    assert total_and_error(values) == pytest.approx(published, rel=1e-9, abs=1e-12)
