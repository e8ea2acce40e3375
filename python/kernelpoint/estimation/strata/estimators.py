"""Estimators of the total of every stratum from one sample of it, and the residuals that their variance rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints, Moments


@dataclass(frozen=True)
class StrataSample:
    """Sample of all strata at an interim analysis (end of a round of sampling), without launches that are always simulated.

    Attributes:
        strata: int [n], stratum of each draw (sampled launch).
        N: int64 [H], number of launches in each stratum.
        clusters: int [H], cluster of each stratum.
        x: float64 [n], covariate of each draw; None: there is none.
        X: float64 [H], total of the covariate in each stratum, or None.
        balanced: True if draws are spread evenly over the run, and stand in its order.
        allowance: assumed largest relative deviation of one undrawn launch.
        slow_excess: relative excess of slow launches that no draw shows.
    """

    strata: NDArray[np.integer]
    N: Ints
    clusters: NDArray[np.integer]
    x: Floats | None = None
    X: Floats | None = None
    balanced: bool = False
    allowance: float = field(default_factory=lambda: constants.OUTLIER_ALLOWANCE)
    slow_excess: float = 0.0

    @cached_property
    def n(self) -> Ints:
        """int64 [H]: number of sampled launches in each stratum."""
        return np.bincount(self.strata, minlength=len(self.N)).astype(np.int64)


@dataclass(frozen=True)
class Fit:
    """Estimated totals of one counter in H strata, and predictions of undrawn launches. Results of sampled launches and
    predictions of undrawn ones add up to the total of the stratum.

    Attributes:
        totals: float64 [H].
        residuals: float64 [n], residual of each draw (sampled launch); the variance of the total follows from their spread
            inside strata.
        intercept, slope: float64 [H]; an undrawn launch of stratum h with covariate x is predicted as intercept[h] + slope[h]
            x.
    """

    totals: Floats
    residuals: Floats
    intercept: Floats
    slope: Floats


def mean_total(y: Floats, sample: StrataSample) -> Fit:
    """Estimate the total of each stratum as the number of launches times the mean of the draws (expansion estimator; Sarndal et
    al., eq. 3.7.7). Residuals are the values themselves.

    Args:
        y: float64 [n], value of each draw.
        sample: the draws (sampled launches).

    >>> sample = StrataSample(np.array([0, 0, 1]), np.array([10, 4]), np.zeros(2, int))
    >>> mean_total(np.array([1.0, 3.0, 5.0]), sample).totals.tolist()
    [20.0, 20.0]
    """
    mean = Moments.of(sample.strata, y, len(sample.N)).mean
    return Fit(sample.N * mean, y, mean, np.zeros(len(sample.N)))


def leave_one_out_slopes(y: Floats, sample: StrataSample) -> Floats:
    """For each draw i, the slope b_(-i) of y on x over the other draws (sampled launches) of its cluster, shrunk towards 0,
    float64 [n].

    Model: inside a cluster, cycles = launch latency + slope * work. The least-squares slope is multiplied by max(0, 1 - 4 / F),
    F its squared t statistic (positive-part James-Stein), so that a slope which is only noise is not used. If the model is
    wrong, `regression_total` remains unbiased. The time is linear in n.

    Args:
        y: float64 [n], value of each draw.
        sample: the draws, with a covariate x.
    """
    assert sample.x is not None
    group = sample.clusters[sample.strata]
    count = int(sample.clusters.max(initial=0)) + 1
    centre_x, centre_y = (Moments.of(group, v, count).mean[group] for v in (sample.x, y))
    x, v = sample.x - centre_x, y - centre_y  # Numerics: centred first, so that taking one draw out does not cancel

    def others(values: Floats) -> Floats:
        return np.bincount(group, weights=values, minlength=count)[group] - values

    m = np.bincount(group, minlength=count)[group] - 1.0
    some = np.maximum(m, 1.0)
    sx, sy = others(x), others(v)
    sxx, sxy, syy = others(x * x) - sx * sx / some, others(x * v) - sx * sy / some, others(v * v) - sy * sy / some
    usable = (m > 2.0) & (sxx > 1e-9 * others(x * x)) & (sxx > 0.0)
    slope = np.where(usable, sxy / np.where(usable, sxx, 1.0), 0.0)
    explained = slope * sxy
    error = np.maximum(syy - explained, 1e-12 * np.maximum(syy, 0.0)) / np.maximum(m - 2.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(explained > 0.0, np.maximum(0.0, 1.0 - 4.0 * error / explained), 0.0)
    return slope * shrink


def regression_total(y: Floats, sample: StrataSample) -> Fit:
    """Estimate the total of each stratum by the difference estimator with leave-one-out slopes. It is exactly unbiased,
    whatever the slopes are.

    Formula, for stratum h with the draws (sampled launches) s_h, n_h of N_h launches: that_h = N_h ybar_h + (1 / n_h) sum_{i in
    s_h} b_(-i) (N_h - n_h) (xbar_undrawn - x_i). b_(-i) is the slope without draw i (`leave_one_out_slopes`), ybar_h the mean
    of the draws, xbar_undrawn the mean covariate of the undrawn launches.

    Residual of a draw: y_i - b_(-i) (x_i - Xbar_h), Xbar_h the mean covariate of the stratum.

    Derivation: given the other draws, draw i is uniform over the N_h - n_h + 1 remaining launches. So, for any prediction
    m_(-i) = a + b_(-i) x made without i, sum_{s - i} y + sum_{U - (s - i)} m_(-i) + (N_h - n_h + 1) (y_i - m_(-i)(x_i)) is
    unbiased (U: all launches of the stratum). The intercept a cancels; the mean over i is that_h (Sarndal et al., section 6.3;
    leave-one-out predictions: Wu and Gagnon-Bartsch 2018).

    Without a covariate the estimator is `mean_total`.

    Args:
        y: float64 [n], value of each draw.
        sample: the draws.

    >>> s = StrataSample(np.zeros(9, int), np.array([10]), np.zeros(1, int), np.arange(9.0), np.array([50.0]))
    >>> round(float(regression_total(100.0 + 7.0 * s.x, s).totals[0]), 3)
    1350.0
    """
    if sample.x is None or sample.X is None:
        return mean_total(y, sample)
    H = len(sample.N)
    slopes = leave_one_out_slopes(y, sample)
    mean = Moments.of(sample.strata, y, H).mean
    slope = Moments.of(sample.strata, slopes, H).mean
    intercept = mean - Moments.of(sample.strata, slopes * sample.x, H).mean
    drawn_x = np.bincount(sample.strata, weights=sample.x, minlength=H)
    rest = sample.N - sample.n
    totals = sample.n * mean + rest * intercept + slope * np.where(rest > 0, sample.X - drawn_x, 0.0)
    population_mean = sample.X / np.maximum(sample.N, 1)
    residuals = y - slopes * (sample.x - population_mean[sample.strata])
    return Fit(np.where(sample.n > 0, totals, 0.0), residuals, intercept, slope)


def ratio_total(y: Floats, sample: StrataSample) -> Fit:
    """Estimate totals by the combined ratio estimator: X R, with one ratio R of y to the covariate x for all strata.

    Formula: R = (sum_h N_h ybar_h) / (sum_h N_h xbar_h), over strata h with N_h launches and the means ybar_h, xbar_h of their
    draws; X is the total of the covariate (Sarndal et al., eq. 7.3.3). Residual of a draw: y_i - R x_i (linearisation). A ratio
    for each stratum would have a bias of order 1 / (draws of the stratum).

    Args:
        y: float64 [n], value of each draw.
        sample: the draws (sampled launches), with a covariate.
    """
    assert sample.x is not None and sample.X is not None
    H = len(sample.N)
    weight = (sample.N / np.maximum(sample.n, 1))[sample.strata]
    below = float((weight * sample.x).sum())
    R = float((weight * y).sum()) / below if below > 0.0 else 0.0
    drawn_x, drawn_y = (np.bincount(sample.strata, weights=v, minlength=H) for v in (sample.x, y))
    undrawn = sample.N - sample.n
    rest = np.where(undrawn > 0, sample.X - drawn_x, 0.0)
    undrawn_total = R * float(sample.X.sum()) - float(y.sum()) if undrawn.any() else 0.0
    by_x = bool(rest.sum() > 0.0)
    slope = np.full(H, undrawn_total / float(rest.sum()) if by_x else 0.0)
    intercept = np.full(H, 0.0 if by_x else undrawn_total / max(int(undrawn.sum()), 1))
    return Fit(drawn_y + slope * rest + intercept * undrawn, y - R * sample.x, intercept, slope)


def separate_ratio_total(y: Floats, sample: StrataSample) -> Fit:
    """Estimate the total of each stratum by its own ratio, X_h ybar_h / xbar_h: total of the covariate times the ratio of the
    means of the sampled launches. It is the estimator of Sieve (ISPASS 2023), for launches that were chosen without chance.
    Where the covariate of all draws is 0, `mean_total` is used.

    Args:
        y: float64 [n], value of each draw.
        sample: the draws, with a covariate.
    """
    assert sample.x is not None and sample.X is not None
    H = len(sample.N)
    mean, mean_x = (Moments.of(sample.strata, v, H).mean for v in (y, sample.x))
    usable = mean_x > 0.0
    slope = np.where(usable, mean / np.where(usable, mean_x, 1.0), 0.0)
    intercept = np.where(usable, 0.0, mean)
    drawn_x = np.bincount(sample.strata, weights=sample.x, minlength=H)
    totals = sample.n * mean + (sample.N - sample.n) * intercept + slope * (sample.X - drawn_x)
    return Fit(totals, y - slope[sample.strata] * sample.x, intercept, slope)


ESTIMATORS = {
    "mean": mean_total,
    "regression": regression_total,
    "ratio": ratio_total,
    "separate_ratio": separate_ratio_total,
}
