"""Quantiles of Student's t, so that the run path needs no SciPy."""

from __future__ import annotations

import math
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
    """The t with P(|T| > t) = alpha, T being Student's t with that many (possibly fractional) degrees of freedom.

    Formula: P(|T| > t) = I_z(nu / 2, 1 / 2) with z = nu / (nu + t^2) (DLMF 8.17), inverted by bisection.

    Args:
        alpha: error probability, 0 < alpha < 1.
        degrees_of_freedom: nu > 0; infinity gives the normal quantile.

    >>> round(two_sided(0.05, 10.0), 4), round(two_sided(0.05, math.inf), 4)
    (2.2281, 1.96)
    """
    nu = degrees_of_freedom
    if nu >= LARGE:
        return NormalDist().inv_cdf(1.0 - alpha / 2.0)
    low, high = 0.0, 1.0
    while _beta_regularised(nu / 2.0, 0.5, nu / (nu + high * high)) > alpha and high < 1e150:
        low, high = high, high * 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if _beta_regularised(nu / 2.0, 0.5, nu / (nu + middle * middle)) > alpha:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
