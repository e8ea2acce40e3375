"""Rules that turn the last interim analysis into the results that a run states, in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kernelpoint.estimation import Engine, Look
from kernelpoint.planning.plan import Plan
from kernelpoint.totals.exact import with_exact, with_grids
from kernelpoint.totals.identities import with_active_cycles, with_identities
from kernelpoint.totals.limits import with_limits
from kernelpoint.totals.proportional import with_proportional


def stated(
    look: Look,
    engine: Engine,
    plan: Plan,
    exact: Mapping[str, float],
    targets: Collection[str],
    latency: int,
    projected: set[int],
) -> Look:
    """Apply all rules for totals, in order, to the estimates at the end of a round of sampling. The run reports the result.

    Args:
        look: interim analysis.
        engine: engine with the results.
        plan: plan of the run.
        exact: totals that the traces determine (`exact_values`), by counter.
        targets: counters and ratios of the error budget.
        latency: sum of the constant launch latencies of all launches, in cycles.
        projected: indices of launches whose results are projections.
    """
    # Active cycles first: cycles and active cycles differ by a constant, so no later rule moves one of them alone.
    look = with_active_cycles(look, latency, targets)
    # Exact totals before all that is estimated: what traces determine needs no other source.
    look = with_exact(look, exact)
    # Totals in proportion behind what is exact, which stays. They take the half-width of cycles.
    look = with_proportional(look, engine, plan, {*exact, *targets})
    # Identities behind every rule that moves an estimate: they make estimates agree, and a later move would part them again.
    look = with_identities(look, engine, targets)
    # Limits behind identities, which may give a half-width to a counter that had none.
    look = with_limits(look, engine, plan, projected, targets)
    # Grids last: CTAs and warps that the host does not report are in no identity.
    return with_grids(look, plan, engine.results.rows >= 0)
