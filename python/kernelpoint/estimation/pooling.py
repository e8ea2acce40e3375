"""What the spreads of some strata say about the spread of others: the mean of a log-normal population of variances."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.estimation.moments import Floats

# Numerics and Model: tuned on the named tuning populations of tests/coverage, judged on the others.
NO_SPREAD = 2.5e-5  # squared CoVs below (0.5 %)^2 are read as that: clocks that tick in whole units read 0
PRIOR_TAU2 = 3.0  # tau^2 expected before the data, a factor of exp(sqrt(3)) = 6 between typical squared CoVs
PRIOR_WEIGHT = 5.0  # and how many strata that expectation counts for


def digamma(x: Floats) -> Floats:
    """psi(x) for x > 0: recurrence up to 6, then the asymptotic series (DLMF 5.5.2, 5.11.2).

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
    """psi'(x) for x > 0: recurrence up to 6, then the asymptotic series (DLMF 5.15.5, 5.15.8).

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


def lognormal_mean(own: Floats, degrees: Floats, weight: Floats) -> float:
    """Mean of the squared CoVs of all strata, log c_h^2 ~ Normal(mu, tau^2), from those of some.

    Own c_h^2 = chi-square(nu_h) / nu_h times the true one, so t_h = log c_h^2 - psi(nu_h / 2) + log(nu_h / 2) has mean
    log of the true one and variance psi'(nu_h / 2) (Smyth 2004, section 6.2). mu and tau^2 are weighted moments of t_h,
    tau^2 drawn towards PRIOR_TAU2; the mean is exp(mu + tau^2 / 2).

    Why not the plain mean: most of the variance sits in a few strata. A sample of strata that misses them has a plain
    mean that is far too small, and a run that stops because of it; the log-normal one extrapolates from the bulk.

    Args:
        own: float64 [D], c_h^2; degrees: [D], nu_h >= 1; weight: float64 [D], positive.

    >>> sorted_mean = lognormal_mean(np.full(50, 0.04), np.full(50, 9.0), np.ones(50))
    >>> 0.04 < sorted_mean < 0.06
    True
    """
    half = np.asarray(degrees, dtype=float) / 2.0
    t = np.log(np.maximum(own, NO_SPREAD)) - digamma(half) + np.log(half)
    noise = trigamma(half)
    w = weight / (noise + 2.0)
    w = w / w.sum()
    mu = float((w * t).sum())
    effective = 1.0 / float((w * w).sum())
    between = float((w * (t - mu) ** 2).sum()) * effective / max(effective - 1.0, 0.5) - float((w * noise).sum())
    tau2 = (max(between, 0.0) * effective + PRIOR_TAU2 * PRIOR_WEIGHT) / (effective + PRIOR_WEIGHT)
    return math.exp(mu + 0.5 * tau2)
