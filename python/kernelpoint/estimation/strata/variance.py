"""Variances within strata that borrow strength from each other, and the degrees of freedom they carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.strata.allocation import sampling_factors
from kernelpoint.estimation.strata.estimators import StrataSample


@dataclass(frozen=True)
class StrataVariances:
    """Variances of residuals inside each of H strata, pooled over strata; float64 [H] each.

    Attributes:
        S2: variance S_h^2 of the stratum: weighted mean of its own variance and of the pooled one.
        of_draws: variance of the stratum's own draws; 0 with fewer than two.
        pooled: squared coefficient of variation (CoV) that is expected of a stratum without draws.
        degrees: degrees of freedom of `of_draws`; 0 with fewer than two draws (sampled launches).
        weight: weight of the stratum's own variance in S2.
        uncertainty: relative variance of `pooled`, one number; infinite if unknown.
    """

    S2: Floats
    of_draws: Floats
    pooled: Floats
    degrees: Floats
    weight: Floats
    uncertainty: float


def scales(mean: Floats, n: Ints) -> Floats:
    """Scale of each stratum for relative spreads, float64 [H]: |mean| of its draws (sampled launches), or the smallest such
    scale above 0 where the mean is 0. Otherwise a stratum whose few draws are all 0 (a clock in whole microseconds) would seem
    free of error.

    Args:
        mean: float64 [H], mean of the draws.
        n: int64 [H], number of draws.

    >>> scales(np.array([4.0, 0.0]), np.array([1, 1])).tolist()
    [4.0, 4.0]
    """
    size = np.abs(mean)
    positive = size[(size > 0.0) & (n > 0)]
    return np.where(size > 0.0, size, positive.min() if len(positive) else 0.0)


@dataclass(frozen=True)
class SlowDraws:
    """Sampled launches (draws) that take more than twice as long as the others of their stratum, and the excess that is
    therefore assumed in all strata.

    Formula: only draws in strata with two or more are compared. Draw i has the excess e_i = y_i / m_i - 1, y_i its value and
    m_i the mean of the stratum's other draws. It is slow if e_i > SLOW, and y_i - m_i is no less than the smallest difference
    between draws, because a clock in whole microseconds reads 0 or 1 for shorter launches. In a stratum with mean M, the
    squared excess is w e_i^2 + (1 - w) min(e_i, e_i m_i / M)^2:
        w: probability that slow launches take as many times as long in every stratum; otherwise they take as many cycles more
            in strata with longer launches.
        w = P r^k / (P r^k + 1 - P), P = PRIOR_TIMES, for k slow draws; r is the share of compared draws with m no longer than
            the longest slow draw. (No longer draw is slow, which has probability r^k if all can be.)

    Model: the cause of slow launches (tuning, a page, a clock, a neighbour) does not depend on the stratum's share of the
    total. So strata with small shares, which have most draws, also tell of strata with large shares, whose few draws often hold
    no slow launch.

    Attributes:
        excess: float64 [s], e_i of each slow draw.
        length: float64 [s], m_i of each slow draw, ascending.
        compared: number of draws in strata with two or more.
        times: the probability w.

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
        """Find the slow draws (sampled launches).

        Args:
            strata: int [n], stratum of each draw, from 0 to count - 1.
            y: float64 [n], value of each draw.
            count: number of strata.
        """
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
        """float64 [H]: mean relative excess of a slow launch in strata with the given means; 0 if no sampled launch is slow."""
        return self._sums(mean, 1) / max(len(self.excess), 1)

    def mean_square(self, mean: Floats) -> Floats:
        """float64 [H]: squared coefficient of variation that slow launches cause in strata with the given means."""
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
) -> StrataVariances:
    """Variance of residuals in each stratum, as a weighted mean of the stratum's own variance and of one pooled over strata:
    S_h^2 = scale_h^2 (nu_0 c_0^2 + nu_h c_h^2) / (nu_0 + nu_h) (empirical Bayes; Smyth 2004, section 4).

    Formula: c_h^2 = s_h^2 / scale_h^2, the squared coefficient of variation of the stratum's n_h draws (sampled launches); nu_h
    = n_h - 1. c_0^2 is the largest of
        exp(mu + tau^2 / 2), the mean of a log-normal distribution: log c^2 ~ Normal(mu, tau^2) over strata. mu and tau^2 are
        moments of t_h = log c_h^2 - psi(nu_h / 2) + log(nu_h / 2), whose variance about log c^2 is v_h = psi'(nu_h / 2) (Smyth,
        section 6.2), over strata with two draws or more, weighted by sqrt(N_h scale_h) / (v_h + 2); the mean v_h is subtracted
        from tau^2. psi: digamma function.
        sum_h g_h c_h^2 / sum_h g_h, g_h = N_h^2 scale_h^2 / n_h: the mean that matters for the total of the N_h launches of all
        strata.
        `least`.
    It is 1, with no degrees of freedom, if no stratum has two draws. nu_0: PRIOR_DEGREES.

    Model: relative spreads of strata are exchangeable. Most of the variance is in few strata. If the sample misses them, a
    plain mean of c_h^2 is far too small and the run stops; the log-normal mean extrapolates to them.

    Numerics: averages of c_h^2 cover better than averages of logarithms, by which a stratum whose few draws agree by chance
    would get too few draws. For the same reason nu_0 is large: samples with too few of the rare large values have a total that
    is too low and a variance that is too small.

    Args:
        N: number of launches of each stratum, [H].
        residuals: moments of the draws' residuals in each stratum.
        scale: float64 [H], typical size of a value in each stratum.
        neighbours: True if the moments are `Moments.of_neighbours`.
        least: lower limit of c_0^2, float64 [H] or one number.

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
        return StrataVariances(scale2, np.zeros(len(n)), np.ones(len(n)), nu, np.zeros(len(n)), math.inf)
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
    return StrataVariances(S2, of_draws, pooled, nu, weight, float((w * w) @ (tau2 + noise)))


def variance_and_degrees(A: Floats, spread: StrataVariances) -> tuple[float, float]:
    """Estimated variance V of a total over strata, and its degrees of freedom nu; infinite for V = 0, and 0 if no spread is
    known.

    Formula: V = sum_h A_h S_h^2. In S_h^2, the stratum's own variance has the weight w_h and the relative variance 2 / nu_h;
    the pooled variance has the relative variance L, common to all strata. nu = 2 V^2 / (sum_h (w_h A_h S_h^2)^2 2 / nu_h +
    (sum_h (1 - w_h) A_h S_h^2)^2 L) (Satterthwaite 1946), and no more than DEGREES_PER_DRAW times the effective number of
    strata with a variance of their own.

    Args:
        A: float64 [H], factor of each stratum (`sampling_factors`).
        spread: variances S_h^2, weights w_h, degrees of freedom nu_h, and L (`uncertainty`).

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


# ---- change between two runs ----------------------------------------------------------------------------------------

# Model: degrees of freedom that "a stratum spreads by as much as it moved" counts for, before the draws
PRIOR_DEGREES_OF_CHANGE = 2.0


def collapsed(sample: StrataSample, residuals: Floats, scale: Floats) -> tuple[float, float]:
    """Variance of the total of residuals, and its degrees of freedom, if all strata of a cluster are treated as one (collapsed
    strata, Wolter 2007, section 2.5). It is too large rather than too small, because it includes differences between strata.

    Formula: V = sum_c S_c^2 sum_{h in c} A_h scale_h^2, over clusters c and their strata h: S_c^2 is the variance of residual /
    scale in the cluster, A_h as in `sampling_factors`. Degrees of freedom as in `variance_and_degrees`, with clusters in place
    of strata.

    Args:
        sample: draws of all strata.
        residuals: float64 [n], residual of each draw (sampled launch).
        scale: float64 [H], typical size of a residual in each stratum.
    """
    cluster = sample.clusters
    count = int(cluster.max(initial=0)) + 1
    terms = sampling_factors(sample.N, sample.n) * scale * scale
    weight = np.bincount(cluster, weights=terms, minlength=count).astype(float)
    if not weight.any():
        return 0.0, math.inf
    relative = np.where(scale[sample.strata] > 0.0, residuals / np.maximum(scale[sample.strata], 1e-300), 0.0)
    moments = Moments.of(cluster[sample.strata], relative, count)
    spread = pooled_spread(np.sqrt(weight), moments, np.ones(count))
    # no cap: draws of a cluster are of many strata
    return variance_and_degrees(weight, replace(spread, of_draws=np.zeros(count)))


def alone(sample: StrataSample, residuals: Floats, moved: Floats) -> tuple[float, float]:
    """Variance of the total of a change between two runs, and its degrees of freedom, from the draws (sampled launches) of each
    stratum alone.

    Formula: V = sum_h A_h (s_h^2 + k d_h^2 / nu_h), over strata h with n_h draws, nu_h = max(n_h - 1, 1), A_h as in
    `sampling_factors`.
        s_h^2: variance of the residuals of the draws.
        d_h: mean change of the draws. The launches of a stratum need not all change alike, and few draws that agree do not show
            that; so a stratum spreads by k d_h^2 too.
        k = (p + nu khat) / (p + nu): relative spread of changes, a mean of the prior value 1, with p = PRIOR_DEGREES_OF_CHANGE
            degrees of freedom, and of the measured value khat.
        khat = sum_h w_h min(s_h^2 / d_h^2, 1) / sum_h w_h, nu = (sum_h w_h)^2 / sum_h (w_h^2 / nu_h), over strata with two
            draws or more, w_h = A_h d_h^2.

    Degrees of freedom: V^2 / sum_h (V_h^2 / (n_h + 2)) - 2, at least 1, with V_h the term of stratum h (Welch 1947).

    Args:
        sample: draws of all strata, from both runs.
        residuals: float64 [n], residual of each draw's change.
        moved: float64 [n], change of each draw.
    """
    n, A = sample.n, sampling_factors(sample.N, sample.n)
    variances = Moments.of(sample.strata, residuals, len(n)).variance
    shift2 = Moments.of(sample.strata, moved, len(n)).mean ** 2
    nu = np.maximum(n - 1, 1)
    w = np.where(n > 1, A * shift2, 0.0)
    k = 1.0
    if (w * w).any():
        spread = np.minimum(variances / np.where(w > 0.0, shift2, 1.0), 1.0)
        degrees = float(w.sum() ** 2 / (w * w / nu).sum())
        k = (PRIOR_DEGREES_OF_CHANGE + degrees * float((w * spread).sum() / w.sum())) / (PRIOR_DEGREES_OF_CHANGE + degrees)
    terms = A * (variances + k * shift2 / nu)
    V, noise = float(terms.sum()), float((terms * terms / (n + 2)).sum())
    return V, max(1.0, V * V / noise - 2.0) if noise > 0.0 else math.inf
