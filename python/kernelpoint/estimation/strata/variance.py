"""Variances within strata that borrow strength from each other, and the degrees of freedom they carry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints, Moments


@dataclass(frozen=True)
class Spread:
    """Spread of residuals within strata, arrays float64 [H].

    Attributes:
        S2: shrunk variances S_h^2.
        of_draws: variances of the draws of each stratum, 0 without a second draw.
        pooled: c_0^2, squared CoV that is expected of a stratum without draws.
        degrees: nu_h, degrees of freedom of `of_draws`, 0 without a second draw.
        weight: share of S_h^2 that is a stratum's own.
        uncertainty: relative variance of c_0^2, infinite if unknown.
    """

    S2: Floats
    of_draws: Floats
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


def _digamma_and_trigamma(x: Floats) -> tuple[Floats, Floats]:
    """psi(x) and psi'(x) for x > 0: recurrence up to 6, then the asymptotic series (DLMF 5.5.2, 5.11.2, 5.15.5, 5.15.8).

    >>> [values.round(5).tolist() for values in _digamma_and_trigamma(np.array([0.5, 1.0]))]
    [[-1.96351, -0.57722], [4.9348, 1.64493]]
    """
    steps = x + np.arange(6.0)[:, None]
    below = steps < 6.0
    z = x + below.sum(axis=0)
    i = 1.0 / (z * z)
    first = np.log(z) - 0.5 / z - i * (1.0 / 12.0 - i * (1.0 / 120.0 - i / 252.0)) - (below / steps).sum(axis=0)
    second = (1.0 + 0.5 / z + i * (1.0 / 6.0 - i * (1.0 / 30.0 - i / 42.0))) / z + (below / steps**2).sum(axis=0)
    return first, second


def pooled_spread(
    N: Ints | Floats, residuals: Moments, scale: Floats, neighbours: bool = False, least: Floats | float = 0.0
) -> Spread:
    """Shrunk variances S_h^2 = scale_h^2 (nu_0 c_0^2 + nu_h c_h^2) / (nu_0 + nu_h): empirical Bayes (Smyth 2004, section 4).

    c_h^2 = s_h^2 / scale_h^2 is a stratum's own squared CoV of residuals, nu_h = n_h - 1. The true ones are log-normal over
    the strata: log c^2 ~ Normal(mu, tau^2). The own one is chi-square(nu_h) / nu_h times the true one, so t_h = log c_h^2 -
    psi(nu_h / 2) + log(nu_h / 2) has the log of the true one as its mean and the variance v_h = psi'(nu_h / 2) (section 6.2).
    mu and tau^2 are moments of t_h over the strata with two or more draws, weighted by sqrt(N_h scale_h) / (v_h + 2), tau^2
    less the mean noise. c_0^2 is exp(mu + tau^2 / 2), or, if larger, sum g_h c_h^2 / sum g_h with g_h = N_h^2 scale_h^2 / n_h,
    the mean that matters for the total, or `least` (SlowDraws.mean_square). neighbours: whether residuals are
    Moments.of_neighbours.

    Why not the plain mean: most of the variance sits in a few strata. A sample of strata that misses them has a plain mean
    that is far too small, and a run that stops because of it; the log-normal one extrapolates from the bulk.

    Numerics: straight averages cover better than the posterior of the logarithms, which lets a stratum whose few draws
    happen to agree look quiet: allocation then starves it, and what it hides never comes to light. For the same reason nu_0
    (PRIOR_DEGREES) is large: samples that hold few of the rare large values have a total that is too low and a variance that
    is too small at once, and growing the other samples makes that a bias.

    Model: a stratum's relative spread is exchangeable with that of the others.
    Without any stratum of two draws nothing is known: c_0^2 is 1 and no degree of freedom is claimed.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> S2 = pooled_spread(np.array([30, 30]), r, r.mean).S2
    >>> bool(S2[1] >= 25.0)
    True
    """
    n, scale2 = residuals.n, scale * scale
    nu = np.maximum(n - 1.0, 0.0)
    if neighbours:  # von Neumann's ratio: differences share draws
        nu = np.where(n > 1, 2.0 * nu**2 / np.maximum(3.0 * n - 4.0, 1.0), 0.0)
    nu = np.where(scale2 > 0.0, nu, 0.0)
    some = np.flatnonzero(nu > 0.0)
    if not len(some):
        return Spread(scale2, np.zeros(len(n)), np.ones(len(n)), nu, np.zeros(len(n)), math.inf)
    of_draws = np.where(nu > 0.0, residuals.variance, 0.0)
    squared_cov, half, importance = (
        of_draws[some] / scale2[some],
        nu[some] / 2.0,
        N[some].astype(float) ** 2 * scale2[some] / n[some],
    )
    digamma, noise = _digamma_and_trigamma(half)
    t = np.log(np.maximum(squared_cov, constants.NO_SPREAD)) - digamma + np.log(half)
    w = np.sqrt(N[some] * scale[some]) / (noise + 2.0)
    w = w / w.sum()
    mu, effective = float(w @ t), 1.0 / float(w @ w)
    tau2 = max(float(w @ (t - mu) ** 2) * effective / max(effective - 1.0, 0.5) - float(w @ noise), 0.0)
    mean = max(math.exp(mu + 0.5 * tau2), float(importance @ squared_cov / importance.sum()))
    pooled = np.maximum(mean, np.broadcast_to(least, len(n)))
    nu0 = max(constants.PRIOR_DEGREES * (1.0 - 1.0 / effective), 1.0)
    weight = nu / (nu0 + nu)
    S2 = (1.0 - weight) * scale2 * pooled + weight * of_draws
    return Spread(S2, of_draws, pooled, nu, weight, float((w * w) @ (tau2 + noise)))


def variance_and_degrees(A: Floats, spread: Spread) -> tuple[float, float]:
    """Estimated variance of the total, and its degrees of freedom.

    Formula: V = sum_h A_h S_h^2 (allocation.sampling_factors). Of each term the share w_h is the stratum's own, with
    relative variance 2 / nu_h, and the rest is borrowed, with one relative variance L for all. Satterthwaite (1946):
    nu = 2 V^2 / (sum_h (w_h A_h S_h^2)^2 2 / nu_h + (sum_h (1 - w_h) A_h S_h^2)^2 L), where L is the variance of the
    estimated mu of the population of log c_h^2. nu is infinite where V is 0, 0 where nothing is known, and no more than
    DEGREES_PER_DRAW for each of the strata that make up the variance of the draws.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> N = np.array([30, 30])
    >>> V, nu = variance_and_degrees(np.array([270.0, 870.0]), pooled_spread(N, r, r.mean))
    >>> V > 22020.0, 0.0 < nu < 9.0
    (True, True)
    """
    terms = A * spread.S2
    V = float(terms.sum())
    if V <= 0.0 or math.isinf(spread.uncertainty):
        return V, 0.0 if V > 0.0 else math.inf
    several = np.maximum(spread.degrees, 1e-9)
    noise = float((np.where(spread.degrees > 0.0, terms * spread.weight, 0.0) ** 2 * 2.0 / several).sum())
    noise += float((terms * (1.0 - spread.weight)).sum()) ** 2 * spread.uncertainty
    nu = 2.0 * V * V / noise if noise > 0.0 else 2.0 * V * V
    shown = A * spread.of_draws
    squares = float((shown * shown / np.maximum(spread.degrees, 1.0)).sum())
    few = constants.DEGREES_PER_DRAW * float(shown.sum()) ** 2 / squares if squares > 0.0 else math.inf
    return V, min(nu, max(few, 1.0))
