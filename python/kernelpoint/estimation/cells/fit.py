"""Totals from a sample of one unit in each cell and a prediction of every unit: estimate, spread, half-width."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.quantiles import quantile


@dataclass(frozen=True)
class CellSample:
    """Sample with one draw (sampled launch) in each of n cells. A cell is a group of launches with similar predictions. Arrays
    are [n].

    Attributes:
        x: float64, prediction of the drawn launch.
        size: float64, amount to which the relative error of the draw refers, above 0.
        group: int64, group (kernel) of the draw.
        order: int64, position of the draw in the run.
        N: float64, number of launches in the cell.
        mean_x: float64, mean prediction in the cell.
        square: float64, mean squared size in the cell.
        spread: float64, variance of the size in the cell.
        mixed: float64, 1 - sum of squared shares of the groups in the cell; 0: the cell has one group.
        unlike: float64, as in `Leaves`.
        X: sum of the predictions of all launches.
        count: number of groups.
    """

    x: Floats
    size: Floats
    group: Ints
    order: Ints
    N: Floats
    mean_x: Floats
    square: Floats
    spread: Floats
    mixed: Floats
    unlike: Floats
    X: float
    count: int

    @property
    def q(self) -> Floats:
        """float64 [n]: factor by which a squared relative error counts in the variance of the total: N (N - 1) mean(size^2) of
        each cell (group of launches with similar predictions).
        """
        return np.asarray(self.N * (self.N - 1.0) * self.square)

    @property
    def amounts(self) -> Floats:
        """Sum of the sizes (predictions) of all launches that a sampled launch represents, itself included, float64 [n]; 0 if
        it represents itself only.
        """
        return np.where(self.N > 1.0, self.N * np.sqrt(np.maximum(self.square - self.spread, 0.0)), 0.0)


class SharesOfSecond(NamedTuple):
    """Shares with which the second of two sources of predictions counts.

    Attributes:
        of_groups: float64 [groups], share of each group (kernel), from 0 to 1.
        degrees: degrees of freedom that the shares take.
        most: upper limit of the share that counts over all draws, whatever their group, from 0 to 1.
    """

    of_groups: Floats
    degrees: float
    most: float


NO_SECOND = SharesOfSecond(np.zeros(0), 0.0, 0.0)


@dataclass(frozen=True)
class Trust:
    """Knowledge about the errors of a counter's predictions before any draw.

    Attributes:
        least: lower limit of the squared relative error of the predictions.
        of_budget: True if the budget is about this counter. Then the smallest of several estimates of the spread is used, for
            which cells (groups of launches with similar predictions) and numbers of draws (sampled launches) allow; for any
            other counter the largest.
        expected: expected squared relative error of a single prediction; it counts as EXPECTED_DEGREES degrees of freedom.
        certain: float64 [3, units]: results, predictions and sizes of the launches that are always simulated.
        second: how much a second source of predictions counts (`shares_of_second`).
        excess: float64 [F] (F launches are sampled by chance): the excess of slow launches over the second source
            (`Prediction.excess`); empty without one.
    """

    least: float = constants.MIN_SQUARED_ERROR
    of_budget: bool = True
    expected: float = 0.0
    certain: Floats = field(default_factory=lambda: np.zeros((3, 0)))
    second: SharesOfSecond = NO_SECOND
    excess: Floats = field(default_factory=lambda: np.zeros(0))


def trusted_error() -> float:
    """Standard deviation of relative prediction errors above which predictions are doubted: OUTLIER_DEVIATIONS x
    EXPECTED_NOISE.
    """
    return constants.OUTLIER_DEVIATIONS * constants.EXPECTED_NOISE


@dataclass(frozen=True)
class Spread:
    """Estimated spread of relative prediction errors, inside groups (kernels) and between them.

    Attributes:
        K: mean squared relative error inside groups.
        K0: mean squared relative error if all groups are treated as one.
        line: B^2 + var(B), where 1 + B is the slope of the regression of results on predictions.
        nu: degrees of freedom of K.
    """

    K: float
    K0: float
    line: float
    nu: float

    @property
    def excess(self) -> float:
        """Excess of K0, the squared relative error of predictions, over trusted_error()^2, which is trusted before sampling.
        It is added to the variance of launches whose kernel has few sampled launches (`Leaves.unlike`).
        """
        return max(self.K0 - trusted_error() ** 2, 0.0)

    def variance(self, N: Floats, square: Floats, spread: Floats, mixed: Floats, unlike: Floats) -> float:
        """Variance of the total that one draw in each cell (group of launches with similar predictions) estimates, by the
        formula of `fit_total`. Arguments are float64 [cells], as in `CellSample`.
        """
        q = N * (N - 1.0) * square
        sums = (float(terms.sum()) for terms in (q, q * mixed, q * unlike, N * (N - 1.0) * spread))
        of_q, of_mixed, of_unlike, of_spread = sums
        return self.K * of_q + self.K0 * of_mixed + self.excess * of_unlike + self.line * of_spread


@dataclass(frozen=True)
class AssistedFit:
    """Estimated total of a part of the run, and the regression line that corrects predictions x to results y
    (docs/estimator.md): y is about x (1 + slope) + level, with a level for each kernel.

    Attributes:
        estimate: the total.
        slope: slope of the error y - x as a function of x.
        level: float64 [kernels], mean error of the sampled launches of each kernel, after the slope is removed.
        seen: bool [kernels], True for kernels with sampled launches.
        spread: squared relative errors about the line, from which the variance of the total is computed.
        common: standard deviation of relative errors about one level for all kernels: the smaller of those with and without the
            slope.
        within: standard deviation of relative errors about a level for each kernel.
        error: standard error of the total.
        known: squared relative error of predictions that is known before any simulation; 0 if none is known.
        largest: largest relative error of a sampled launch about the line of its kernel, or of a launch that is always
            simulated about one line for all; or the largest rise in the beginning of the run (`with_rises`).
    """

    estimate: float
    slope: float
    level: Floats
    seen: NDArray[np.bool_]
    spread: Spread
    common: float
    within: float
    error: float
    known: float
    largest: float

    def _believed(self, other: float) -> float:
        """Squared relative prediction error by which the model is judged: a weighted mean of K and the square of
        another deviation.
        """
        K, nu = self.spread.K, self.spread.nu
        return (nu * K + constants.DEGREES_BETWEEN_GROUPS * max(other**2, K)) / (nu + constants.DEGREES_BETWEEN_GROUPS)

    def _is_off(self, other: float) -> bool:
        """True if prediction errors are much larger than `known`, or the slope is further from 1 than two expected errors, so
        that close agreement elsewhere may be chance.
        """
        trusted = trusted_error() ** 2 + self.known
        return self._believed(other) > trusted or abs(self.slope) > 2.0 * constants.EXPECTED_SLOPE_ERROR

    @property
    def doubted(self) -> bool:
        """True if prediction errors, inside groups (kernels) or between them, are much larger than expected, or the slope is
        far from 1.
        """
        return self._is_off(self.common)

    def outlier_sizes(self, least: float, unlike: Floats) -> Floats:
        """float64 [cells]: largest relative deviation from its prediction that is assumed of an undrawn launch in each cell
        (group of launches with similar predictions). It is the largest of `least`, the largest deviation of a draw (sampled
        launch), and OUTLIER_DEVIATIONS standard deviations. The standard deviation includes differences between groups
        (kernels) as far as the cell is `unlike`, or fully if errors inside groups are doubted.

        Args:
            least: lower limit.
            unlike: float64 [cells], as in `Leaves`.
        """
        far = (
            np.full(len(unlike), self._believed(self.common))
            if self._is_off(self.within)
            else self.spread.K + self.spread.excess * unlike
        )
        return np.maximum(max(least, self.largest), _far(far))

    def outlier_size(self, least: float) -> float:
        """Largest relative difference from its prediction that the estimate assumes for a launch that was not drawn, in a group
        (kernel) with drawn launches, float64.
        """
        return float(self.outlier_sizes(least, np.zeros(1))[0])

    def corrected(self, x: Floats, group: NDArray[np.integer]) -> Floats:
        """Predictions x of launches, corrected by the slope and by the level of the group (kernel): x (1 + slope) + level.

        Args:
            x: float64, predictions.
            group: int, group of each launch.
        """
        corrected: Floats = x * (1.0 + self.slope)
        corrected += self.level[group]
        return corrected

    def of_other_units(self, y: Floats, s: CellSample, unseen: float) -> AssistedFit:
        """Estimate the total of another part of the run with the regression line and the error variance of this fit (difference
        estimator).

        Args:
            y: float64 [n], results of the sampled launches in the other part.
            s: these launches, with predictions corrected by this fit's line.
            unseen: share of the other part's predicted total in kernels without a sampled launch in this fit.
        """
        estimate = s.X + float((s.N * (y - s.x)).sum())
        within = max(self.within, float(np.linalg.norm((y - s.x) / s.size)) / math.sqrt(max(len(y), 1)))
        spread = Spread(self.spread.K + self.spread.K0 * unseen, 0.0, 0.0, self.spread.nu)
        error = math.sqrt(spread.K * float(s.q.sum()))
        return replace(self, estimate=estimate, within=within, spread=spread, error=error)

    def largest_outlier(self, y: Floats, s: CellSample, least: float) -> float:
        """Largest relative deviation of the draws (sampled launches) of another part of the run from their corrected
        predictions; 0 if no deviation exceeds `outlier_size`.

        Args:
            y: float64 [n], results of the draws.
            s: the draws, with corrected predictions.
            least: lower limit of `outlier_size`.
        """
        within, common = _far(np.array([self.within**2, self.common**2]))
        least = max(self.outlier_size(least), within)
        expected = np.where(self.seen[s.group], least, max(least, common))
        off = np.abs(y - s.x) / s.size
        return float(np.where(off > expected, off, 0.0).max(initial=0.0))

    def with_rises(self, y: Floats, s: CellSample) -> AssistedFit:
        """The same fit, with `largest` no less than the largest relative rise of results in another part of the run: the
        beginning.

        Model: a slow beginning becomes faster. A launch that takes longer than an earlier one of its group (kernel) is of a
        kind that may come back anywhere.

        Formula: the largest (e_i - m_i) / (1 + m_i) over draws (sampled launches) i. e_i = max((y_i - x_i) / size_i, 0) is the
        relative excess of draw i, and m_i the least of those of draw i and of earlier draws of its group.

        Args:
            y: float64 [n], results of the draws.
            s: the draws, with predictions corrected by this fit's line.
        """
        order = np.lexsort((s.order, s.group))
        excess = np.maximum((y - s.x) / s.size, 0.0)[order]
        largest = self.largest
        for e in np.split(excess, np.flatnonzero(np.diff(s.group[order])) + 1):
            least = np.minimum.accumulate(e)
            largest = max(largest, float(((e - least) / (1.0 + least)).max(initial=0.0)))
        return replace(self, largest=largest)

    def spent(self, alpha: float) -> float:
        """Error probability that an interim analysis (end of a round of sampling) uses: alpha, or ALPHA_SHARE_IF_DOUBTED alpha
        if predictions are doubted.
        """
        return constants.ALPHA_SHARE_IF_DOUBTED * alpha if self.doubted else alpha


def _far(K: Floats) -> Floats:
    """Relative deviation that counts as an outlier, from the mean squared relative error K: OUTLIER_DEVIATIONS roots of
    K, more if K is large.
    """
    far: Floats = constants.OUTLIER_DEVIATIONS * np.sqrt(K)
    return far * (1.0 + far)


def _mean_square(z: Floats, q: Floats, count: float, nu: float, least: float) -> tuple[float, float]:
    """Mean squared relative error of squares z [n], the sum of which counts as that of `count`, and its degrees of freedom: the
    larger of the plain mean and the one weighted by q, no less than `least`.

    Numerics: nu is no more than DEGREES_PER_DRAW times the effective number of draws, (sum v)^2 / sum v^2 with v = q z.
    """
    Q, v = float(q.sum()), q * z
    top = float(v.sum())
    K = max(float(z.sum()), top / Q * len(z) if Q > 0.0 else 0.0) / count
    if least < K:
        nu = min(nu, max(constants.DEGREES_PER_DRAW * top**2 / max(float((v**2).sum()), 1e-300), 1.0))
    return max(K, least), nu


def shares_of_second(r: Floats, change: Floats, size: Floats, group: Ints, count: int) -> SharesOfSecond:
    """Share v_g, from 0 to 1, with which the second of two predictions counts in each group (kernel) g: x + v_g (second - x).

    Formula: v = S_zr / (S_zz + k^2), at most 1: least squares of the errors r on z = second - x inside groups, with weights 1 /
    size^2, shrunk to 0. k^2 is the residual mean square, at least EXPECTED_NOISE^2: first predictions that agree so well need
    no second ones. The standard error of v is k / sqrt(S_zz). If v is below two of them, all shares are 0.

    v_g = (S_zr,g + k^2 v) / (S_zz,g + k^2): the slope of a group is shrunk to that of all. v and v_g are posterior means where
    slopes have the standard deviation 1 beforehand.

    Args:
        r: float64 [n], results of the sampled launches minus their first predictions.
        change: float64 [n], their second predictions minus the first.
        size: float64 [n], amounts to which errors are relative.
        group: int64 [n], group of each.
        count: number of groups.

    Returns:
        v_g; the degrees of freedom that they take, sum of S_zz,g / (S_zz,g + k^2); the upper limit (S_zr + 2 k sqrt(S_zz)) /
        S_zz, from 0 to 1, with sums over all draws and not about the means of groups.

    >>> z, group = np.array([1.0, -2.0, 3.0, 1.0, -1.0]), np.array([0, 0, 0, 1, 1])
    >>> shares = shares_of_second(np.where(group == 0, z, 0.0), z, np.full(5, 9.0), group, 2)
    >>> shares.of_groups.round(1).tolist(), round(shares.degrees, 1), shares.most
    ([1.0, 0.2], 1.6, 1.0)
    """
    w = 1.0 / (size * size)
    weight = np.bincount(group, w, count)
    some = np.where(weight > 0.0, weight, 1.0)

    def line(zz: float, zr: float, rr: float, df: int, least: float) -> tuple[float, float]:
        """k^2, no less than `least`, and two standard errors of the slope zr / zz times zz."""
        k2 = max((rr - zr**2 / max(zz, 1e-300)) / max(df, 1), least)
        return k2, 2.0 * math.sqrt(k2 * zz)

    all_zz, all_zr, rr = (float((w * a * b).sum()) for a, b in ((change, change), (change, r), (r, r)))
    _, two_errors = line(all_zz, all_zr, rr, len(r) - 1, constants.MIN_SQUARED_ERROR)
    most = min(max((all_zr + two_errors) / all_zz, 0.0), 1.0) if all_zz else 1.0
    r, z = (v - (np.bincount(group, w * v, count) / some)[group] for v in (r, change))
    zz, zr, rr = np.bincount(group, w * z * z, count), np.bincount(group, w * z * r, count), float((w * r * r).sum())
    all_zz, all_zr = float(zz.sum()), float(zr.sum())
    k2, two_errors = line(all_zz, all_zr, rr, len(r) - int((weight > 0.0).sum()) - 1, constants.EXPECTED_NOISE**2)
    if all_zr <= two_errors:
        return SharesOfSecond(np.zeros(count), 0.0, most)
    share = min(all_zr / (all_zz + k2), 1.0)
    return SharesOfSecond(np.clip((zr + k2 * share) / (zz + k2), 0.0, 1.0), float((zz / (zz + k2)).sum()), most)


def fit_total(y: Floats, s: CellSample, alpha: float, trust: Trust) -> AssistedFit:
    """Estimate a total from a prediction of every launch and one draw in each cell: generalised regression estimator (Sarndal,
    Swensson, Wretman 1992, chapters 6, 7). For given cells (groups of launches with similar predictions) it is unbiased
    whatever the predictions are.

    Formula: T = X + sum_h N_h (r_h + B_(-h) (xbar_h - x_h)), over cells h of N_h launches.
        X: sum of the predictions x; xbar_h: their mean in the cell; x_h: prediction of the draw.
        r_h = y_h - x_h: error of the draw's prediction, y_h its result.
        B_(-h): slope of r on x, fitted without this draw: least squares inside groups with weights 1 / size^2, shrunk to 0, B =
            S_xr / (S_xx + k^2 / e^2), k^2 the residual mean square, or EXPECTED_NOISE^2 where no degree of freedom is left, e =
            EXPECTED_SLOPE_ERROR: the posterior mean where slopes have the standard deviation e beforehand.

    Variance: V = K sum q + K0 sum q mixed + (K0 - d^2) sum q unlike + (B^2 + var B) sum N_h (N_h - 1) var_h(size).
        q = N_h (N_h - 1) mean_h(size^2).
        K, K0: squared relative errors inside groups (kernels), and over all groups; `mixed`, `unlike`: see `CellSample`.
        d = trusted_error(); K0 - d^2 counts only if it is above 0.

    K is estimated in up to three ways: about a level for each group, from neighbouring cells of a group (collapsed strata), and
    about one level for all. Each is pooled with the scatter e^2 that is expected before any draw (`Trust.expected`), because
    few draws may agree by chance: K = (nu K + m e^2) / (nu + m) where K < e^2, m = EXPECTED_DEGREES (scaled inverse chi-squared
    prior; Gelman et al., Bayesian Data Analysis, section 2.6). The one with the least t sqrt(V) is used for the budget's
    counter, that with the largest for any other.

    Args:
        y: float64 [n], results of the draws (sampled launches).
        s: the draws, in the order of `Leaves`.
        alpha: error probability of the quantile t.
        trust: knowledge about the errors of the predictions.
    """
    n, q, w, r = len(y), s.q, 1.0 / (s.size * s.size), y - s.x

    def by_group(values: Floats) -> Floats:
        return np.bincount(s.group, weights=values, minlength=s.count).astype(float)

    def slopes(xx: Floats, xr: Floats, rr: Floats, df: int) -> tuple[Floats, Floats]:
        """Slopes and their posterior variances, from centred sums of squares and products."""
        rest = np.maximum(rr - xr * xr / np.maximum(xx, 1e-300), 0.0)
        k2 = rest / df if df >= 1 else np.full_like(rest, constants.EXPECTED_NOISE**2)  # few may be on a line
        below = np.maximum(k2, constants.MIN_SQUARED_ERROR) / constants.EXPECTED_SLOPE_ERROR**2
        return xr / (xx + below), constants.EXPECTED_SLOPE_ERROR**2 * below / (xx + below)

    # The line of errors r on predictions x, inside groups
    weight = by_group(w)
    seen = weight > 0.0
    some = np.where(seen, weight, 1.0)
    centre, level, groups = by_group(w * s.x) / some, by_group(w * r) / some, int(seen.sum())
    x_in, r_in = s.x - centre[s.group], r - level[s.group]
    rest = weight[s.group] - w
    # Taking draw i out of its group takes w d_i^2 W / (W - w) from a centred sum
    out = np.where(rest > 1e-12 * w, w * weight[s.group] / np.where(rest > 0.0, rest, 1.0), 0.0)
    xx, xr, rr = (np.array([(w * v).sum()]) for v in (x_in * x_in, x_in * r_in, r_in * r_in))
    (slope,), (slope_variance,) = (values.tolist() for values in slopes(xx, xr, rr, n - groups - 1))
    xx, xr, rr = np.maximum(xx - out * x_in * x_in, 0.0), xr - out * x_in * r_in, np.maximum(rr - out * r_in * r_in, 0.0)
    without, _ = slopes(xx, xr, rr, n - groups - 2)
    estimate = s.X + float((s.N * (r + without * (s.mean_x - s.x))).sum())

    # Spreads of errors about the line
    Q, line, least, raw, inside = float(q.sum()), slope**2 + slope_variance, trust.least, r - slope * s.x, r_in - slope * x_in
    most = max(Q * Q / max(float((q * q).sum()), 1e-300) - 1.0, 1.0)
    mean_of_all = float((w * raw).sum() / w.sum()) if n else 0.0
    df = max(n - 2.0 - trust.second.degrees, 1.0)
    K0, nu0 = _mean_square(w * (raw - mean_of_all) ** 2, q, df, min(df, most), least)
    spreads = [Spread(K0, 0.0, line, nu0)]
    if (df := float(n - groups - 1) - trust.second.degrees) >= 1.0:
        K, nu = _mean_square(w * inside**2, q, df, min(df, most), least)
        spreads.append(Spread(K, K0, line, nu))
    order = np.argsort(s.group, kind="stable")
    relative, group, share = (inside / s.size)[order], s.group[order], q[order]
    same = group[1:] == group[:-1]
    if (pairs := int(same.sum())) >= 2:
        squares, joint = 0.5 * (relative[1:] - relative[:-1])[same] ** 2, 0.5 * (share[1:] + share[:-1])[same]
        free = max(pairs - trust.second.degrees, 1.0)
        nu = min(2.0 / 3.0 * free, most)  # each draw is in two pairs (von Neumann 1941)
        K, nu = _mean_square(squares, joint, free, nu, least)
        spreads.append(Spread(K, K0, line, nu))
    expected, m = trust.expected, constants.EXPECTED_DEGREES
    spreads = [
        replace(one, K=(one.nu * one.K + m * expected) / (one.nu + m), nu=one.nu + m) if expected > one.K else one
        for one in spreads
    ]
    of_cells = s.N, s.square, s.spread, s.mixed, s.unlike
    best = (min if trust.of_budget else max)(spreads, key=lambda k: quantile(alpha, k.nu) * math.sqrt(k.variance(*of_cells)))
    error = math.sqrt(best.variance(*of_cells))

    # By how much the model is off
    level_of_all = float((w * r).sum() / w.sum()) if n else 0.0
    flat, _ = _mean_square(w * (r - level_of_all) ** 2, q, max(n - 1, 1), math.inf, least)
    common = math.sqrt(min(spreads[0].K, flat))
    off = np.abs(inside) / s.size
    within = math.sqrt(float((off**2).sum()) / max(n - groups - 1, 1))
    prior_squared_error = least if least > constants.MIN_SQUARED_ERROR else 0.0
    y_certain, x_certain, size_certain = trust.certain
    of_certain = np.abs(y_certain - x_certain * (1.0 + slope) - mean_of_all) / size_certain
    largest = max(float(off.max(initial=0.0)), float(of_certain.max(initial=0.0)))
    levels = np.where(seen, level - slope * centre, mean_of_all)
    return AssistedFit(estimate, slope, levels, seen, best, common, within, error, prior_squared_error, largest)


def fit_errors(y: Floats, s: CellSample, alpha: float) -> AssistedFit:
    """Estimate the total of launches whose predictions may all be wrong by one factor, from the draws (sampled launches) of
    these launches alone.

    Formula: T = X + L sum(size) + sum_h N_h (r_h - L size_h), over cells h (groups of launches with similar predictions) of N_h
    launches; L = sum N_h r_h / sum N_h mean_h(size); X is the sum of the predictions, r_h = y_h - x_h the error of the draw's
    prediction, size_h its size. The spread is estimated from neighbours in the run, or from all draws.

    Args:
        y: float64 [n], results of the draws.
        s: the draws.
        alpha: error probability of the quantile by which the estimate of the spread is chosen.
    """
    mean_size, zero = np.sqrt(np.maximum(s.square - s.spread, 0.0)), np.zeros(len(y))
    total = float((s.N * mean_size).sum())
    level = float((s.N * (y - s.x)).sum()) / total
    alone = replace(s, x=zero, mean_x=zero, mixed=zero, unlike=zero, spread=zero, group=zero.astype(np.int64), X=0.0, count=1)
    fit = fit_total(y - s.x - level * s.size, alone, alpha, Trust())
    return replace(fit, estimate=fit.estimate + s.X + level * total)
