"""Totals from samples that were drawn elsewhere, with replacement: those of tracers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelpoint.estimation.look import Estimate
from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.quantiles import two_sided


def with_replacement_total(
    counter: str, sizes: Sequence[int], draws: Sequence[Floats], confidence: float = 0.95
) -> Estimate:
    """Estimated total of a population in strata, each sampled with replacement.

    Formula: sum_h N_h ybar_h, its variance sum_h N_h^2 s_h^2 / n_h (Sarndal, Swensson, Wretman 1992, section 2.9), s_h^2 with
    n_h - 1. The half-width is the normal quantile times its root, as in Allegro. Strata of one unit are known exactly.

    Args:
        counter: name of the quantity.
        sizes: N_h of each stratum.
        draws: values of the draws of each stratum, float64 [n_h]; a unit that was drawn twice stands there twice.
        confidence: of the interval.

    Returns:
        The estimate; its half-width is nan where a stratum of several units was drawn from once only.

    >>> import numpy as np
    >>> total = with_replacement_total("cycles", [4, 1], [np.array([10.0, 10.0, 16.0]), np.array([100.0])])
    >>> total.estimate, round(total.half_width, 2)
    (148.0, 15.68)
    """
    estimate = variance = simulated = 0.0
    degrees = 0
    for size, values in zip(sizes, draws, strict=True):
        estimate += size * float(values.mean())
        simulated += float(values.sum())
        if size > 1:
            spread = float(values.var(ddof=1)) if len(values) > 1 else math.nan
            variance += size**2 * spread / len(values)
            degrees += len(values) - 1
    error = math.sqrt(variance)
    half = two_sided(1.0 - confidence, math.inf) * error
    relative = half / abs(estimate) if estimate else (half and math.inf)
    return Estimate(counter, estimate, half, relative, error, float(degrees), confidence, simulated)
