"""Units without a result (nonresponse): estimated from their stratum, with a bound on their values.

Such a unit leaves its stratum, which is sampled without it, and stands for itself: T = T_of_the_others + sum m_i, and the
half-width grows by sum h_i (worst-case bounds; Cochran 1977, section 13.2; Sarndal, Swensson, Wretman 1992, chapter 15).

Model: per unit of its covariate, it is anything between nothing and the largest result of its stratum. Where nothing is known
of it, or its stratum has no result, that is the largest of all. These bounds are added to the half-width, not their squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.nested_totals import NO_RANGES, RangeTargets

Values = Mapping[str, Estimate]  # by counter


def values_of(
    left_out: Mapping[int, int],
    counters: Sequence[str],
    y: Floats,
    strata: NDArray[np.integer],
    x: Floats | None,
    covariates: Mapping[int, float],
) -> dict[int, Values]:
    """Estimate the counters of each launch that can have no result, from results of its stratum.

    Args:
        left_out: index of each launch without a result -> its stratum, or -1.
        counters: names of the columns of `y`.
        y: float64 [n, counters], all results; n is at least 1.
        strata: int [n], stratum of each launch with a result.
        x: float64 [n], covariate (work) of each launch with a result, or None.
        covariates: index of a launch without a result -> its covariate, where there is one above 0.

    >>> y, strata, x = np.array([[4.0], [8.0]]), np.array([0, 0]), np.array([1.0, 2.0])
    >>> value = values_of({7: 0}, ("cycles",), y, strata, x, {7: 3.0})[7]["cycles"]
    >>> value.estimate, value.half_width
    (12.0, 12.0)
    """
    result: dict[int, Values] = {}
    for unit, stratum in left_out.items():
        peers, scale, values = strata == stratum, 1.0, y
        if stratum < 0 or not peers.any():
            peers = np.ones(len(y), dtype=bool)
        if x is not None and covariates.get(unit) and bool((peers & (x > 0.0)).any()):
            peers &= x > 0.0
            values, scale = y / np.where(x > 0.0, x, 1.0)[:, None], covariates[unit]
        mean, most = values[peers].mean(axis=0), values[peers].max(axis=0)
        middle, half = scale * mean, scale * np.maximum(most - mean, mean)
        result[unit] = {
            name: Estimate.of(m, h, 0.0, math.inf, counter=name, simulated=0.0, computed_half_width=h)
            for name, m, h in zip(counters, middle.tolist(), half.tolist(), strict=True)
        }
    return result


def with_nonresponse(
    look: Look,
    values: Mapping[int, Values],
    target: str,
    ratios: Mapping[str, tuple[str, str]],
    ranges: RangeTargets = NO_RANGES,
) -> Look:
    """Add launches that can have no result to the estimates of an interim analysis (end of a round of sampling), with a warning
    that says by how much the half-width of `target` grows.

    Args:
        look: interim analysis of all other launches.
        values: index of each launch without a result -> an estimate of each counter.
        target: name of the budget's first target.
        ratios: name of a ratio -> (counter in its numerator, counter in its denominator).
        ranges: targets of the budget that are totals of a part of the run.
    """
    if not values or not look.estimates:
        return look
    estimates = {name: reduce(add, (value[name] for value in values.values()), one) for name, one in look.estimates.items()}
    of_ranges = {}
    for name, one in look.ranges.items():
        inside, counter = ranges.units(name), ranges.of[name][0]
        of_ranges[name] = reduce(add, (value[counter] for unit, value in values.items() if inside[unit]), one)
    quotients = {name: _ratio(ratio, look.estimates, estimates, ratios[name]) for name, ratio in look.ratios.items()}
    wider = replace(look, estimates=estimates, ranges=of_ranges, ratios=quotients)
    total = wider.by_name[target]
    added = (total.half_width - look.by_name[target].half_width) / abs(total.estimate) if total.estimate else math.inf
    by = f"; the bound is wider by {100 * added:.3g} % for that" if math.isfinite(added) else ""
    units = "1 launch has" if len(values) == 1 else f"{len(values)} launches have"
    most = "the largest result of the stratum, or of all where there is none"
    sentence = f"{units} no result and may be anything from nothing to {most}{by}"
    return replace(wider, warnings=[*look.warnings, sentence])


def _ratio(ratio: Estimate, before: Values, after: Values, pair: tuple[str, str]) -> Estimate:
    """Ratio A / B with a half-width wider by (h_A + |R| h_B) / |B|, where h is the growth of each total's half-width."""
    above, below = (after[name].moved(after[name].estimate, after[name].half_width - before[name].half_width) for name in pair)
    if not below.estimate:
        return Estimate.unknown(ratio.counter, ratio.confidence)
    more = above / below
    computed = ratio.computed_half_width + more.half_width
    return ratio.moved(more.estimate, ratio.half_width + more.half_width, computed_half_width=computed)
