"""Totals from a sample of one unit in each cell and a prediction of every unit: estimate, spread, half-width."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.cells.sample import CellSample
from kernelpoint.estimation.moments import Floats, Ints

# Numerics: share rho of the variance of relative errors that lies between groups, on a grid that is dense towards 1
BETWEEN: Floats = 1.0 - np.array([1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5])
# Model: its probabilities before any draw, of the arcsine law (Jeffreys' prior of a share), over the interval around each point
_ENDS: Floats = np.concatenate(([0.0], 0.5 * (BETWEEN[1:] + BETWEEN[:-1]), [1.0]))
PRIOR: Floats = np.diff(np.arcsin(np.sqrt(_ENDS))) / (0.5 * np.pi)


@dataclass(frozen=True)
class Spread:
    """Spread of the errors of predictions.

    Attributes:
        K: squared relative error inside groups.
        K0: squared relative error between groups.
        line: squared relative error that is in proportion to the difference of a unit from the mean of its cell.
        nu: degrees of freedom.
    """

    K: float
    K0: float
    line: float
    nu: float

    def variance(self, q: float, mixed: float, spread: float) -> float:
        """V of the total from sums over the cells: of q, of q times mixed, of N (N - 1) var(x)."""
        return self.K * q + self.K0 * mixed + self.line * spread


@dataclass(frozen=True)
class AssistedFit:
    """Total of a part of a run, and the correction of predictions x (docs/estimator.md).

    Attributes:
        estimate: the total.
        factor, added: float64 [groups], a unit of group g is expected to have factor_g x + added_g.
        seen: bool [groups], groups that have draws.
        spread: squared relative errors of corrected predictions, from which the variance of the total is made.
        common: standard deviation of relative errors of units of all groups.
        within: standard deviation of relative errors of units of one group.
        error: standard error of the estimate.
    """

    estimate: float
    factor: Floats
    added: Floats
    seen: NDArray[np.bool_]
    spread: Spread
    common: float
    within: float
    error: float

    def outlier_size(self, least: float) -> float:
        """Largest deviation of an unseen unit from its prediction, relative: `least`, or what is far as seen."""
        return max(least, _far(self.spread.K))

    def corrected(self, x: Floats, group: NDArray[np.integer]) -> Floats:
        """Predictions x of units, corrected for their groups."""
        corrected: Floats = x * self.factor[group]
        corrected += self.added[group]
        return corrected

    def of_other_units(self, y: Floats, s: CellSample, unseen: float) -> AssistedFit:
        """The total of other units, whose predictions s.x and s.mean_x are `corrected` by this fit: difference estimator, with
        the spread of this one; `within` is no less than the relative errors of their own draws. unseen: the part of their
        sizes in groups of which this fit has no draw.
        """
        estimate = s.X + float((s.N * (y - s.x)).sum())
        within = max(self.within, float(np.linalg.norm((y - s.x) / s.size)) / math.sqrt(max(len(y), 1)))
        spread = Spread(self.spread.K + self.spread.K0 * unseen, 0.0, 0.0, self.spread.nu)
        error = math.sqrt(spread.variance(float(s.q.sum()), 0.0, 0.0))
        return replace(self, estimate=estimate, within=within, spread=spread, error=error)

    def largest_outlier(self, y: Floats, s: CellSample, least: float) -> float:
        """The largest deviation, relative to its size, of draws of other units from what is `corrected` for them; 0 where none
        is larger than `outlier_size` says, or, in groups of which this fit has no draw, than groups differ.
        """
        least = max(self.outlier_size(least), _far(self.within**2))
        expected = np.where(self.seen[s.group], least, max(least, _far(self.common**2)))
        off = np.abs(y - s.x) / s.size
        return float(np.where(off > expected, off, 0.0).max(initial=0.0))


def _far(K: float) -> float:
    """OUTLIER_DEVIATIONS of a squared relative error K, and more where that is large."""
    far = constants.OUTLIER_DEVIATIONS * math.sqrt(K)
    return far * (1.0 + far)


def _effective(v: Floats) -> float:
    """(sum v)^2 / sum v^2: how many draws make up a sum."""
    return float(v.sum() ** 2 / max(float((v * v).sum()), 1e-300))


def _degrees(nu: float, z: Floats, q: Floats, most: float, is_least: bool) -> float:
    """Degrees of freedom of a mean of squares z with weights q: nu, but no more than `most`, nor than DEGREES_PER_DRAW of the
    draws that make it up; the latter unless the mean is the least that is assumed.
    """
    found = min(nu, most) if is_least else min(nu, most, constants.DEGREES_PER_DRAW * _effective(q * z))
    return max(found, 1.0)


def fit_total(y: Floats, s: CellSample, least: float = constants.MIN_SQUARED_ERROR) -> AssistedFit:
    """Generalised regression estimator of a total from one draw a cell (Sarndal, Swensson, Wretman 1992, chapters 6, 7), whose
    model has random effects of groups (Searle, Casella, McCulloch 1992, Variance Components, chapters 6 and 9).

    Formula: relative errors e = (y - x) / size are m + C / x_g + B (x - xbar_g) / size + a_g + single errors, with x_g the mean
    of the draws of group g, var a_g = rho s^2, variance of single errors (1 - rho) s^2. C and B are shrunk to 0, with prior
    standard deviations EXPECTED_SLOPE_ERROR (of C: times a mean size). For each rho of a grid, m, C, B, a_g and s^2 are the
    best linear unbiased predictions; they are averaged over the integrated (REML) likelihood of rho, times PRIOR. corrected
    x = x + size times the expected e; total T = sum of corrected x + sum_h N_h (y_h - corrected x_h).

    Variance: V = K sum q + K0 sum q mixed + L sum N_h (N_h - 1) var_h(x), q_h = N_h (N_h - 1) mean_h(size^2): predictions
    scatter by K = (1 - rho) s^2 inside a group, groups differ by K0 = rho s^2, and L = B^2 + var B + var a_g: x is trusted less
    the further its slope is from 1. K with one draw a cell is that between cells (collapsed strata). Where PAIRED_DRAWS of the
    draws have a neighbour of their group (in order of x), it is half the mean squared difference of neighbours: which of the
    two serves follows from the draws' groups alone, not from their results.

    Args:
        y: float64 [n], results of the draws, n at least 1; least: squared relative error of predictions, at least.
    """
    n, q = len(y), s.q
    groups, g = np.unique(s.group, return_inverse=True)
    count = np.bincount(g).astype(float)
    G, weight = len(groups), np.bincount(g, s.size**-2.0)
    centre = np.bincount(g, s.x * s.size**-2.0) / weight
    scale = float(s.size.mean())
    e, d, offset = (y - s.x) / s.size, (s.x - centre[g]) / s.size, scale * np.sqrt(weight / count)
    inside = e - (np.bincount(g, (y - s.x) * s.size**-2.0) / weight)[g] / s.size
    about_slope = max(float(inside @ inside) - float(d @ inside) ** 2 / max(float(d @ d), 1e-300), 0.0)
    single = (about_slope + constants.EXPECTED_NOISE**2) / (
        max(n - G - 1, 0) + 1.0
    )  # as if one draw more had the expected error
    slope_error = single / constants.EXPECTED_SLOPE_ERROR**2
    has_offset = G > 3 and float(np.ptp(offset)) > 1e-6
    Z = np.column_stack(
        [np.ones(n), *([offset[g]] if has_offset else []), d, e]
    )  # the last column is what they explain
    sums = np.stack([np.bincount(g, column, G) for column in Z.T], axis=1)
    square, p = Z.T @ Z, Z.shape[1] - 1
    offset_error = float(np.var(e)) / constants.EXPECTED_SLOPE_ERROR**2
    (log, s2, uncertain), beta, effects = np.empty((3, len(BETWEEN))), [], []
    for k, rho in enumerate(BETWEEN):  # the inverse of the covariance of a group is (I - c J) / (1 - rho)
        c = rho / (1.0 - rho + rho * count)
        M = (square - (sums * c[:, None]).T @ sums) / (1.0 - rho)
        prior = np.diag([1e-12, *([offset_error] if has_offset else []), slope_error / (1.0 - rho)])
        normal = M[:p, :p] + prior
        b = np.linalg.solve(normal, M[:p, p])
        rest = max(float(M[p, p] - M[:p, p] @ b), 1e-12 * n)
        df = max(n - p + 1, 1)
        s2[k], uncertain[k] = rest / df, rest / df * float(np.linalg.inv(normal)[-1, -1])
        log_determinant = n * math.log(1.0 - rho) + float(np.log1p(rho * count / (1.0 - rho)).sum())
        log[k] = -0.5 * (log_determinant + float(np.linalg.slogdet(normal)[1]) + df * math.log(rest))
        beta.append(b)
        effects.append(c * np.bincount(g, Z[:, p] - Z[:, :p] @ b, G))
    likely = np.exp(log - log.max()) * PRIOR
    likely /= likely.sum()
    b, a = likely @ np.array(beta), likely @ np.array(effects)
    left = e - np.array(beta) @ Z[:, :p].T - np.array(effects)[:, g]  # [rho, n]
    z = likely @ left**2

    Q, mixed, varies = float(q.sum()), float((q * s.mixed).sum()), s.N * (s.N - 1.0) * s.spread
    weighted = float((q * z).sum()) / Q if Q > 0.0 else float(z.mean())
    heavy = max(weighted / max(float(z.mean()), 1e-300), 1.0)  # heavy cells scatter more
    K, K0 = float(likely @ (s2 * (1.0 - BETWEEN))) * heavy, float(likely @ (s2 * BETWEEN))
    V = s2 * ((1.0 - BETWEEN) * Q + BETWEEN * mixed)
    most = max(_effective(q) - 1.0, 1.0)
    nu = 2.0 / (2.0 / max(n - p, 1.0) + float(likely @ V**2) / max(float(likely @ V) ** 2, 1e-300) - 1.0)
    of_effects = (likely * s2 * (1.0 - BETWEEN) * BETWEEN) @ (1.0 / (1.0 - BETWEEN[:, None] + BETWEEN[:, None] * count))
    line = float(b[-1] ** 2 + likely @ uncertain) + float(varies @ of_effects[g]) / max(float(varies.sum()), 1e-300)
    within, common = math.sqrt(K), math.sqrt(K + K0)
    nu = _degrees(nu, z, q, most, least >= K)
    paired = _neighbours(e - b[-1] * d, s, most, least)
    spread = Spread(max(K, least), K0, line, nu) if paired is None else Spread(paired[0], K0, line, paired[1])

    factor, added, seen = np.full(s.count, 1.0 + b[0]), np.zeros(s.count), np.zeros(s.count, dtype=bool)
    added += float(b[1]) * scale if has_offset else 0.0
    factor[groups] += a + b[-1]
    added[groups] -= b[-1] * centre
    seen[groups] = True
    error = math.sqrt(spread.variance(Q, mixed, float(varies.sum())))
    return AssistedFit(math.nan, factor, added, seen, spread, common, within, error)


def _neighbours(e: Floats, s: CellSample, most: float, least: float) -> tuple[float, float] | None:
    """Half the mean squared difference of relative errors e of neighbours in (group, x, order), and its degrees of freedom;
    None where few draws have one.

    Each draw is in two pairs, so the degrees of freedom are two thirds of these (von Neumann 1941).
    """
    order = np.lexsort((s.order, s.x, s.group))
    same = np.diff(s.group[order]) == 0
    pairs = int(same.sum())
    if pairs < constants.PAIRED_DRAWS * max(len(e), 1):
        return None
    z, q = 0.5 * np.diff(e[order])[same] ** 2, 0.5 * (s.q[order][1:] + s.q[order][:-1])[same]
    weighted = float((q * z).sum() / q.sum()) if q.sum() > 0.0 else 0.0
    K = max(float(z.mean()), weighted)
    return max(K, least), _degrees(2.0 / 3.0 * pairs, z, q, most, least >= K)


def fit_errors(y: Floats, s: CellSample) -> AssistedFit:
    """The total of units that are off their predictions s.x, s.mean_x as a whole, from their errors alone.

    Formula: T = X + L size + sum_h N_h (r_h - L size_h), r = y - x, L = sum N_h r_h / sum N_h mean(size): spread from
    neighbours in order, or from all draws.
    """
    mean_size, zero = np.sqrt(np.maximum(s.square - s.spread, 0.0)), np.zeros(len(y))
    total = float((s.N * mean_size).sum())
    level = float((s.N * (y - s.x)).sum()) / total
    group: Ints = zero.astype(np.int64)
    alone = replace(s, x=zero, mean_x=zero, mixed=zero, spread=zero, group=group, X=0.0, count=1)
    errors = y - s.x - level * s.size
    return replace(fit_total(errors, alone), estimate=s.X + level * total + float((s.N * errors).sum()))
