"""Totals of counters that are nearly in proportion to a predicted one, kernel by kernel: energy to the events that it is of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import Engine, Estimate, Look, proportional_total
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.planning.plan import Plan
from kernelpoint.simulators import simulators

# The tables of all simulators. EVENTS: counter -> predicted counter that it is in proportion to, kernel by kernel. REPLAY:
# relative standard deviations of totals for what replay does not restore. PREDICTED: those of totals that are sums of the
# predictions.
EVENTS = {
    counter: event for one in simulators() for event, named in one.in_proportion.items() for counter in named.split()
}
REPLAY = {name: error for one in simulators() for name, error in one.not_restored.items()}
PREDICTED = {event: error for one in simulators() for event, error in one.own_totals.items()}
# Model: the same of totals of counters that are predicted themselves. In one simulator the model counts 1,261 of 1,262 launches
# right in the L1, and 1,220 in the L2; the others are not like any that was drawn.
OF_ITSELF = 0.05
WEAK = 0.25  # of an estimate; a wider half-width says little of a counter


def with_proportional(look: Look, engine: Engine, plan: Plan, stay: Iterable[str]) -> Look:
    """A look in which counters of EVENTS have `proportional_total` where its half-width is the smaller one.

    So have counters that are predicted themselves where the look knows little of them. Counters of PREDICTED have the sum of
    their predictions; what was simulated of them is no part of it (nan).

    Args:
        engine: with the results; stay: counters whose estimates stay, such as those that the traces tell.
    """
    groups, records = np.asarray(plan.design.labels), dict(engine.records())
    predictions = plan.design.means
    if not predictions or plan.first_phase is not None or len(records) == len(groups) or not look.index:
        return look
    units = np.array(sorted(records), dtype=np.int64)
    results = np.array([records[unit] for unit in units.tolist()])
    drawn, free = groups[units] >= 0, groups >= 0
    at, estimates = units[drawn], dict(look.estimates)
    for column, name in enumerate(engine.counters):
        old, event = estimates[name], EVENTS.get(name, name)
        knows_little = name in EVENTS or not old.relative_half_width <= WEAK
        if name in {*stay, "cycles"} or event not in predictions or not knows_little:
            continue
        of_cycles, z = event == "cycles", two_sided(1.0 - old.confidence, math.inf)
        x = engine.predict(range(len(groups)))[:, engine.counters.index(event)] if of_cycles else predictions[event]
        values, others = results[drawn, column], float(results[~drawn, column].sum())
        if event in PREDICTED:
            total = float(x[free].sum()) + others
            if total > 0.0:
                estimates[name] = replace(_stated(old, total, z * PREDICTED[event] * total), simulated=math.nan)
            continue
        total, half = proportional_total(values, x[at], groups[at], x[free], groups[free], old.confidence)
        total += others
        off = look.estimates["cycles"].relative_half_width if of_cycles else 0.0
        half = math.hypot(half, z * _not_restored(name, event) * total, off * total)
        if half < math.inf and not half >= old.half_width:
            estimates[name] = _stated(old, total, half)
    return replace(look, estimates=estimates)


def _not_restored(name: str, event: str) -> float:
    return REPLAY.get(name, REPLAY.get(event, 0.0)) if name in EVENTS else OF_ITSELF


def _stated(e: Estimate, total: float, half: float) -> Estimate:
    return replace(e, estimate=total, half_width=half, relative_half_width=half / total)
