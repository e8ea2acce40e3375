"""Influence of single draws on an estimated total: the parts of a bound that errors of their values, and outliers,
add."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.budget import Method
from kernelpoint.estimation.moments import Floats, Moments
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.variance import SlowDraws, scales
from kernelpoint.estimation.unseen import unseen_rate


def influences(method: Method, sample: Sample) -> Floats:
    """I_i >= |d total / d y_i| of every draw, float64 [n]: values off by e_i at most move the total by sum_i I_i e_i at most.

    Formula: mean N_h / n_h; combined ratio (N_h / n_h) X / Xhat; separate ratio X_h / sum_{i in s_h} x_i. The
    difference estimator moves through its lines too (`_through_lines`).

    >>> influences("mean", Sample(np.array([0, 0, 1]), np.array([10, 4]), np.zeros(2, int))).tolist()
    [5.0, 5.0, 4.0]
    """
    expansion = sample.N / np.maximum(sample.n, 1)
    if sample.x is None or sample.X is None or method == "mean":
        return np.asarray(expansion[sample.strata], dtype=float)
    if method == "regression":
        return _through_lines(sample, expansion[sample.strata], sample.x, sample.X)
    drawn = np.bincount(sample.strata, weights=sample.x, minlength=len(sample.N))
    if method == "ratio":
        expected = float((expansion * drawn).sum())
        factor = float(sample.X.sum()) / expected if expected > 0.0 and (sample.n < sample.N).any() else 1.0
        return np.asarray(expansion[sample.strata] * factor, dtype=float)
    expansion = np.where(drawn > 0.0, sample.X / np.where(drawn > 0.0, drawn, 1.0), expansion)
    return np.asarray(expansion[sample.strata], dtype=float)


def _through_lines(sample: Sample, expansion: Floats, given_x: Floats, X: Floats) -> Floats:
    """The difference estimator, that_h = N_h ybar_h + sum_{i in s_h} b_(-i) k_i, k_i = (N_h - n_h)(xbar_undrawn - x_i) / n_h.

    Draw j moves N_h ybar_h by N_h / n_h and every line b_(-i), i != j, of its cluster by (x_j - xbar_(-i)) / Sxx_(-i), so
    d total / d y_j = N_h / n_h + f sum_{i != j} k_i (x_j - xbar_(-i)) / Sxx_(-i), f in [0, 1] the shrinkage of the lines
    (estimators.leave_one_out_slopes). What is largest over f lies at an end: I_j = max(N_h / n_h, |the same with f = 1|).

    Numerics: f is taken as given; it moves as well where values scatter about their line. Measured with errors in proportion
    to the values, 100 samples: all draws together move the total by 1.00 times sum_i I_i e_i at most where values scatter
    by 10 % or less, by 1.06 times at 30 %.
    """
    H, strata = len(sample.N), sample.strata
    group = sample.clusters[strata]
    count = int(sample.clusters.max(initial=0)) + 1
    x = given_x - Moments.of(group, given_x, count).mean[group]

    def total(values: Floats) -> Floats:
        return np.bincount(group, weights=values, minlength=count)[group]

    m = np.bincount(group, minlength=count)[group] - 1.0
    sx, squares = total(x) - x, total(x * x) - x * x
    sxx = squares - sx * sx / np.maximum(m, 1.0)
    usable = (m > 2.0) & (sxx > 1e-9 * squares) & (sxx > 0.0)
    drawn = np.bincount(strata, weights=given_x, minlength=H)
    rest = (sample.N - sample.n)[strata]
    k = np.where(rest > 0, (X - drawn)[strata] - rest * given_x, 0.0) / sample.n[strata]
    per_sxx, mean = np.where(usable, k / np.where(usable, sxx, 1.0), 0.0), sx / np.maximum(m, 1.0)
    lines = total(per_sxx) * x - total(per_sxx * mean) - per_sxx * (x - mean)
    return np.maximum(expansion, np.abs(expansion + lines))


def borrowed_totals(size: Floats, covariate: Floats, clusters: NDArray[np.integer]) -> Floats:
    """Amount that each stratum may add to a total, float64 [H]: its size, or X_h sum_c size / sum_c X of its cluster c if more.

    Few draws of a stratum may all be short launches where it has long ones too; then neither its size nor its spread tells,
    but other strata of its cluster may. The sizes add up to twice the total at most.

    Args:
        size: float64 [H], what draws tell; covariate: X_h, float64 [H]; clusters: int [H].

    >>> borrowed_totals(np.array([1.0, 9.0, 4.0]), np.ones(3), np.array([0, 0, 1])).tolist()
    [5.0, 9.0, 4.0]
    """
    of_clusters, x = (np.bincount(clusters, weights=values) for values in (size, covariate))
    each = np.divide(of_clusters, x, out=np.zeros(len(x)), where=x > 0.0)
    return np.maximum(size, each[clusters] * covariate)


def outlier_allowances(sample: Sample, y: Floats) -> Floats:
    """Largest deviation of an undrawn unit of each stratum, relative to its value, float64 [H]: Sample.allowance; or, where
    units may be slow (Sample.slow_excess), what slow draws tell of them on average, if more.

    >>> sample = Sample(np.array([0, 0, 0]), np.array([9]), np.zeros(1, int), allowance=0.5, slow_excess=4.0)
    >>> [outlier_allowances(sample, np.array([1.0, slow, 1.0])).round(3).tolist() for slow in (1.0, 4.0)]
    [[0.5], [2.775]]
    """
    if not sample.slow_excess:
        return np.full(len(sample.N), sample.allowance)
    mean = scales(Moments.of(sample.strata, y, len(sample.N)).mean, sample.n)
    return np.maximum(sample.allowance, SlowDraws.of(sample.strata, y, len(sample.N)).mean(mean))


def outlier_effects(
    sample: Sample, size: Floats, allowance: Floats, alpha: float, groups: NDArray[np.integer], count: int
) -> Floats:
    """Largest change of the total of each group of strata, float64 [count], by outliers: the draw that stands for most of it is
    off by `allowance`; or as many undrawn units by Sample.slow_excess as, with a probability of alpha, no draw is of
    (unseen_rate).

    Args:
        size: float64 [H], what each stratum adds to its group; allowance: float64 [H]; groups: int [H], group of each stratum.

    >>> sample = Sample(np.zeros(4, int), np.array([8]), np.zeros(1, int))
    >>> outlier_effects(sample, np.array([80.0]), np.array([0.5]), 0.05, np.zeros(1, int), 1).tolist()
    [5.0]
    """
    n = sample.n
    rest = np.where(n < sample.N, 1.0 - n / np.maximum(sample.N, 1), 0.0) * size
    most = np.zeros(count)
    np.maximum.at(most, groups, allowance * rest / np.maximum(n, 1))
    if not sample.slow_excess:
        return most
    slow = sample.slow_excess * unseen_rate(n, alpha)
    return np.maximum(most, slow * np.bincount(groups, weights=rest, minlength=count))
