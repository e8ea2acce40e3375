"""Counters that the traces determine: summed over all launches, not estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import Engine, Estimate, Look
from kernelpoint.planning.plan import Plan
from kernelpoint.ratios import RATIOS

# Counter of a host -> what of a trace it may be: a count, less others. Which it is, the simulated launches tell. Some
# simulators count instructions of warps, less those that their reader leaves out.
CANDIDATES: dict[str, tuple[tuple[str, ...], ...]] = {
    "instructions": (("thread_instructions",), ("instructions",), ("instructions", "unread_instructions")),
    "warp_instructions": (("instructions",),),
    "ctas": (("ctas",),),
    "warps": (("warps",),),
    "shared_accesses": (("shared_accesses",),),
}

# Accesses that the traces name: a model counts them, whatever state it is in.
OF_MODEL = ("l1_accesses", "l1_global_reads", "l1_global_writes", "l2_global_writes", "constant_accesses")

# Counters that stand in the header of a trace.
GRID = ("ctas", "warps")


def exact_values(plan: Plan, engine: Engine, projected: set[int], counter: str) -> np.ndarray | None:
    """Value of a counter in every launch, float64 [N], if the traces determine it; else None.

    They do if every launch that was simulated to its end has exactly the value computed from its trace. A launch whose trace
    cannot be read has its result.

    Args:
        plan: plan of the run.
        engine: engine with the results.
        projected: indices of launches that were stopped early and extrapolated.
        counter: counter of the simulator.
    """
    units, predictions = engine.results.units, plan.design.computed
    values = engine.results.of(units)[:, engine.counters.index(counter)]
    candidates: list[np.ndarray] = []
    for names in CANDIDATES.get(counter, ()):
        first, *others = (plan.count_of_unit(count) for count in names)  # None where the policy read no traces
        if first is not None:
            candidates.append(first - sum(other for other in others if other is not None))
    if counter in OF_MODEL and counter in predictions and plan.first_phase is None:
        candidates.append(np.where(np.asarray(plan.design.labels) < 0, np.nan, predictions[counter]))
    for counts in candidates:
        unread = np.isnan(counts[units])
        counts[units[unread]] = values[unread]
        compared = ~unread & ~np.isin(units, list(projected))
        agrees = compared.any() and np.array_equal(counts[units[compared]], values[compared])
        if agrees and not np.isnan(counts).any():
            return counts
    return None


def with_exact(look: Look, totals: Mapping[str, float]) -> Look:
    """Replace estimated totals of an interim analysis (end of a round of sampling) by those that the traces determine, and
    compute ratios again.

    Model: if one total of a ratio is exact, the relative half-width of the ratio is that of the other total.
    """
    if not totals:
        return look
    estimates = {
        name: one.moved(totals[name], 0.0, std_error=0.0, computed_half_width=0.0) if name in totals else one
        for name, one in look.estimates.items()
    }
    ratios = dict(look.ratios)
    for name, ratio in look.ratios.items():
        above, below = (estimates[counter] for counter in RATIOS[name])
        if {above.counter, below.counter} & set(totals) and below.estimate:
            ratios[name] = replace(above / below, counter=name, simulated=ratio.simulated)
    return replace(look, estimates=estimates, ratios=ratios)


def with_grids(look: Look, plan: Plan, has_result: np.ndarray) -> Look:
    """Add the numbers of CTAs and warps of all launches to an interim analysis (end of a round of sampling), if traces give
    them and the simulator does not report them.

    Args:
        look: interim analysis.
        plan: plan of the run.
        has_result: bool [N], True for simulated launches.
    """
    counts = {name: plan.count_of_unit(name) for name in GRID if name not in look.estimates}
    grids = {name: values for name, values in counts.items() if values is not None and not np.isnan(values).any()}
    if not grids or "cycles" not in look.estimates:
        return look
    confidence = look.estimates["cycles"].confidence
    exact = {
        name: Estimate.exact(values.sum(), counter=name, confidence=confidence, simulated=values @ has_result)
        for name, values in grids.items()
    }
    return replace(look, estimates={**look.estimates, **exact})
