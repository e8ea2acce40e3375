"""Totals of counters that are nearly in proportion to a predicted one, kernel by kernel: energy to the events that it is of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import BaseEngine, Look
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.workload.plan import Plan

# Model: events that a counter without a prediction of its own counts. AccelWattch charges a fixed energy for each; that of
# units which only some kernels use is in proportion to the instructions of these.
_OF_INSTRUCTIONS = (
    "dp_divp dp_mulp dpup fp_divp fp_exp fp_lgp fp_mulp fp_sinp fp_sqrtp fpup int_divp int_mul24p int_mul32p"
)
_OF_THREADS = (*_OF_INSTRUCTIONS.split(), "int_mulp", "intp", "pipep", "tensorp")
EVENTS: dict[str, str] = {
    **dict.fromkeys((f"energy_{part}" for part in _OF_THREADS), "instructions"),
    **dict.fromkeys((f"energy_{part}" for part in ("ibp", "icp", "rfp", "schedp", "ccp")), "warp_instructions"),
    **dict.fromkeys((f"energy_{part}" for part in ("dcp", "texp", "tcp")), "l1_accesses"),
    **dict.fromkeys(("energy_l2cp", "energy_nocp"), "l2_accesses"),
    "energy_shrdp": "shared_accesses",
    "energy_staticp": "sm_cycles",
    "energy_dramp": "dram_reads",
    "l1_accesses": "l1_lookups",
    "icache_miss_total": "fetch_misses",
    "total_memory_merge": "merged_misses",
    **dict.fromkeys(("memory_requests", "avg_memory_latency", "avg_memory_latency_base", "power_mc_r"), "requests"),
    **dict.fromkeys(
        ("l2_accesses", "l2_misses", "l3_miss_gpu", "llc_accesses", "power_llc_r", "power_llc_r_tag"),
        "requests_beyond_l1",
    ),
    **dict.fromkeys(("llc_misses", "dram_requests"), "last_level_misses"),
}
# Model: relative standard deviation of totals for what replay does not restore: in MacSim, CTAs that waited for room ran on
# other cores, whose L1s hold other lines; simpletorch +3 to +8 %
REPLAY = dict.fromkeys(("fetch_misses", "merged_misses", "requests", "requests_beyond_l1", "last_level_misses"), 0.05)
# Model: relative standard deviation of launches of one kernel and grid, believed as much as so many pairs of them
WITHIN, WITHIN_WEIGHT = 0.03, 4.0
MIN_COUNTS = 5  # Model: draws that are no zeros

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def ratio_total(
    values: Floats, x: Floats, of: Ints, all_x: Floats, all_of: Ints, confidence: float
) -> tuple[float, float]:
    """The total of a counter, and its half-width: a ratio for each group of units (separate ratio estimator, Cochran 1977,
    section 6.10), and the mean ratio for groups of which there is no draw.

    Formula: r_g = sum y / sum x over the n_g draws of group g, r the mean r_g; total = sum_g r_g X_g + r X_0, X_g the x of all
    units of g, X_0 of those of groups without a draw; half-width = t sqrt(w^2 sum_g r_g^2 (U_g^2 / n_g + sum u^2) + s^2 (X_0^2
    / m + sum_h X_h^2)), u the x of an undrawn unit, U_g their sum, s the standard deviation of the r_g of m groups, h groups
    without a draw, w as WITHIN says, with how far draws of one group are apart; t of the degrees of freedom of both terms
    (Satterthwaite 1946).

    Model: ratios of kernels are nearly symmetric about their mean. Where their logarithms have a standard deviation of 1, about
    90 % of the half-widths hold, not 95.

    Args:
        values, x: float64 [draws], of the counter and of the one that it is in proportion to; of: their groups, from 0.
        all_x, all_of: the same of all units, the drawn ones with them.

    Returns:
        nan, nan where fewer than MIN_COUNTS draws are no zeros, fewer than two groups have x, or a draw has a value and no x.

    >>> x, groups = np.ones(6), np.array([0, 0, 0, 1, 1, 1])
    >>> total, half_width = ratio_total(2.0 * x, x, groups, np.ones(8), np.array([*groups, 0, 2]), 0.95)
    >>> total, round(half_width, 2)
    (16.0, 0.11)
    """
    count = int(all_of.max()) + 1
    n, Y, X, whole = (
        np.bincount(groups, weights, count) for groups, weights in ((of, None), (of, values), (of, x), (all_of, all_x))
    )
    known = X > 0.0
    m, counted = int(known.sum()), int(np.count_nonzero(values))
    if m < 2 or counted < min(MIN_COUNTS, int(np.count_nonzero(x))) or bool(((Y > 0.0) & ~known).any()):
        return math.nan, math.nan
    ratios = np.divide(Y, X, out=np.zeros(count), where=known)
    mean, between = float(ratios[known].mean()), float(ratios[known].var(ddof=1))
    apart = np.divide(values, x * ratios[of], out=np.ones(len(x)), where=x * ratios[of] > 0.0) - 1.0
    degrees = np.array([WITHIN_WEIGHT + float(np.maximum(n[known] - 1, 0).sum()), m - 1.0])
    within = (WITHIN_WEIGHT * WITHIN**2 + float((apart**2).sum())) / degrees[0]
    undrawn, none = np.maximum(whole - X, 0.0), np.where(known, 0.0, whole)
    squares = np.maximum(np.bincount(all_of, all_x**2, count) - np.bincount(of, x**2, count), 0.0)
    total = float((ratios * whole)[known].sum()) + mean * float(none.sum())
    parts = np.array(
        [
            within * float((ratios[known] ** 2 * (undrawn[known] ** 2 / n[known] + squares[known])).sum()),
            between * (float(none.sum()) ** 2 / m + float((none**2).sum())),
        ]
    )
    if not parts.any():
        return total, 0.0
    nu = float(parts.sum() ** 2 / (parts**2 / degrees).sum())
    return total, two_sided(1.0 - confidence, nu) * math.sqrt(parts.sum())


def with_proportional(look: Look, engine: BaseEngine, plan: Plan, stay: Iterable[str]) -> Look:
    """A look in which counters of EVENTS have `ratio_total` where its half-width is the smaller one.

    Args:
        engine: with the results; stay: counters whose estimates stay, such as those that the traces tell.
    """
    predictions, groups = plan.design.means, np.asarray(plan.design.labels)
    names = [name for name in engine.counters if EVENTS.get(name) in predictions and name not in {*stay}]
    records = dict(engine.records())
    if not names or plan.first_phase is not None or len(records) == len(groups) or not look.index:
        return look
    units = np.array(sorted(records), dtype=np.int64)
    results = np.array([records[unit] for unit in units.tolist()])
    drawn, free = groups[units] >= 0, groups >= 0
    estimates = dict(look.estimates)
    for name in names:
        old, values, x = estimates[name], results[:, engine.counters.index(name)], predictions[EVENTS[name]]
        at = units[drawn]
        total, half = ratio_total(values[drawn], x[at], groups[at], x[free], groups[free], old.confidence)
        total += float(values[~drawn].sum())
        half = math.hypot(half, two_sided(1.0 - old.confidence, math.inf) * REPLAY.get(EVENTS[name], 0.0) * total)
        if half < math.inf and not half >= old.half_width:
            estimates[name] = replace(old, estimate=total, half_width=half, relative_half_width=half / total)
    return replace(look, estimates=estimates)
