"""Growth of the sample when the budget is not met: further draws of each stratum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kernelpoint.estimate import Estimate
from kernelpoint.estimation import constants
from kernelpoint.estimation.bounds import Kind
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints, Moments
from kernelpoint.estimation.strata.allocation import cheapest, neyman, sampling_factors
from kernelpoint.estimation.strata.inference import Inference
from kernelpoint.estimation.unseen import unseen_slow


def expected_means(last: Inference) -> Floats:
    """Expected mean of the budget's counter in each stratum, float64 [H] > 0, from the other strata of its cluster only, so
    that no stratum grows because of its own draws.

    Formula: xbar_h exp((sum_g l_g + lbar) / (k + 1)), over the k other strata g of the cluster that have draws: l_g =
    log(ybar_g / xbar_g), ybar and xbar the means of the counter and of the covariate (1 if there is none), lbar the mean of l
    over all other strata.
    """
    sample = last.sample
    y = np.abs(last.values[:, last.counters.index(last.counted)])
    mean = Moments.of(sample.strata, y, len(sample.N)).mean
    x = np.ones(len(sample.N)) if sample.X is None else sample.X / np.maximum(sample.N, 1)
    positive = x[x > 0.0]
    x = np.where(x > 0.0, x, positive.min() if len(positive) else 1.0)
    seen = (mean > 0.0) & (last.n > 0)
    level = np.where(seen, np.log(np.where(seen, mean, 1.0) / x), 0.0)
    count = int(sample.clusters.max(initial=0)) + 1
    sums, strata = (np.bincount(sample.clusters, weights=v, minlength=count)[sample.clusters] for v in (level, seen))
    others, others_seen = sums - level, strata - seen
    overall = (level.sum() - level) / np.maximum(seen.sum() - seen, 1)
    return np.asarray(x * np.exp((others + overall) / (others_seen + 1.0)))


def next_sizes(last: Inference, look: Look) -> tuple[Ints, Kind]:
    """Sample sizes for the next pass (round of sampling), and the kind of the pass: "sized" if it should meet the budget,
    "learning" if growth is limited because spreads are uncertain.

    A budget may have several targets; each stratum gets the largest size that an unmet target needs (Cochran 1977, section
    5A.4).

    Args:
        last: the last interim analysis, with the budget that is left for sampling.
        look: its estimates.

    Returns:
        int64 [H], size of the sample of each stratum, no smaller than now; the kind.
    """
    targets = [(replace(last, budget=one), look.by_name[one.counter]) for one in last.budget.each()]
    unmet = [(of, estimate) for of, estimate in targets if not estimate.meets(of.budget.relative_error)]
    sizes, kinds = zip(*(_sizes_of_target(*target) for target in unmet or targets), strict=True)
    return np.maximum.reduce(sizes), "learning" if "learning" in kinds else "sized"


def _sizes_of_target(last: Inference, estimate: Estimate) -> tuple[Ints, Kind]:
    """`next_sizes` for a budget with one target.

    The least size of a stratum is the largest of

    - 1 and the present size;
    - a share / eps: a is the relative deviation that is assumed of an undrawn launch, `share` the stratum's share of the total,
      eps the error budget. One undrawn launch that deviates by a does not break the budget then;
    - if launches may be slow (`Design.slow_excess`), the size with which slow launches that the sample misses do not break the
      budget (`unseen_slow`). A draw costs the mean cycles of its stratum's draws, or the mean of the budget's counter if no
      cycles are reported; in a stratum without draws, the mean cost of the others.

    Neyman allocation over all strata jointly, as if all of a kind had one CoV. The variance allowed is (margin eps that /
    t)^2, t the quantile of the next look at the degrees of freedom expected there (Satterthwaite, with nu_0 + n_h - 1 for
    each stratum), and margin 1 / SIZING_MARGIN. In the early passes no stratum grows by more than MAX_GROWTH_FACTOR: where
    one would have to, its spread is still a guess from few draws (or from other strata), and a pass that first learns it is
    cheaper than one sized for the guess. Such a pass is "learning", any other "sized". In later ones the margin is raised to
    the first power that adds MIN_GROWTH_FACTOR of what is spent: with smaller steps a run reaches the last pass, which
    simulates everything.
    """
    N, eps = last.sample.N, last.budget.relative_error
    if len(last.looks) >= constants.MOST_LOOKS - 1:
        return N.copy(), "sized"
    if math.isnan(estimate.estimate) or (estimate.estimate == 0.0 and not estimate.meets(0.0)):
        return N.copy(), "sized"  # a ratio over nothing but zeros, or nothing but zeros: the spread is not known at all
    payer = last.counters.index("cycles" if "cycles" in last.counters else last.counted)
    drawn = np.abs(Moments.of(last.sample.strata, last.values[:, payer], len(N)).mean)
    above = drawn[drawn > 0.0]
    cost = np.where(last.n > 0, np.maximum(drawn, above.min()), above.mean()) if len(above) else np.ones(len(N))
    share = last.shares_of_target(estimate.estimate)
    least = np.ceil(last.outlier_allowances(last.counters.index(last.counted)) * share / eps)
    low = np.minimum(np.maximum(least, np.maximum(last.n, 1)), N).astype(np.int64)
    if last.sample.slow_excess:
        alpha, missed = 1.0 - last.budget.confidence, eps / last.sample.slow_excess

        def enough(n: Floats) -> bool:
            return unseen_slow(N, np.floor(n + 1e-9).astype(np.int64), share, alpha) <= missed

        low = np.floor(cheapest(N / cost, low, N, enough) + 1e-9).astype(np.int64)
    spread, following = last.target_spread(), (*last.looks, "sized")
    mean = expected_means(last)
    allowed = eps * abs(estimate.estimate)
    if last.budget.counter in last.ranges:  # what a range states beyond t SE falls with it
        error = math.sqrt(float(sampling_factors(N, last.n) @ spread.S2))
        allowed *= last.quantile(estimate.degrees_of_freedom) * error / estimate.half_width

    def sized(margin: float) -> Ints:
        """Sample sizes that should meet the budget at the next interim analysis, without a limit on the step."""
        if estimate.meets(eps):
            return low
        n, t = low, last.quantile(max(estimate.degrees_of_freedom, 1.0), following)
        for _ in range(2):  # t depends on the sizes through its degrees of freedom
            exact = neyman(N, spread.S2, mean, (margin * allowed / t) ** 2, low, spread.pooled * mean * mean)
            n = np.ceil(exact - 1e-9).astype(np.int64)
            v = sampling_factors(N, n) * spread.S2
            below = float((v * v / (constants.PRIOR_DEGREES + n - 1.0)).sum())
            t = last.quantile(max(float(v.sum()) ** 2 / below if below > 0.0 else math.inf, 1.0), following)
        return n

    margin = 1.0 / constants.SIZING_MARGIN
    sizes = wanted = sized(margin)
    if len(last.looks) <= constants.EARLY_PASSES:
        sizes = np.minimum(wanted, np.maximum(np.where(last.n > 0, constants.MAX_GROWTH_FACTOR * last.n, 1), low))
    else:
        at_least = min(constants.MIN_GROWTH_FACTOR * float(last.n @ cost), float(sized(0.0) @ cost))
        while float(sizes @ cost) < at_least:
            margin /= constants.SIZING_MARGIN
            sizes = wanted = sized(margin)
    kind: Kind = "sized" if (sizes == wanted).all() else "learning"
    return (np.minimum(sizes + 1, N) if (sizes == last.n).all() else sizes), kind
