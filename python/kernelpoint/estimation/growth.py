"""How many more draws each stratum gets when the budget is not met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelpoint.estimation import variance
from kernelpoint.estimation.allocation import neyman
from kernelpoint.estimation.inference import Inference
from kernelpoint.estimation.moments import Floats, Ints, Moments

MAX_GROWTH = 3.0  # a pass may multiply the cost simulated so far by at most this: early variances are rough
MARGIN = 0.95  # passes are sized for this share of the budget, so that a further attempt is seldom needed


def draw_cost(look: Inference, prior: Floats | None) -> Floats:
    """Cost of one draw per stratum, float64 [H] > 0: mean simulated cycles (without that counter, the budget's).

    Strata without a draw take the prior scaled to the others, or their mean.
    """
    names = look.targets.counters
    index = names.index("cycles") if "cycles" in names else names.index(look.targets.budget.counter)
    mean = np.abs(Moments.of(look.sample.strata, look.values[:, index], len(look.sample.N)).mean)
    seen = mean > 0.0
    if not seen.any():
        return np.ones(len(mean)) if prior is None else prior
    floor = mean[seen].min()
    if prior is None:
        return np.where(look.n > 0, np.maximum(mean, floor), mean[seen].mean())
    return np.where(look.n > 0, np.maximum(mean, floor), prior * mean[seen].sum() / prior[seen].sum())


def expected_degrees(look: Inference, S2: Floats, n: Ints) -> float:
    """Degrees of freedom that a sample of sizes n can be expected to give: Satterthwaite with nu_0 + n_h - 1 each."""
    N = look.sample.N
    A = np.where(n < N, N.astype(float) ** 2 * (1.0 - n / np.maximum(N, 1)) / np.maximum(n, 1), 0.0)
    v = A * S2
    below = (v * v / np.maximum(variance.PRIOR_DEGREES + n - 1.0, 0.5)).sum()
    return float(v.sum() ** 2 / below) if below > 0.0 else np.inf


def next_sizes(look: Inference, prior_cost: Floats | None) -> Ints:
    """Sizes n_h (effective draws, int64 [H], never below those of the look) sized for MARGIN of the budget at the next look.

    Neyman allocation over all strata of a group jointly, the group being the workload or, in scope "cluster", each
    cluster that has not met the budget. The variance allowed is (MARGIN * eps * that / t)^2, t the quantile of the next
    look at the degrees of freedom expected there. Every stratum gets at least one draw.
    """
    budget = look.targets.budget
    index = look.targets.counters.index(budget.counter)
    S2, cost, N = look.spreads[index].S2, draw_cost(look, prior_cost), look.sample.N
    low = np.minimum(np.maximum(look.n, 1), N)
    spent = float((look.n * cost).sum()) + float(cost.mean())
    following = replace(look.targets, look=look.targets.look + 1)
    by_cluster = budget.scope == "cluster"
    groups = look.sample.clusters if by_cluster else np.zeros(len(N), np.int64)
    sizes = low.copy()
    for group, estimate in enumerate(look.budgeted()):
        if estimate.relative_half_width <= budget.relative_error:
            continue
        part = np.flatnonzero(groups == group)
        allowed = MARGIN * budget.relative_error * abs(estimate.estimate)
        t = following.quantile(max(estimate.degrees_of_freedom, 1.0))
        for _ in range(3):
            sizes[part] = neyman(N[part], S2[part], cost[part], (allowed / t) ** 2, low[part], MAX_GROWTH * spent)
            t = following.quantile(max(expected_degrees(look, np.where(groups == group, S2, 0.0), sizes), 1.0))
    if (sizes == low).all() and (sizes == look.n).all():  # rounding left no room: one more draw wherever there is one
        sizes = np.minimum(low + (S2 > 0.0), N)
    return np.where((sizes == look.n).all(), np.minimum(sizes + 1, N), sizes)
