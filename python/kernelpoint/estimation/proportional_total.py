"""Totals of counters that are nearly in proportion to one whose value is known for every unit."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.quantiles import two_sided

# Model: relative standard deviation of launches of one kernel and grid, and of kernels at least; of launches believed as much
# as so many pairs of them
WITHIN, WITHIN_WEIGHT = 0.03, 4.0


def proportional_total(
    values: Floats, x: Floats, of: Ints, all_x: Floats, all_of: Ints, confidence: float
) -> tuple[float, float]:
    """The total of a counter, and its half-width: a ratio for each group of units (separate ratio estimator, Cochran 1977,
    section 6.10), and the mean ratio for groups of which there is no draw.

    Formula: r_g = sum y / sum x over the n_g draws of group g, r the mean r_g; total = sum_g r_g X_g + r X_0, X_g the x of all
    units of g, X_0 of those of groups without a draw; half-width = t sqrt(w^2 sum_g r_g^2 (U_g^2 / n_g + sum u^2) + s^2 (X_0^2
    / m + sum_h X_h^2)), u the x of an undrawn unit, U_g their sum, s the standard deviation of the r_g of m groups, at least
    WITHIN r, h groups without a draw, w as WITHIN says, with how far draws of one group are apart; t of the degrees of freedom
    of both terms (Satterthwaite 1946).

    Model: ratios of kernels are nearly symmetric about their mean. Where their logarithms have a standard deviation of 1, about
    90 % of the half-widths hold, not 95.

    Args:
        values, x: float64 [draws], of the counter and of the one that it is in proportion to; of: their groups, from 0.
        all_x, all_of: the same of all units, the drawn ones with them.

    Returns:
        nan, nan where fewer than MIN_COUNTS draws are no zeros, fewer than two groups have x, or a draw has a value and no x.

    >>> x, groups = np.ones(6), np.array([0, 0, 0, 1, 1, 1])
    >>> total, half_width = proportional_total(2.0 * x, x, groups, np.ones(8), np.array([*groups, 0, 2]), 0.95)
    >>> total, round(half_width, 2)
    (16.0, 0.37)
    """
    count = int(all_of.max()) + 1
    n, Y, X, whole = (
        np.bincount(groups, weights, count) for groups, weights in ((of, None), (of, values), (of, x), (all_of, all_x))
    )
    known = X > 0.0
    m, counted = int(known.sum()), int(np.count_nonzero(values))
    if m < 2 or counted < min(constants.MIN_COUNTS, int(np.count_nonzero(x))) or bool(((Y > 0.0) & ~known).any()):
        return math.nan, math.nan
    ratios = np.divide(Y, X, out=np.zeros(count), where=known)
    mean = float(ratios[known].mean())
    between = max(float(ratios[known].var(ddof=1)), (WITHIN * mean) ** 2)
    apart = np.divide(values, x * ratios[of], out=np.ones(len(x)), where=x * ratios[of] > 0.0) - 1.0
    degrees = np.array([WITHIN_WEIGHT + float(np.maximum(n[known] - 1, 0).sum()), m - 1.0])
    within = (WITHIN_WEIGHT * WITHIN**2 + float((apart**2).sum())) / degrees[0]
    undrawn, none = np.maximum(whole - X, 0.0), np.where(known, 0.0, whole)
    squares = np.maximum(np.bincount(all_of, all_x**2, count) - np.bincount(of, x**2, count), 0.0)
    total = float((ratios * whole)[known].sum()) + mean * float(none.sum())
    parts = np.array(
        [
            within * float((ratios[known] ** 2 * (undrawn[known] ** 2 / n[known] + squares[known])).sum()),
            between * (float(none.sum()) ** 2 / m + float((none**2).sum())),
        ]
    )
    if not parts.any():
        return total, 0.0
    nu = float(parts.sum() ** 2 / (parts**2 / degrees).sum())
    return total, two_sided(1.0 - confidence, nu) * math.sqrt(parts.sum())
