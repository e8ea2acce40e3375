"""Pooling of spreads over strata: the mean of a log-normal population of variances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats


def digamma(x: Floats) -> Floats:
    """Digamma function psi(x) for x > 0: recurrence up to 6, then the asymptotic series (DLMF 5.5.2, 5.11.2).

    >>> digamma(np.array([0.5, 1.0])).round(6).tolist()
    [-1.96351, -0.577216]
    """
    x, result = np.array(x, dtype=float), np.zeros(len(x))
    for _ in range(6):
        small = x < 6.0
        result[small] -= 1.0 / x[small]
        x[small] += 1.0
    i = 1.0 / (x * x)
    return result + np.log(x) - 0.5 / x - i * (1.0 / 12.0 - i * (1.0 / 120.0 - i / 252.0))


def trigamma(x: Floats) -> Floats:
    """Trigamma function psi'(x) for x > 0: recurrence up to 6, then the asymptotic series (DLMF 5.15.5, 5.15.8).

    >>> trigamma(np.array([0.5, 1.0])).round(5).tolist()
    [4.9348, 1.64493]
    """
    x, result = np.array(x, dtype=float), np.zeros(len(x))
    for _ in range(6):
        small = x < 6.0
        result[small] += 1.0 / (x[small] * x[small])
        x[small] += 1.0
    i = 1.0 / (x * x)
    return result + (1.0 + 0.5 / x + i * (1.0 / 6.0 - i * (1.0 / 30.0 - i / 42.0))) / x


@dataclass(frozen=True)
class LogNormal:
    """Log-normal distribution of squared CoVs over strata: log c_h^2 ~ Normal(mu, tau2).

    uncertainty: variance of the estimate of mu; degrees: nu_0, for how many draws of a stratum its mean counts.
    """

    mu: float
    tau2: float
    uncertainty: float
    degrees: float = constants.PRIOR_DEGREES

    @property
    def mean(self) -> float:
        """Mean of the distribution, exp(mu + tau2 / 2): expected squared CoV of a stratum without draws."""
        return math.exp(self.mu + 0.5 * self.tau2)

    def shrink(self, squared_cov: Floats, degrees: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """Squared CoV of each stratum shrunk to its expectation, (nu_0 mean_h + nu_h c_h^2) / (nu_0 + nu_h), and the weight of
        its own value.

        Numerics: measured, straight averages cover better than the posterior of the logarithms, which lets a stratum whose
        few draws happen to agree look quiet: allocation then starves it, and what it hides never comes to light. For the
        same reason nu_0 is large: where large values are rare, samples that hold few of them have a total that is too low and
        a variance that is too small at once, and growing the other samples makes that a bias.
        """
        weight = degrees / (self.degrees + degrees)
        return (1.0 - weight) * mean + weight * squared_cov, weight


def _logarithms(squared_cov: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """t_h, an unbiased estimate of log c_h^2, and its variance."""
    half = np.asarray(degrees, dtype=float) / 2.0
    return np.log(np.maximum(squared_cov, constants.NO_SPREAD)) - digamma(half) + np.log(half), trigamma(half)


def fit(squared_cov: Floats, degrees: Floats, weight: Floats) -> LogNormal:
    """Fit the distribution of squared CoVs over all strata to those of strata with draws.

    Own c_h^2 = chi-square(nu_h) / nu_h times the true one, so t_h = log c_h^2 - psi(nu_h / 2) + log(nu_h / 2) has the log
    of the true one as its mean and the variance v_h = psi'(nu_h / 2) (Smyth 2004, section 6.2). mu and tau2 are weighted
    moments of t_h, tau2 less the mean noise.

    Why not the plain mean of the c_h^2: most of the variance sits in a few strata. A sample of strata that misses them
    has a plain mean that is far too small, and a run that stops because of it; the log-normal one extrapolates from
    the bulk.

    Args:
        squared_cov: float64 [D], c_h^2; degrees: [D], nu_h >= 1; weight: float64 [D], positive.

    >>> population = fit(np.full(50, 0.04), np.full(50, 9), np.ones(50))
    >>> 0.03 < population.mean < 0.06
    True
    """
    t, noise = _logarithms(squared_cov, degrees)
    w = weight / (noise + 2.0)
    w = w / w.sum()
    mu = float((w * t).sum())
    effective = 1.0 / float((w * w).sum())
    between = float((w * (t - mu) ** 2).sum()) * effective / max(effective - 1.0, 0.5) - float((w * noise).sum())
    tau2 = max(between, 0.0)
    nu0 = max(constants.PRIOR_DEGREES * (1.0 - 1.0 / effective), 1.0)
    return LogNormal(mu, tau2, float((w * w * (tau2 + noise)).sum()), nu0)
