"""Units without a result (nonresponse): estimated from their stratum, with a bound on their values.

Such a unit leaves its stratum, which is sampled without it, and stands for itself: T = T_of_the_others + sum m_i, and the
half-width grows by sum h_i (worst-case bounds; Cochran 1977, section 13.2; Sarndal, Swensson, Wretman 1992, chapter 15).

Model: per unit of its covariate, it is anything between nothing and the largest result of its stratum. Where nothing is known
of it, or its stratum has no result, that is the largest of all. These bounds are added to the half-width, not their squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.look import Estimate, Look, LookPart
from kernelpoint.estimation.moments import Floats


@dataclass(frozen=True)
class Range:
    """Value m and half-width h of each counter, float64 [counters] both: the amount lies in m - h ... m + h."""

    middle: Floats
    half: Floats

    @classmethod
    def sum(cls, ranges: list[Range]) -> Range:
        """The range of a total."""
        return cls(np.sum([r.middle for r in ranges], axis=0), np.sum([r.half for r in ranges], axis=0))


def ranges_of(
    lacking: Mapping[int, int], y: Floats, strata: NDArray[np.integer], x: Floats | None, own: Mapping[int, float]
) -> dict[int, Range]:
    """Range of each unit without a result.

    Args:
        lacking: by unit, the stratum that it was drawn from, or -1.
        y: float64 [n, counters], all results, n >= 1; strata: int [n], of each; x: float64 [n], their covariate, or None.
        own: covariate of each unit here, as far as there is one above 0.

    >>> found = ranges_of({7: 0}, np.array([[4.0], [8.0]]), np.array([0, 0]), np.array([1.0, 2.0]), {7: 3.0})
    >>> found[7].middle.tolist(), found[7].half.tolist()
    ([12.0], [12.0])
    """
    return {unit: _range(stratum, y, strata, x, own.get(unit)) for unit, stratum in lacking.items()}


def _range(stratum: int, y: Floats, strata: NDArray[np.integer], x: Floats | None, own: float | None) -> Range:
    peers = (strata == stratum) if stratum >= 0 and bool((strata == stratum).any()) else np.ones(len(y), dtype=bool)
    scale = 1.0
    if x is not None and own and bool((peers & (x > 0.0)).any()):
        peers = peers & (x > 0.0)
        y, scale = y / np.where(x > 0.0, x, 1.0)[:, None], own
    mean, most = y[peers].mean(axis=0), y[peers].max(axis=0)
    return Range(scale * mean, scale * np.maximum(most - mean, mean))


def with_nonresponse(
    look: Look, ranges: Mapping[int, Range], budget: ErrorBudget, ratios: Mapping[str, tuple[str, str]], of: Any
) -> Look:
    """A look of the other units with those of `ranges` in every total, ratio and domain; clusters stay those of the others.

    Args:
        of: int [N], the domain of each unit, or None where there is one.
    """
    if not ranges or not look.estimates:
        return look
    names = list(look.estimates)
    estimates = _added(look.estimates, names, Range.sum(list(ranges.values())))
    domains = [
        _in_domain(part, names, [r for unit, r in ranges.items() if of[unit] == part.number]) for part in look.domains
    ]
    wider = replace(
        look,
        estimates=estimates,
        domains=domains,
        ratios={name: _ratio(ratio, look.estimates, estimates, ratios[name]) for name, ratio in look.ratios.items()},
    )
    met = look.met and all(wider.meets(one) for one in budget.each())
    return replace(wider, met=met, warnings=[*look.warnings, _sentence(len(ranges), part_added(look, wider, budget))])


def part_added(before: Look, after: Look, budget: ErrorBudget) -> float:
    """The largest part of an estimate that its half-width grew by; nan where no bound is stated."""
    pairs = zip(*(look.budgeted(budget.counter) for look in (before, after)), strict=True)
    added = [(b.half_width - a.half_width) / abs(b.estimate) if b.estimate else math.inf for a, b in pairs]
    return max(added, default=0.0)


def _sentence(count: int, added: float) -> str:
    wider = f"; the bound is wider by {100 * added:.3g} % for that" if math.isfinite(added) else ""
    units = "1 launch has" if count == 1 else f"{count} launches have"
    return f"{units} no result and may be anything from nothing to the largest of the stratum{wider}"


def _wider(estimate: Estimate, value: float, half: float) -> Estimate:
    return estimate.moved(value, half, computed_half_width=estimate.computed_half_width + half - estimate.half_width)


def _added(estimates: Mapping[str, Estimate], names: list[str], more: Range) -> dict[str, Estimate]:
    return {
        name: _wider(
            e, e.estimate + float(more.middle[names.index(name)]), e.half_width + float(more.half[names.index(name)])
        )
        for name, e in estimates.items()
    }


def _in_domain(part: LookPart, names: list[str], ranges: list[Range]) -> LookPart:
    if not ranges:
        return part
    estimates = _added(part.estimates, names, Range.sum(ranges))
    return replace(part, units=part.units + len(ranges), estimates=estimates)


def _ratio(
    ratio: Estimate, before: Mapping[str, Estimate], after: Mapping[str, Estimate], pair: tuple[str, str]
) -> Estimate:
    """A ratio R = A / B is off by at most (h_A + |R| h_B) / |B| more, h what the totals are off by more than before."""
    if not after[pair[1]].estimate:
        return Estimate.unknown(ratio.counter, ratio.confidence)
    value = after[pair[0]].estimate / after[pair[1]].estimate
    more_above, more_below = (after[name].half_width - before[name].half_width for name in pair)
    more = (more_above + abs(value) * more_below) / abs(after[pair[1]].estimate)
    return _wider(ratio, value, ratio.half_width + more)
