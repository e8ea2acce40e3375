"""Growth of the sample when the budget is not met: further draws of each stratum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.bounds import Kind
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.strata.allocation import cheapest, neyman
from kernelpoint.estimation.strata.inference import Inference
from kernelpoint.estimation.strata.influence import outlier_allowances
from kernelpoint.estimation.strata.stratify import least_draws
from kernelpoint.estimation.strata.variance import sampling_factors
from kernelpoint.estimation.unseen import unseen_slow


def draw_cost(look: Inference, prior: Floats | None) -> Floats:
    """Cost of one draw in each stratum, float64 [H] > 0: mean simulated cycles, or mean of the budget's counter.

    Strata without a draw take the prior scaled to the others, or their mean.
    """
    names = look.targets.counters
    index = names.index("cycles" if "cycles" in names else look.targets.counted)
    mean = np.abs(Moments.of(look.sample.strata, look.values[:, index], len(look.sample.N)).mean)
    seen = mean > 0.0
    if not seen.any():
        return np.ones(len(mean)) if prior is None else prior
    least_cost = mean[seen].min()
    if prior is None:
        return np.where(look.n > 0, np.maximum(mean, least_cost), mean[seen].mean())
    return np.where(look.n > 0, np.maximum(mean, least_cost), prior * mean[seen].sum() / prior[seen].sum())


def expected_means(look: Inference) -> Floats:
    """Expected mean of every stratum from the other strata of its cluster, float64 [H] > 0; never from its own draws.

    Formula: xbar_h exp((sum_g l_g + lbar) / (k + 1)), l_g = log(ybar_g / xbar_g) over the k other strata of the cluster that
    have draws, lbar the mean of l over all other strata; xbar is 1 without a covariate.
    """
    sample, targets = look.sample, look.targets
    y = np.abs(look.values[:, targets.counters.index(targets.counted)])
    mean = Moments.of(sample.strata, y, len(sample.N)).mean
    x = np.ones(len(sample.N)) if sample.X is None else sample.X / np.maximum(sample.N, 1)
    positive = x[x > 0.0]
    x = np.where(x > 0.0, x, positive.min() if len(positive) else 1.0)
    seen = (mean > 0.0) & (look.n > 0)
    level = np.where(seen, np.log(np.where(seen, mean, 1.0) / x), 0.0)
    count = int(sample.clusters.max(initial=0)) + 1
    sums, strata = (np.bincount(sample.clusters, weights=v, minlength=count)[sample.clusters] for v in (level, seen))
    others, others_seen = sums - level, strata - seen
    overall = (level.sum() - level) / np.maximum(seen.sum() - seen, 1)
    return np.asarray(x * np.exp((others + overall) / (others_seen + 1.0)))


def expected_degrees(look: Inference, S2: Floats, n: Ints) -> float:
    """Degrees of freedom that a sample of sizes n should give to the total: Satterthwaite with nu_0 + n_h - 1 each."""
    v = sampling_factors(look.sample.N, n) * S2
    below = (v * v / (constants.PRIOR_DEGREES + n - 1.0)).sum()
    return float(v.sum() ** 2 / below) if below > 0.0 else np.inf


def next_sizes(look: Inference, prior_cost: Floats | None) -> tuple[Ints, Kind]:
    """Sample sizes n_h for the next pass (int64 [H], never smaller than now), and the kind of pass.

    Each stratum gets the draws of the target that needs most of them there (Cochran 1977, section 5A.4).
    """
    targets = look.each()
    unmet = [target for target in targets if not target.budgeted().meets(target.targets.budget.relative_error)]
    found = [_sizes_of_target(target, prior_cost) for target in unmet or targets]
    sizes = np.maximum.reduce([sizes for sizes, _ in found])
    return sizes, "learning" if any(kind == "learning" for _, kind in found) else "sized"


def _sizes_of_target(look: Inference, prior_cost: Floats | None) -> tuple[Ints, Kind]:
    """`next_sizes` for a budget with one target.

    Neyman allocation over all strata jointly. The variance allowed is (margin * eps * that / t)^2, t the
    quantile of the next look at the degrees of freedom expected there, and margin 1 / SIZING_MARGIN. In the early passes no
    stratum grows by more than MAX_GROWTH_FACTOR: where one would have to, its spread is still a guess from few draws (or from
    other strata), and a pass that first learns it is cheaper than one sized for the guess. Such a pass is "learning", any
    other "sized". In later ones the margin is raised to the first power that adds MIN_GROWTH_FACTOR of what is spent: with
    smaller steps a run reaches the last pass, which simulates everything.
    """
    cost = draw_cost(look, prior_cost)
    N, low = look.sample.N, minimum_sizes(look, cost)
    looks = len(look.targets.looks)
    if looks >= constants.PASSES - 1:
        return N.copy(), "sized"
    margin = 1.0 / constants.SIZING_MARGIN
    sizes = wanted = _sizes(look, cost, low, margin)
    if looks <= constants.EARLY_PASSES:
        sizes = np.minimum(wanted, np.maximum(np.where(look.n > 0, constants.MAX_GROWTH_FACTOR * look.n, 1), low))
    else:
        everything = _sizes(look, cost, low, 0.0)
        least = min(constants.MIN_GROWTH_FACTOR * float((look.n * cost).sum()), float((everything * cost).sum()))
        while float((wanted * cost).sum()) < least:
            margin /= constants.SIZING_MARGIN
            sizes = wanted = _sizes(look, cost, low, margin)
    kind: Kind = "sized" if (sizes == wanted).all() else "learning"
    return (np.minimum(sizes + 1, N) if (sizes == look.n).all() else sizes), kind


def minimum_sizes(look: Inference, cost: Floats) -> Ints:
    """Smallest sample size of each stratum when the sample grows, int64 [H].

    It is the largest of one, the present size, and least_draws. Where units may be slow, the sizes are raised until slow units
    are drawn, or too few are left to break the budget (unseen_slow).

    Args:
        cost: float64 [H], cost of one draw.
    """
    budget, share = look.targets.budget, look.shares_of_target()
    index = look.targets.counters.index(look.targets.counted)
    N, eps, allowance = look.sample.N, budget.relative_error, outlier_allowances(look.sample, look.values[:, index])
    low = np.minimum(np.maximum(np.ceil(least_draws(share, eps, allowance)), np.maximum(look.n, 1)), N).astype(np.int64)
    if not look.sample.slow_excess:
        return low
    alpha, allowed = 1.0 - budget.confidence, eps / look.sample.slow_excess
    return cheapest(
        low.astype(float),
        N,
        cost,
        lambda n: unseen_slow(N, n, share, alpha) <= allowed,
        power=1.0,
    )


def _sizes(look: Inference, cost: Floats, low: Ints, margin: float) -> Ints:
    """Sample sizes that should meet the budget at the next interim analysis, without a limit on the step."""
    budget, N = look.targets.budget, look.sample.N
    estimate = look.budgeted()
    if math.isnan(estimate.estimate) or (estimate.estimate == 0.0 and not estimate.meets(0.0)):
        return N.copy()  # a ratio over nothing but zeros, or nothing but zeros: the spread is not known at all
    if estimate.meets(budget.relative_error):
        return low.copy()
    spread = look.target_spread(budget.counter)
    S2, mean = spread.S2, expected_means(look)
    shared = (spread.pooled * mean * mean, mean)  # Neyman's shares under one CoV for all strata
    following = replace(look.targets, looks=(*look.targets.looks, "sized"))
    allowed = margin * budget.relative_error * abs(estimate.estimate)
    t = following.quantile(max(estimate.degrees_of_freedom, 1.0))
    if budget.counter in look.ranges:  # what a range states beyond t SE falls with it
        error = math.sqrt(float((sampling_factors(N, look.n) * S2).sum()))
        allowed *= look.targets.quantile(estimate.degrees_of_freedom) * error / estimate.half_width
    for _ in range(2):  # t depends on the sizes through its degrees of freedom
        sizes = neyman(N, S2, cost, (allowed / t) ** 2, low, shared)
        t = following.quantile(max(expected_degrees(look, S2, sizes), 1.0))
    return sizes
