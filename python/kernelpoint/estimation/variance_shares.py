"""Shares of parts of a population in the variance of its estimated total."""

from __future__ import annotations

import numpy as np


def variance_shares(
    strata: np.ndarray, simulated: np.ndarray, values: np.ndarray, groups: np.ndarray, count: int
) -> np.ndarray | None:
    """Share of each group in the variance of the estimated total, float64 [count], of sum 1; None where there is no variance.

    A unit of stratum h counts (N_h - n_h) / n_h times the squared mean of the stratum. Model: relative errors of
    predictions are equally large in every stratum, as the pooled variance of the estimate takes them to be.

    Args:
        strata: int [n], 0 ... H - 1; simulated: bool [n]; values: float64 [n], estimated amount of each unit, nan where there
            is none; groups: int [n], 0 ... count - 1. Units of no stratum are left out.

    >>> strata, simulated = np.array([0, 0, 1, 1, 1, 1]), np.array([True, False, True, False, False, False])
    >>> variance_shares(strata, simulated, np.array([2.0, 2.0, 1.0, 1.0, 1.0, 1.0]), strata, 2).tolist()
    [0.4, 0.6]
    """
    sizes = np.bincount(strata)
    drawn = np.bincount(strata, weights=simulated, minlength=len(sizes))
    means = np.bincount(strata, weights=np.nan_to_num(values)) / np.maximum(sizes, 1)
    each = (sizes - drawn) / np.maximum(drawn, 1.0) * means**2
    parts = np.bincount(groups, weights=each[strata], minlength=count)
    return parts / parts.sum() if parts.sum() > 0.0 else None
