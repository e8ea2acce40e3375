"""Quantiles of Student's t, so that the run path needs no SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

LARGE = 1e6  # degrees of freedom beyond which t and normal quantiles agree to six digits


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function (modified Lentz; DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    result = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 / (1.0 + numerator * d or tiny)
            c = 1.0 + numerator / c or tiny
            result *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return result


def _beta_regularised(a: float, b: float, x: float) -> float:
    """I_x(a, b), the regularised incomplete beta function (DLMF 8.17.2)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


@lru_cache(maxsize=4096)
def two_sided(alpha: float, degrees_of_freedom: float) -> float:
    """Two-sided quantile of Student's t distribution: the t with P(|T| > t) = alpha.

    Formula: P(|T| > t) = I_z(nu / 2, 1 / 2), z = nu / (nu + t^2), I the regularised incomplete beta function (DLMF 8.17).

    Numerics: Newton's method on log P as a function of log t, nearly a straight line in the tail, inside a bracket; starts at
    the normal quantile.

    Args:
        alpha: error probability, above 0 and below 1.
        degrees_of_freedom: nu, above 0, may be fractional; infinite: the normal quantile.

    >>> round(two_sided(0.05, 10.0), 4), round(two_sided(0.05, math.inf), 4)
    (2.2281, 1.96)
    """
    nu = degrees_of_freedom
    if nu >= LARGE:
        return -NormalDist().inv_cdf(alpha / 2.0)
    low, high = 0.0, math.inf
    constant = math.exp(math.lgamma(0.5 * nu + 0.5) - math.lgamma(0.5 * nu)) / math.sqrt(nu * math.pi)
    t = -NormalDist().inv_cdf(alpha / 2.0)
    for _ in range(200):
        tail = _beta_regularised(0.5 * nu, 0.5, nu / (nu + t * t))
        if abs(tail / alpha - 1.0) < 1e-12:
            break
        low, high = (t, high) if tail > alpha else (low, t)
        density = constant * math.exp(-0.5 * (nu + 1.0) * math.log1p(t * t / nu))
        step = math.log(tail / alpha) * tail / (2.0 * t * density) if tail > 0.0 and density > 0.0 else math.nan
        t = t * math.exp(min(step, 50.0)) if step == step else math.nan
        if not low < t < high:
            t = 2.0 * low + 1.0 if math.isinf(high) else 0.5 * (low + high)
        if math.isfinite(high) and high - low <= 1e-13 * high:
            break
    return t


def quantile(alpha: float, nu: float) -> float:
    """Two-sided quantile of Student's t distribution for nu degrees of freedom; infinite for nu = 0. Numerics: nu is rounded
    down to a multiple of 1/4, so that few quantiles are computed.
    """
    return math.inf if nu <= 0.0 else two_sided(alpha, max(math.floor(min(nu, 400.0) * 4.0) / 4.0, 0.25))


def satterthwaite(variances: Sequence[float], degrees: Sequence[float]) -> float:
    """Degrees of freedom of a sum of estimated variances v with nu degrees of freedom each: (sum v)^2 / sum(v^2 / nu)
    (Satterthwaite 1946). It is 0 if a variance above 0 has no degrees of freedom, and infinite if all variances are 0.

    >>> satterthwaite([2.0, 2.0, 0.0], [5.0, 5.0, 0.0])
    10.0
    """
    terms = [(v, nu) for v, nu in zip(variances, degrees, strict=True) if v > 0.0]
    if any(nu <= 0.0 for _, nu in terms):
        return 0.0
    below = sum(v * v / nu for v, nu in terms)
    return sum(variances) ** 2 / below if below > 0.0 else math.inf
