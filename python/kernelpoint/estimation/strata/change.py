"""Variance of the change between two runs over the same strata, also if only a few strata change.

The spread of a change in a stratum is exchangeable with that of others (`Inference.spread`). With one or two draws a stratum
that is easily wrong by much, for what divides two configurations (a working set that fits into one cache and not into the
other) sits in few strata, and a run is sized for its own values, not for their change. So two more variances are estimated,
and the widest of the three intervals is taken.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kernelpoint.estimation.moments import Floats, Moments
from kernelpoint.estimation.strata.allocation import sampling_factors
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.variance import pooled_spread, variance_and_degrees

PRIOR_DEGREES_OF_CHANGE = (
    2.0  # Model: degrees of freedom that "a stratum spreads by as much as it moved" counts for, before the draws
)


def collapsed(sample: Sample, residuals: Floats, scale: Floats) -> tuple[float, float]:
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
    return variance_and_degrees(
        weight, replace(spread, of_draws=np.zeros(count))
    )  # no cap: draws of a cluster are of many strata


def alone(sample: Sample, residuals: Floats, moved: Floats) -> tuple[float, float]:
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
