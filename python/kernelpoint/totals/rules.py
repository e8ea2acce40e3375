"""Rules that turn the last interim analysis into the results that a run states, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation import Engine, Look
from kernelpoint.planning.plan import Plan
from kernelpoint.totals.exact import with_exact, with_grids
from kernelpoint.totals.identities import with_active_cycles, with_identities
from kernelpoint.totals.limits import with_limits
from kernelpoint.totals.proportional import with_proportional


@dataclass(frozen=True)
class Basis:
    """Inputs of the rules that change the estimates of an interim analysis (end of a round of sampling).

    Attributes:
        engine: engine with the results.
        plan: plan of the run.
        has_result: bool [N], True for simulated launches.
        exact: totals that the traces determine (`exact_values`), by counter.
        targets: counters and ratios of the error budget.
        latency: sum of the constant launch latencies of all launches, in cycles.
        projected: units whose results are projections.
    """

    engine: Engine
    plan: Plan
    has_result: np.ndarray
    exact: Mapping[str, float]
    targets: Collection[str]
    latency: int
    projected: set[int]


Rule = Callable[[Look, Basis], Look]  # changes estimates of an interim analysis

RULES: tuple[Rule, ...] = (
    # Active cycles first: cycles and active cycles differ by a constant, so no later rule moves one of them alone.
    lambda look, basis: with_active_cycles(look, basis.latency, basis.targets),
    # Exact totals before all that is estimated: what traces determine needs no other source.
    lambda look, basis: with_exact(look, basis.exact),
    # Totals in proportion behind what is exact, which stays. They take the half-width of cycles.
    lambda look, basis: with_proportional(look, basis.engine, basis.plan, {*basis.exact, *basis.targets}),
    # Identities behind every rule that moves an estimate: they make estimates agree, and a later move would part them again.
    lambda look, basis: with_identities(look, basis.engine, basis.targets),
    # Limits behind identities, which may give a half-width to a counter that had none.
    lambda look, basis: with_limits(look, basis.engine, basis.plan, basis.projected, basis.targets),
    # Grids last: CTAs and warps that the host does not report are in no identity.
    lambda look, basis: with_grids(look, basis.plan, basis.has_result),
)


def stated(look: Look, basis: Basis) -> Look:
    """Apply all rules to an interim analysis (end of a round of sampling), in order; the result is what the run reports."""
    for rule in RULES:
        look = rule(look, basis)
    return look
