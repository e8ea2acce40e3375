"""Variances within strata that borrow strength from each other, and the degrees of freedom they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.pooling import lognormal_mean

PRIOR_DEGREES = 2.0  # nu_0: weight of the pooled spread, in draws; tuned on the named tuning populations


@dataclass(frozen=True)
class Spread:
    """Spread within strata, all arrays of shape [H].

    S2: shrunk variances S_h^2; scale2: squared scale; own: own squared CoV c_h^2; pooled: c_0^2; degrees: nu_h = n_h - 1
    (0 without a second draw); weight: nu_h / (nu_0 + nu_h), the share that is a stratum's own; importance: g_h of the pooling.
    """

    S2: Floats
    scale2: Floats
    own: Floats
    pooled: float
    degrees: Ints
    weight: Floats
    importance: Floats


def scales(mean: Floats, n: Ints) -> Floats:
    """Scale of each stratum, to which spreads are relative: |mean|, or the smallest positive one where it is 0.

    A stratum whose few draws are all 0 (whole-microsecond clocks read 0) would otherwise claim to be free of error.

    >>> scales(np.array([4.0, 0.0]), np.array([1, 1])).tolist()
    [4.0, 4.0]
    """
    size = np.abs(mean)
    positive = size[(size > 0.0) & (n > 0)]
    return np.where(size > 0.0, size, positive.min() if len(positive) else 0.0)


def pooled_spread(N: Ints, residuals: Moments, scale: Floats) -> Spread:
    """Shrunk variances S_h^2 = scale_h^2 (nu_0 c_0^2 + nu_h c_h^2) / (nu_0 + nu_h).

    c_h^2 = s_h^2 / scale_h^2 is a stratum's own squared CoV of residuals, nu_h = n_h - 1. The pooled c_0^2 comes from the
    strata D with two or more draws (an empirical Bayes shrinkage of scaled chi-square variances: Smyth 2004). It is the
    larger of two: the mean that matters for the total, sum_D g_h c_h^2 / sum_D g_h with g_h = N_h^2 scale_h^2 / n_h, and
    the log-normal mean of pooling.lognormal_mean with weights sqrt(N_h scale_h).

    Model: a stratum's relative spread is exchangeable with that of the others.
    Without any stratum of two draws nothing is known: c_0^2 is 1 and no degree of freedom is claimed.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> S2 = pooled_spread(np.array([30, 30]), r, r.mean).S2
    >>> bool(S2[1] >= 25.0)
    True
    """
    n = residuals.n
    degrees = np.maximum(n - 1, 0)
    scale2 = scale * scale
    known = (degrees > 0) & (scale2 > 0.0)
    own = np.where(known, residuals.variance / np.where(scale2 > 0.0, scale2, 1.0), 0.0)
    importance = np.where(known, N.astype(float) ** 2 * scale2 / np.maximum(n, 1), 0.0)
    pooled = 1.0
    if known.any():
        plain = float((importance * own).sum() / importance.sum())
        pooled = max(plain, lognormal_mean(own[known], degrees[known], np.sqrt(N[known] * scale[known])))
    weight = degrees / (PRIOR_DEGREES + degrees)
    shrunk = scale2 * ((1.0 - weight) * pooled + weight * own)
    return Spread(shrunk, scale2, own, pooled, degrees, weight, importance)


def variance_and_degrees(
    N: Ints, n: Ints, spread: Spread, groups: NDArray[np.integer], count: int
) -> tuple[Floats, Floats]:
    """Estimated variance of the total of every group of strata, and its degrees of freedom: two float64 [count].

    Formula: V = sum_h A_h S_h^2, A_h = N_h^2 (1 - n_h / N_h) / n_h. As a sum over the strata D that have a spread of
    their own, V = sum_D a_h c_h^2, so Satterthwaite (1946) gives nu = V^2 / sum_D a_h^2 ctilde_h^4 / nu_h, ctilde_h^2
    being the shrunk c_h^2. The pooled part also varies because strata differ; where that is more than the chi-square
    figure, sum_D g_h^2 (c_h^2 - c_0^2)^2 / (sum_D g_h)^2 replaces it. nu is infinite where V is 0, 0 where nothing is known.

    >>> r = Moments.of(np.array([0, 0, 0, 1]), np.array([9.0, 10.0, 11.0, 50.0]), 2)
    >>> N = np.array([30, 30])
    >>> V, nu = variance_and_degrees(N, r.n, pooled_spread(N, r, r.mean), np.zeros(2, int), 1)
    >>> bool(V[0] > 22020.0), bool(1.0 < nu[0] < 9.0)
    (True, True)
    """
    A = np.where(n < N, N.astype(float) ** 2 * (1.0 - n / np.maximum(N, 1)) / np.maximum(n, 1), 0.0)
    V = np.bincount(groups, weights=A * spread.S2, minlength=count).astype(float)
    total = spread.importance.sum()
    if total <= 0.0:
        return V, np.where(V > 0.0, 0.0, np.inf)
    share = spread.importance / total
    own = A * spread.scale2 * spread.weight
    borrowed = np.bincount(groups, weights=A * spread.scale2 * (1.0 - spread.weight), minlength=count)
    shrunk = spread.weight * spread.own + (1.0 - spread.weight) * spread.pooled
    q = np.where(spread.degrees > 0, 2.0 * shrunk**2 / np.maximum(spread.degrees, 1), 0.0)
    mixed = np.bincount(groups, weights=(own + 2.0 * borrowed[groups] * share) * own * q, minlength=count)
    chi_square = mixed + borrowed**2 * (share**2 * q).sum()
    between = borrowed**2 * (share**2 * (spread.own - spread.pooled) ** 2)[spread.degrees > 0].sum()
    noise = np.maximum(chi_square, between)
    return V, np.where(V > 0.0, 2.0 * V * V / np.where(noise > 0.0, noise, 1.0), np.inf)
