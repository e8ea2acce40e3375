"""Influence of single units on an estimated total: the part of a bound that outliers add."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.moments import Floats, Moments
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.variance import SlowDraws, scales
from kernelpoint.estimation.unseen import unseen_rate


def borrowed_totals(size: Floats, covariate: Floats, clusters: NDArray[np.integer]) -> Floats:
    """float64 [H]: amount that each stratum may add to a total: its own size, or X_h sum_c size / sum_c X of its cluster c if
    larger.

    Few draws of a stratum may all be short launches where it has long ones too; then neither its size nor its spread tells,
    but other strata of its cluster may. The sizes add up to twice the total at most.

    Args:
        size: float64 [H], what draws tell; covariate: X_h, float64 [H]; clusters: int [H].

    >>> borrowed_totals(np.array([1.0, 9.0, 4.0]), np.ones(3), np.array([0, 0, 1])).tolist()
    [5.0, 9.0, 4.0]
    """
    of_clusters, x = (np.bincount(clusters, weights=values) for values in (size, covariate))
    each = np.divide(of_clusters, x, out=np.zeros(len(x)), where=x > 0.0)
    return np.maximum(size, each[clusters] * covariate)


def outlier_allowances(sample: Sample, y: Floats) -> Floats:
    """float64 [H]: how far one undrawn unit of each stratum is assumed to deviate, relative to its value: Sample.allowance, or
    what slow draws imply if larger.

    >>> sample = Sample(np.array([0, 0, 0]), np.array([9]), np.zeros(1, int), allowance=0.5, slow_excess=4.0)
    >>> [outlier_allowances(sample, np.array([1.0, slow, 1.0])).round(3).tolist() for slow in (1.0, 4.0)]
    [[0.5], [2.775]]
    """
    if not sample.slow_excess:
        return np.full(len(sample.N), sample.allowance)
    mean = scales(Moments.of(sample.strata, y, len(sample.N)).mean, sample.n)
    return np.maximum(sample.allowance, SlowDraws.of(sample.strata, y, len(sample.N)).mean(mean))


def outlier_effect(sample: Sample, size: Floats, allowance: Floats, alpha: float) -> float:
    """Largest change of a total by outliers: the most influential draw is wrong by `allowance`, or as many undrawn units are
    slow as the sample can miss with probability alpha (unseen_rate).

    Args:
        size: float64 [H], what each stratum adds to the total; allowance: float64 [H].

    >>> sample = Sample(np.zeros(4, int), np.array([8]), np.zeros(1, int))
    >>> outlier_effect(sample, np.array([80.0]), np.array([0.5]), 0.05)
    5.0
    """
    n = sample.n
    rest = np.where(n < sample.N, 1.0 - n / np.maximum(sample.N, 1), 0.0) * size
    most = float((allowance * rest / np.maximum(n, 1)).max(initial=0.0))
    return max(most, sample.slow_excess * unseen_rate(n, alpha) * float(rest.sum())) if sample.slow_excess else most
