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
    rows = {unit: _row(stratum, y, strata, x, covariates.get(unit)) for unit, stratum in left_out.items()}
    return {
        unit: {
            name: Estimate.of(m, h, 0.0, math.inf, counter=name, simulated=0.0, computed_half_width=h)
            for name, m, h in zip(counters, middle.tolist(), half.tolist(), strict=True)
        }
        for unit, (middle, half) in rows.items()
    }


def _row(
    stratum: int, y: Floats, strata: NDArray[np.integer], x: Floats | None, covariate: float | None
) -> tuple[Floats, Floats]:
    """Middle and half-range of the possible counters of one unit, float64 [counters] each."""
    peers = (strata == stratum) if stratum >= 0 and bool((strata == stratum).any()) else np.ones(len(y), dtype=bool)
    scale = 1.0
    if x is not None and covariate and bool((peers & (x > 0.0)).any()):
        peers = peers & (x > 0.0)
        y, scale = y / np.where(x > 0.0, x, 1.0)[:, None], covariate
    mean, most = y[peers].mean(axis=0), y[peers].max(axis=0)
    return scale * mean, scale * np.maximum(most - mean, mean)


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
    estimates = _with(look.estimates, list(values.values()))
    wider = replace(
        look,
        estimates=estimates,
        ranges={name: _of_range(one, values, ranges, name) for name, one in look.ranges.items()},
        ratios={name: _ratio(ratio, look.estimates, estimates, ratios[name]) for name, ratio in look.ratios.items()},
    )
    total = wider.by_name[target]
    added = (total.half_width - look.by_name[target].half_width) / abs(total.estimate) if total.estimate else math.inf
    return replace(wider, warnings=[*look.warnings, _sentence(len(values), added)])


def _sentence(count: int, added: float) -> str:
    wider = f"; the bound is wider by {100 * added:.3g} % for that" if math.isfinite(added) else ""
    units = "1 launch has" if count == 1 else f"{count} launches have"
    return f"{units} no result and may be anything from nothing to the largest of the stratum{wider}"


def _with(estimates: Mapping[str, Estimate], values: Sequence[Values]) -> dict[str, Estimate]:
    """Estimates with the units that have no result added."""
    return {name: reduce(add, (value[name] for value in values), whole) for name, whole in estimates.items()}


def _of_range(range_estimate: Estimate, values: Mapping[int, Values], ranges: RangeTargets, target: str) -> Estimate:
    """Estimate of a range with its units that have no result added."""
    inside, counter = ranges.units(target), ranges.of[target][0]
    return reduce(add, (value[counter] for unit, value in values.items() if inside[unit]), range_estimate)


def _ratio(ratio: Estimate, before: Values, after: Values, pair: tuple[str, str]) -> Estimate:
    """Ratio A / B with a half-width wider by (h_A + |R| h_B) / |B|, where h is the growth of each total's half-width."""
    above, below = (after[name].moved(after[name].estimate, after[name].half_width - before[name].half_width) for name in pair)
    if not below.estimate:
        return Estimate.unknown(ratio.counter, ratio.confidence)
    more = above / below
    computed = ratio.computed_half_width + more.half_width
    return ratio.moved(more.estimate, ratio.half_width + more.half_width, computed_half_width=computed)
