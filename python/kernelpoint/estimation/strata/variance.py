"""Variances within strata that borrow strength from each other, and the degrees of freedom they carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.strata.pooling import fit


@dataclass(frozen=True)
class Spread:
    """Spread of residuals within strata, arrays float64 [H].

    Attributes:
        S2: shrunk variances S_h^2.
        scale2: squared scale of each stratum.
        observed: squared CoV c_h^2 of the draws.
        pooled: c_0^2, squared CoV that is expected of a stratum without draws.
        degrees: nu_h = n_h - 1, 0 without a second draw.
        weight: share of S_h^2 that is a stratum's own.
        uncertainty: relative variance of c_0^2, infinite if unknown.
    """

    S2: Floats
    scale2: Floats
    observed: Floats
    pooled: Floats
    degrees: Floats
    weight: Floats
    uncertainty: float


def scales(mean: Floats, n: Ints) -> Floats:
    """Scale of each stratum for relative spreads: |mean|, or the smallest positive scale if the mean is 0.

    A stratum whose few draws are all 0 (whole-microsecond clocks read 0) would otherwise claim to be free of error.

    >>> scales(np.array([4.0, 0.0]), np.array([1, 1])).tolist()
    [4.0, 4.0]
    """
    size = np.abs(mean)
    positive = size[(size > 0.0) & (n > 0)]
    return np.where(size > 0.0, size, positive.min() if len(positive) else 0.0)


@dataclass(frozen=True)
class SlowDraws:
    """Draws that take more than twice as long as the others of their stratum, and the excess that they imply for all strata.

    Formula: draw i of a stratum with two or more has the excess e_i = y_i / m_i - 1, m_i the mean of its stratum's other
    draws; it is slow if e_i > SLOW and y_i - m_i is no less than the smallest step between draws. A clock that ticks in whole
    microseconds reads 0 or 1 of shorter launches, which are not slow. In a stratum of mean M the square of e_i is
    w e_i^2 + (1 - w) min(e_i, e_i m_i / M)^2:
    with the probability w slow units take as many times as long everywhere, else as many cycles more in longer strata.
    w = P r^k / (P r^k + 1 - P), P = PRIOR_TIMES, k the number of slow draws, r the share of compared draws whose m is no longer
    than the longest slow draw: of longer ones none is slow, which is as likely as r^k if all may be.

    excess: float64 [s], e_i; length: float64 [s], m_i, ascending; compared: draws of strata with two or
    more; times: w.

    Model: what makes a unit slow now and then (tuning, a page, a clock, a neighbour) does not ask how much of the total its
    stratum holds. So light strata, which have most of the draws, tell of heavy ones: estimated from each stratum's part of
    the total, the spread is small whenever the few draws of heavy strata happen to hold no slow unit, and a run stops on that.

    >>> slow = SlowDraws.of(np.array([0, 0, 1, 1, 2]), np.array([1.0, 3.0, 5.0, 5.0, 9.0]), 3)
    >>> slow.excess.tolist(), slow.length.tolist(), slow.compared, round(slow.times, 2)
    ([2.0], [1.0], 4, 0.74)
    """

    excess: Floats
    length: Floats
    compared: int
    times: float

    @classmethod
    def of(cls, strata: NDArray[np.integer], y: Floats, count: int) -> SlowDraws:
        """Find the slow draws among y (float64 [n]) in strata (int [n], 0 ... count - 1)."""
        n, total = np.bincount(strata, minlength=count), np.bincount(strata, weights=y, minlength=count)
        several = n[strata] > 1
        h, values = strata[several], y[several]
        others = (total[h] - values) / (n[h] - 1)
        excess = np.where(others > 0.0, values / np.where(others > 0.0, others, 1.0) - 1.0, 0.0)
        steps = np.diff(np.unique(values))
        tick = float(steps.min()) if len(steps) else 0.0
        slow = np.flatnonzero((excess > constants.SLOW) & (values - others >= tick))
        slow = slow[np.argsort(others[slow], kind="stable")]
        if not len(slow):
            return cls(np.empty(0), np.empty(0), len(h), constants.PRIOR_TIMES)
        shorter = float((others <= values[slow].max()).mean())
        likely = constants.PRIOR_TIMES * shorter ** len(slow)
        times = likely / (likely + 1.0 - constants.PRIOR_TIMES)
        return cls(excess[slow], others[slow], len(h), times)

    def _sums(self, mean: Floats, power: int) -> Floats:
        """Sum of the excesses of slow draws, raised to a power, for strata with these means (float64 [H])."""
        shorter = np.searchsorted(self.length, mean)
        cycles = np.concatenate(([0.0], np.cumsum((self.excess * self.length) ** power)))
        times = np.concatenate(([0.0], np.cumsum(self.excess**power)))
        in_cycles = cycles[shorter] / np.where(shorter > 0, mean, 1.0) ** power + times[-1] - times[shorter]
        return np.asarray(self.times * times[-1] + (1.0 - self.times) * in_cycles)

    def mean(self, mean: Floats) -> Floats:
        """float64 [H]: relative excess of a slow unit in strata with these means; 0 if no draw is slow."""
        return self._sums(mean, 1) / max(len(self.excess), 1)

    def mean_square(self, mean: Floats) -> Floats:
        """float64 [H]: squared CoV that slow units cause in strata with these means."""
        return self._sums(mean, 2) / max(self.compared, 1)


def pooled_spread(
    N: Ints | Floats, residuals: Moments, scale: Floats, neighbours: bool = False, least: Floats | float = 0.0
) -> Spread:
    """Shrunk variances S_h^2 = scale_h^2 (nu_0 c_0^2 + nu_h c_h^2) / (nu_0 + nu_h): empirical Bayes (Smyth 2004, section 4).

    c_h^2 = s_h^2 / scale_h^2 is a stratum's own squared CoV of residuals, nu_h = n_h - 1. The population of c_h^2 is fitted
    to the strata D with two or more draws (pooling.fit, weights sqrt(N_h scale_h)) and raised, if need be, so that its mean
    is no less than sum_D g_h c_h^2 / sum_D g_h, g_h = N_h^2 scale_h^2 / n_h, the mean that matters for the total, nor than
    `least` (SlowDraws.mean_square). neighbours: whether residuals are Moments.of_neighbours.

    Model: a stratum's relative spread is exchangeable with that of the others.
    Without any stratum of two draws nothing is known: c_0^2 is 1 and no degree of freedom is claimed.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> S2 = pooled_spread(np.array([30, 30]), r, r.mean).S2
    >>> bool(S2[1] >= 25.0)
    True
    """
    n = residuals.n
    degrees = np.maximum(n - 1.0, 0.0)
    if neighbours:  # von Neumann's ratio: differences share draws
        degrees = np.where(n > 1, 2.0 * degrees**2 / np.maximum(3.0 * n - 4.0, 1.0), 0.0)
    scale2 = scale * scale
    has_variance = (degrees > 0) & (scale2 > 0.0)
    squared_cov = np.where(has_variance, residuals.variance / np.where(scale2 > 0.0, scale2, 1.0), 0.0)
    importance = np.where(has_variance, N.astype(float) ** 2 * scale2 / np.maximum(n, 1), 0.0)
    if not has_variance.any():
        return Spread(scale2, scale2, squared_cov, np.ones(len(n)), degrees, np.zeros(len(n)), math.inf)
    population = fit(squared_cov[has_variance], degrees[has_variance], np.sqrt(N[has_variance] * scale[has_variance]))
    plain = float((importance * squared_cov).sum() / importance.sum())
    population = replace(population, mu=population.mu + math.log(max(1.0, plain / population.mean)))
    expected = np.maximum(population.mean, np.broadcast_to(least, len(n)))
    shrunk, weight = population.shrink(squared_cov, np.where(has_variance, degrees, 0.0), expected)
    return Spread(scale2 * shrunk, scale2, squared_cov, expected, degrees, weight, population.uncertainty)


def sampling_factors(N: Ints, n: Ints) -> Floats:
    """A_h = N_h^2 (1 - n_h / N_h) / n_h, float64 [H]: A_h S_h^2 is the variance of a stratum's estimated total.

    >>> sampling_factors(np.array([10, 4]), np.array([5, 4])).tolist()
    [10.0, 0.0]
    """
    return np.where(n < N, N.astype(float) ** 2 * (1.0 - n / np.maximum(N, 1)) / np.maximum(n, 1), 0.0)


def variance_and_degrees(N: Ints, n: Ints, spread: Spread) -> tuple[float, float]:
    """Estimated variance of the total, and its degrees of freedom.

    Formula: V = sum_h A_h S_h^2 (sampling_factors). Of each term the share w_h is the stratum's own, with
    relative variance 2 / nu_h, and the rest is borrowed, with one relative variance L for all. Satterthwaite (1946):
    nu = 2 V^2 / (sum_h (w_h A_h S_h^2)^2 2 / nu_h + (sum_h (1 - w_h) A_h S_h^2)^2 L), where L is the variance of the
    estimated mu of the population of log c_h^2. nu is infinite where V is 0, 0 where nothing is known.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> N = np.array([30, 30])
    >>> V, nu = variance_and_degrees(N, r.n, pooled_spread(N, r, r.mean))
    >>> V > 22020.0, 0.0 < nu < 9.0
    (True, True)
    """
    A = sampling_factors(N, n)
    terms = A * spread.S2
    V = float(terms.sum())
    if V <= 0.0 or math.isinf(spread.uncertainty):
        return V, 0.0 if V > 0.0 else math.inf
    chi_square = np.where(spread.degrees > 0, 2.0 / np.maximum(spread.degrees, 1e-9), 0.0)
    own_part = float(((terms * spread.weight) ** 2 * chi_square).sum())
    noise = own_part + float((terms * (1.0 - spread.weight)).sum()) ** 2 * spread.uncertainty
    nu = 2.0 * V * V / noise if noise > 0.0 else 2.0 * V * V
    shown = A * spread.scale2 * spread.observed
    squares = float((shown * shown / np.maximum(spread.degrees, 1.0)).sum())
    few = constants.DEGREES_PER_DRAW * float(shown.sum()) ** 2 / squares if squares > 0.0 else math.inf
    return V, min(nu, max(few, 1.0))
