"""Two totals over the same units, from draws whose values are known in both: their difference and their ratio.

Two configurations of one system run over the same units; configuration `first` has the values a_i and `second` b_i. Launch
by launch a_i and b_i go together, so what is uncertain in b - a is far less than what is uncertain in either total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.bounds import Kind, error_probability
from kernelpoint.estimation.budget import Bound, Method
from kernelpoint.estimation.moments import Floats, Moments
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.strata.estimators import ESTIMATORS, Fit, Sample
from kernelpoint.estimation.strata.variance import pooled_spread, sampling_factors, scales, variance_and_degrees

PRIOR_DEGREES_OF_CHANGE = (
    2.0  # Model: degrees of freedom that "a stratum spreads by as much as it moved" counts for, before the draws
)
SAME = 0.75  # of the error probability goes to pairs of runs that stopped at equal looks
PAIRED_SCALE_SHARE = (
    0.2  # Model: spreads below 0.1 % of a launch are read as that (pooling.NO_SPREAD reads 0.5 % of one total's)
)


@dataclass(frozen=True)
class PairedTotals:
    """Totals A and B of two configurations estimated from their common draws, with ratio B / A and difference B - A."""

    first: float
    second: float
    ratio: Estimate
    difference: Estimate


def joint_error_probability(bounds: Sequence[Bound], alpha: float, kinds: Sequence[Sequence[Kind]]) -> float:
    """Error probability, out of alpha, of a comparison of two runs that stopped at their analyses j and k.

    Each run decides by its own results when it stops, so which pair of looks is compared is not known beforehand. Shares
    s_k = alpha_k / alpha of a run's looks (bounds.error_probability) add up to 1 at most. A pair of equal looks (j = k), the
    usual one, spends SAME min(s_j, s'_k) alpha, any other (1 - SAME) s_j s'_k alpha: over all pairs no more than alpha, so by
    the union bound the probability that the interval at any pair misses the truth is alpha at most.

    >>> round(joint_error_probability(("sequential", "sequential"), 0.05, (("first", "sized"), ("first", "sized"))), 4)
    0.0146
    """
    shares = [
        error_probability(bound, alpha, own_kinds) / alpha for bound, own_kinds in zip(bounds, kinds, strict=True)
    ]
    if all(bound != "sequential" for bound in bounds):
        return alpha * math.prod(shares)
    same = len(kinds[0]) == len(kinds[1])
    return alpha * (SAME * min(shares) if same else (1.0 - SAME) * math.prod(shares))


def paired_totals(
    sample: Sample, values: Floats, exact: Floats, method: Method = "regression", alpha: float = 0.05
) -> PairedTotals:
    """Ratio and difference of two totals by linearisation (Sarndal, Swensson, Wretman 1992, section 5.6).

    Formula: A = sum_h ahat_h + exact, B likewise, each by `method`. R = B / A, and R - R_true is nearly the total of
    e_i = (b_i - R a_i) / A: the variance is that of the residuals of e (r_b - R r_a, r what the estimator leaves of a
    value) within strata, pooled as for totals. The difference B - A is the same with R = 1 and without the division.

    Model: the spread of e in a stratum is exchangeable with that of others relative to half of |b| + |R| |a|. With one or two
    draws a stratum that is easily wrong by much, for what divides two configurations (a working set that fits into one
    cache and not into the other) sits in few strata, and a run is sized for its own values, not for e. So two more
    variances are estimated, and the widest of the three intervals is taken: between strata of a cluster, as if they were
    one (collapsed strata, Wolter 2007, section 2.5: it counts what differs between the strata, so it errs upwards), and
    stratum by stratum, with no more degrees of freedom than the strata that react have draws (`_alone`).

    Args:
        sample: the common draws of the strata, as at a look; they have to be a simple random sample of each stratum.
        values: float64 [n, 2], a_i and b_i of the draws; exact: float64 [k, 2], of the take-all units.
        method: estimator of the totals; alpha: error probability of either interval.

    >>> u = np.arange(100.0)
    >>> sample = Sample(np.zeros(10, int), np.array([100]), np.zeros(1, int))
    >>> a = 50.0 + u[:10]
    >>> pair = paired_totals(sample, np.column_stack([a, 2.0 * a]), np.zeros((0, 2)), "mean")
    >>> pair.ratio.estimate, pair.ratio.half_width < 0.02, pair.difference.half_width > 1.0
    (2.0, True, True)
    """
    fits = [ESTIMATORS[method](np.ascontiguousarray(values[:, k]), sample) for k in (0, 1)]
    first, second = (float(fits[k].totals.sum() + exact[:, k].sum()) for k in (0, 1))
    ratio = math.nan if first == 0.0 else second / first
    moved = values[:, 1] - (0.0 if first == 0.0 else ratio) * values[:, 0]
    nothing = Estimate.of(math.nan, math.nan, math.nan, 0.0)
    return PairedTotals(
        first,
        second,
        nothing if first == 0.0 else _interval(sample, values, fits, moved, ratio, ratio, abs(first), alpha),
        _interval(sample, values, fits, moved, second - first, 1.0, 1.0, alpha),
    )


def _interval(
    sample: Sample,
    values: Floats,
    fits: Sequence[Fit],
    moved: Floats,
    value: float,
    ratio: float,
    divisor: float,
    alpha: float,
) -> Estimate:
    """The interval of `value`, whose error is the total of the residuals of b - ratio a over `divisor`.

    moved: float64 [n], how far the change of configuration moved each draw from the ratio of the totals.
    """
    residuals = fits[1].residuals - ratio * fits[0].residuals
    size = [np.abs(Moments.of(sample.strata, values[:, k], len(sample.N)).mean) for k in (0, 1)]
    scale = PAIRED_SCALE_SHARE * scales((size[1] + abs(ratio) * size[0]) / 2.0, sample.n)
    undrawn = bool((sample.n < sample.N).any())
    if undrawn and any(not fit.totals.any() for fit in fits):
        return Estimate.of(value, math.nan, math.nan, 0.0)  # only zeros were drawn: what the others hold, nothing tells
    totals = (
        _within(sample, residuals, scale),
        _collapsed(sample, residuals, scale),
        _alone(sample, residuals, moved),
    )
    wide = [
        (_quantile(alpha, freedom) * math.sqrt(max(V, 0.0)) if V > 0.0 else 0.0, V, freedom) for V, freedom in totals
    ]
    half, V, freedom = max(wide)
    return Estimate.of(value, half / divisor, math.sqrt(max(V, 0.0)) / divisor, freedom)


def _quantile(alpha: float, freedom: float) -> float:
    return two_sided(alpha, round(min(freedom, 1e9), 6)) if freedom > 0.0 else math.inf


def _within(sample: Sample, residuals: Floats, scale: Floats) -> tuple[float, float]:
    """Variance of the total of the residuals and its degrees of freedom, from their spread within strata."""
    H = len(sample.N)
    spread = pooled_spread(sample.N, Moments.of(sample.strata, residuals, H), scale)
    V, degrees = variance_and_degrees(sample.N, sample.n, spread, np.zeros(H, np.int64), 1)
    return float(V[0]), float(degrees[0])


def _collapsed(sample: Sample, residuals: Floats, scale: Floats) -> tuple[float, float]:
    """The same from the spread of residual / scale within clusters: V = sum_c S_c^2 sum_{h in c} A_h scale_h^2.

    A_h = N_h^2 (1 - n_h / N_h) / n_h; degrees of freedom as in variance.variance_and_degrees, clusters in place of strata.
    """
    n, cluster = sample.n, sample.clusters
    count = int(cluster.max(initial=0)) + 1
    weight = np.bincount(cluster, weights=sampling_factors(sample.N, n) * scale * scale, minlength=count)
    if not weight.any():
        return 0.0, math.inf
    relative = np.where(scale[sample.strata] > 0.0, residuals / np.maximum(scale[sample.strata], 1e-300), 0.0)
    moments = Moments.of(cluster[sample.strata], relative, count)
    spread = pooled_spread(np.ceil(np.sqrt(weight)).astype(np.int64), moments, np.ones(count))
    terms = weight * spread.S2
    V = float(terms.sum())
    if math.isinf(spread.uncertainty):
        return V, 0.0
    chi_square = np.where(spread.degrees > 0, 2.0 / np.maximum(spread.degrees, 1), 0.0)
    own_part, borrowed = (terms * spread.weight) ** 2 * chi_square, float((terms * (1.0 - spread.weight)).sum())
    noise = float(own_part.sum()) + borrowed**2 * spread.uncertainty
    return V, 2.0 * V * V / noise if noise > 0.0 else math.inf


def _alone(sample: Sample, residuals: Floats, moved: Floats) -> tuple[float, float]:
    """The same from what each stratum shows by itself: V = sum_h A_h (s_h^2 + k d_h^2 / nu_h), nu_h = max(n_h - 1, 1).

    d_h is the mean in the stratum of `moved`, b_i - R a_i: where the change of configuration moves a stratum, it need not
    move all of its launches alike, and few draws that agree do not show that. k is how much strata that move spread, k =
    (p + nu khat) / (p + nu) with p = PRIOR_DEGREES_OF_CHANGE degrees of freedom for k = 1; khat = sum_h w_h min(s_h^2 /
    d_h^2, 1) / sum_h w_h and nu = (sum_h w_h)^2 / sum_h (w_h^2 / nu_h) over strata with two or more draws, w_h = A_h d_h^2.
    Degrees of freedom V^2 / sum_h (V_h^2 / (n_h + 2)) - 2 (Welch 1947), at least 1: few where few strata make up V.
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
        k = (PRIOR_DEGREES_OF_CHANGE + degrees * float((w * spread).sum() / w.sum())) / (
            PRIOR_DEGREES_OF_CHANGE + degrees
        )
    terms = A * (variances + k * shift2 / nu)
    V, noise = float(terms.sum()), float((terms * terms / (n + 2)).sum())
    return V, max(1.0, V * V / noise - 2.0) if noise > 0.0 else math.inf
