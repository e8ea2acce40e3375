"""Totals of counters that are nearly proportional to a predicted counter in each kernel, such as energy to its events."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import Engine, Estimate, Look, constants
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.planning.plan import Plan
from kernelpoint.ratios import ACTIVE_CYCLES
from kernelpoint.simulators import simulators

# The tables of all simulators. EVENTS: counter -> predicted counter that it is in proportion to, kernel by kernel. REPLAY:
# relative standard deviations of totals for what replay does not restore; inf: no bound is stated.
EVENTS = {counter: event for simulator in simulators() for event, named in simulator.in_proportion.items() for counter in named}
REPLAY = {name: error for simulator in simulators() for name, error in simulator.not_restored.items()}
# Model: the same of totals of counters that are predicted themselves. In one simulator the model counts 1,261 of 1,262 launches
# right in the L1, and 1,220 in the L2; the others are not like any that was drawn.
OF_ITSELF = 0.05
# Model: relative standard deviation of launches of one kernel and grid, and of kernels at least; of launches believed as much
# as so many pairs of them
WITHIN, WITHIN_WEIGHT = 0.03, 4.0
WEAK = 0.25  # of an estimate; a wider half-width says little of a counter


def with_proportional(look: Look, engine: Engine, plan: Plan, stay: Iterable[str]) -> Look:
    """Estimate again counters that are nearly proportional to a predicted one (EVENTS), and predicted counters with a wide
    half-width, by `proportional_total`; use the estimate if its half-width is smaller.

    Args:
        look: interim analysis (end of a round of sampling).
        engine: engine with the results and their replay errors.
        plan: plan of the run.
        stay: counters whose estimates do not change, such as exact ones.
    """
    groups, units = np.asarray(plan.design.labels), engine.results.units
    predictions = plan.design.computed
    if not predictions or plan.first_phase is not None or len(units) == len(groups) or not look.index:
        return look
    results = engine.results.of(units)
    drawn, free = groups[units] >= 0, groups >= 0
    at, estimates = units[drawn], dict(look.estimates)
    for column, name in enumerate(engine.counters):
        old, event = estimates[name], EVENTS.get(name, name)
        knows_little = name in EVENTS or not old.relative_half_width <= WEAK
        if name in {*stay, "cycles", ACTIVE_CYCLES} or event not in predictions or not knows_little:
            continue
        if math.isinf(_not_restored(name, event)):
            estimates[name] = old.moved(old.estimate, math.inf)
            continue
        of_cycles, z = event == "cycles", two_sided(1.0 - old.confidence, math.inf)
        x = engine.predict(np.arange(len(groups)), [event])[:, 0] if of_cycles else predictions[event]
        values, others = results[drawn, column], float(results[~drawn, column].sum())
        total, half = proportional_total(values, x[at], groups[at], x[free], groups[free], old.confidence)
        total += others
        off = look.estimates["cycles"].relative_half_width if of_cycles else 0.0
        measured = engine.systematic.by_counter.get(name, Estimate.exact(0.0))
        half = math.hypot(half, z * _not_restored(name, event) * total, off * total, measured.half_width * total)
        half += abs(measured.estimate) * total
        if half < math.inf and not half >= old.half_width:
            estimates[name] = old.moved(total, half)
    return replace(look, estimates=estimates)


def _not_restored(name: str, event: str) -> float:
    return REPLAY.get(name, REPLAY.get(event, 0.0)) if name in EVENTS else OF_ITSELF


def proportional_total(
    values: np.ndarray, x: np.ndarray, of: np.ndarray, all_x: np.ndarray, all_of: np.ndarray, confidence: float
) -> tuple[float, float]:
    """Total of a counter y that is nearly proportional to a predicted counter x, with its half-width: one ratio for each kernel
    (separate ratio estimator, Cochran 1977, section 6.10), and the mean ratio for kernels without a sampled launch.

    Formula: total = sum_g r_g X_g + r X_0; half-width = t sqrt(w^2 sum_g r_g^2 (U_g^2 / n_g + sum u^2) + s^2 (X_0^2 / m + sum_h
    X_h^2)).
        r_g = sum y / sum x over the n_g sampled launches of kernel g; r: mean of r_g over the m kernels with sampled launches.
        X_g: sum of x over all launches of kernel g; X_0: sum of x over the kernels h without a sampled launch, X_h for each.
        u: x of each undrawn launch of a kernel with sampled ones; U_g: their sum in kernel g.
        w: relative standard deviation of launches of one kernel, from the sampled ones and the prior value WITHIN.
        s: standard deviation of r_g, at least WITHIN r.
        t: quantile with the degrees of freedom of both terms (Satterthwaite 1946).

    Model: ratios of kernels are nearly symmetric about their mean. If their logarithms have a standard deviation of 1, about 90
    % of the half-widths hold, not 95 %.

    Args:
        values: float64 [n], for n sampled launches, the counter y.
        x: float64 [n], the predicted counter x.
        of: int [n], kernel of each sampled launch, from 0.
        all_x, all_of: x and kernel of all launches.
        confidence: confidence level of the half-width.

    Returns:
        Total and half-width; both nan if fewer than MIN_COUNTS sampled launches have a value other than 0, fewer than two
        kernels have x above 0, or a kernel has a value and no x.

    >>> x, groups = np.ones(6), np.array([0, 0, 0, 1, 1, 1])
    >>> total, half_width = proportional_total(2.0 * x, x, groups, np.ones(8), np.array([*groups, 0, 2]), 0.95)
    >>> total, round(half_width, 2)
    (16.0, 0.37)
    """
    count = int(all_of.max()) + 1
    n, Y, X, whole = (
        np.bincount(groups, weights, count) for groups, weights in ((of, None), (of, values), (of, x), (all_of, all_x))
    )
    seen = X > 0.0
    m, counted = int(seen.sum()), int(np.count_nonzero(values))
    if m < 2 or counted < min(constants.MIN_COUNTS, int(np.count_nonzero(x))) or bool(((Y > 0.0) & ~seen).any()):
        return math.nan, math.nan
    ratios = np.divide(Y, X, out=np.zeros(count), where=seen)
    mean = float(ratios[seen].mean())
    between = max(float(ratios[seen].var(ddof=1)), (WITHIN * mean) ** 2)
    apart = np.divide(values, x * ratios[of], out=np.ones(len(x)), where=x * ratios[of] > 0.0) - 1.0
    degrees = np.array([WITHIN_WEIGHT + float(np.maximum(n[seen] - 1, 0).sum()), m - 1.0])
    within = (WITHIN_WEIGHT * WITHIN**2 + float((apart**2).sum())) / degrees[0]
    undrawn, none = np.maximum(whole - X, 0.0), np.where(seen, 0.0, whole)
    squares = np.maximum(np.bincount(all_of, all_x**2, count) - np.bincount(of, x**2, count), 0.0)
    total = float((ratios * whole)[seen].sum()) + mean * float(none.sum())
    parts = np.array(
        [
            within * float((ratios[seen] ** 2 * (undrawn[seen] ** 2 / n[seen] + squares[seen])).sum()),
            between * (float(none.sum()) ** 2 / m + float((none**2).sum())),
        ]
    )
    if not parts.any():
        return total, 0.0
    nu = float(parts.sum() ** 2 / (parts**2 / degrees).sum())
    return total, two_sided(1.0 - confidence, nu) * math.sqrt(parts.sum())
