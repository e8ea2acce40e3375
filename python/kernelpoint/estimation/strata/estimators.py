"""Estimators of the total of every stratum from one sample of it, and the residuals that their variance rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints, Moments


@dataclass(frozen=True)
class Sample:
    """Sample of all strata at an interim analysis, without units that are always simulated.

    Attributes:
        strata: int [n], stratum of each draw.
        N: int64 [H], units of each stratum.
        clusters: int [H], cluster of each stratum.
        x: float64 [n], covariate of each draw, or None.
        X: float64 [H], total of the covariate in each stratum, or None.
        balanced: True if draws are spread over the run, and stand here in its order.
        allowance, slow_excess: as in Design.
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
        """n_h, int64 [H]: number of draws in each stratum."""
        return np.bincount(self.strata, minlength=len(self.N)).astype(np.int64)


@dataclass(frozen=True)
class Fit:
    """Estimated totals of strata, and predictions of undrawn units. These predictions and the draws add up to the totals.

    Attributes:
        totals: float64 [H].
        residuals: float64 [n]; their spread within strata gives the variance.
        intercept, slope: float64 [H]; the prediction of an undrawn unit of stratum h is intercept[h] + slope[h] * x.
    """

    totals: Floats
    residuals: Floats
    intercept: Floats
    slope: Floats


def mean_total(y: Floats, sample: Sample) -> Fit:
    """Expansion estimator: that_h = N_h ybar_h (Sarndal et al., eq. 3.7.7). Residuals are the values themselves.

    >>> mean_total(np.array([1.0, 3.0, 5.0]), Sample(np.array([0, 0, 1]), np.array([10, 4]), np.zeros(2, int))).totals.tolist()
    [20.0, 20.0]
    """
    mean = Moments.of(sample.strata, y, len(sample.N)).mean
    return Fit(sample.N * mean, y, mean, np.zeros(len(sample.N)))


def leave_one_out_slopes(y: Floats, sample: Sample) -> Floats:
    """b_(-i), float64 [n]: slope of y on x over the draws of i's cluster without draw i, shrunk towards 0.

    Model: cycles = launch latency + slope * work inside a cluster. The least-squares slope of the other draws is multiplied
    by max(0, 1 - 4 / F), F its squared t statistic (positive-part James-Stein), so a line that is noise is not used.
    Validity does not rest on it: see regression_total. Sums over the cluster minus draw i give every fit in O(n).
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


def regression_total(y: Floats, sample: Sample) -> Fit:
    """Difference estimator with leave-one-out slopes: exactly unbiased whatever the slopes are.

    Formula: that_h = N_h ybar_h + (1 / n_h) sum_{i in s_h} b_(-i) (N_h - n_h) (xbar_undrawn - x_i). Derivation: given the
    draws other than i, draw i is uniform over the N_h - n_h + 1 units left, so
    sum_{s - i} y + sum_{U - (s - i)} m_(-i) + (N_h - n_h + 1) (y_i - m_(-i)(x_i)) is unbiased for the total for every
    prediction m_(-i) = a + b_(-i) x made without i; the intercept cancels, and the mean over i is the formula (the
    difference estimator of Sarndal et al., section 6.3, with predictions left out as in Wu and Gagnon-Bartsch 2018).
    Residual: d_i = y_i - b_(-i) (x_i - Xbar_h); within a stratum its spread is the one left after the line.

    Without a covariate, or where x does not vary within a stratum, this is mean_total.

    >>> s = Sample(np.zeros(9, int), np.array([10]), np.zeros(1, int), np.arange(9.0), np.array([50.0]))
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


def ratio_total(y: Floats, sample: Sample) -> Fit:
    """Combined ratio estimator: that = X R, R = (sum_h N_h ybar_h) / (sum_h N_h xbar_h) (Sarndal et al., eq. 7.3.3).

    Combined over all strata, never stratum by stratum: the bias of a ratio is of order 1 / n. Residual y_i - R x_i
    (linearisation). What the draws leave of that is spread over the undrawn units of all strata in proportion to x.
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


def separate_ratio_total(y: Floats, sample: Sample) -> Fit:
    """Separate ratio estimator, that_h = X_h ybar_h / xbar_h: Sieve's rule (ISPASS 2023), for purposive samples.

    Where the draws of a stratum have x = 0 the mean takes over.
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
