"""Strata from facts known without simulation: the cheapest partition by nested labels, and the first draws of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.numbering import number_labels
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.strata.allocation import cheapest, neyman
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.unseen import unseen_slow
from kernelpoint.randomness import generator


class _Level(NamedTuple):
    """Cells of one level of nested labels: the cell of each unit, int32 [N]; of each cell its parent, number of units and
    expected total.
    """

    of_unit: NDArray[np.int32]
    parent: Ints
    units: Ints
    total: Floats


def partition(
    levels: Sequence[NDArray[np.integer]], spreads: Sequence[float], expected: Floats, standard_error: float
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Divide launches into strata by nested labels, so that a sample with the given standard error costs least.

    Method: cost-complexity pruning (Breiman et al. 1984, chapter 3). Cells are the groups of launches with equal labels at one
    level. A cell is one stratum, or is split into its cells of the next level, whichever has the least cost + p variance; the
    price p is found by bisection. A cell of N launches with expected total T, mean T / N and coefficient of variation (CoV)
    needs n = clip(T CoV sqrt(p / mean), 1, N) draws, at the cost n mean, with the variance T^2 CoV^2 (1 / n - 1 / N).

    Args:
        levels: int [N] each: label of each launch, from coarse to fine.
        spreads: CoV that is expected inside a cell, for each level.
        expected: float64 [N], expected value of each launch.
        standard_error: standard error of the total, relative to the total.

    Returns:
        int32 [N], stratum of each launch; float64 [H], expected total of each stratum; float64 [H], its expected CoV.

    >>> coarse, fine = np.zeros(90, int), np.arange(90) // 45
    >>> [len(partition([coarse, fine], (spread, 0.02), np.ones(90), 0.01)[1]) for spread in (0.02, 0.5)]
    [1, 2]
    """
    tree: list[_Level] = []
    above = np.zeros(len(expected), np.int32)
    for labels in levels:
        label = number_labels(labels)
        first, cell = number_labels(above.astype(np.int64) * max(len(label.first), 1) + label.number)
        units = np.bincount(cell, minlength=len(first)).astype(np.int64)
        total = np.bincount(cell, weights=expected, minlength=len(first)).astype(float)
        tree.append(_Level(cell, above[first].astype(np.int64), units, total))
        above = cell
    T = float(tree[0].total.sum())

    def chosen_at(price: float) -> tuple[list[NDArray[np.bool_]], float]:
        """Cells of each level that are strata, and the variance of the total."""
        whole: list[NDArray[np.bool_]] = []  # from the innermost level outwards
        variances: list[Floats] = []
        below = np.empty(0)
        for depth in range(len(tree) - 1, -1, -1):
            level = tree[depth]
            mean, weight = level.total / level.units, (level.total * spreads[depth]) ** 2
            n = np.clip(np.sqrt(price * weight / mean), 1.0, level.units)
            variance = weight * (1.0 / n - 1.0 / level.units)
            cost, split = n * mean + price * variance, np.full(len(n), np.inf)
            if whole:
                split = np.bincount(tree[depth + 1].parent, weights=below, minlength=len(n))
            whole.append(split * (1.0 + 1e-12) >= cost)
            below = np.where(whole[-1], cost, split)
            variances.append(variance)
        strata, open_ = [], np.ones(1, bool)
        for level, one in zip(tree, reversed(whole), strict=True):
            open_ = open_[level.parent]  # no cell above it is a stratum
            strata.append(open_ & one)
            open_ = open_ & ~one
        return strata, float(sum(v[s].sum() for v, s in zip(reversed(variances), strata, strict=True)))

    low, high = (math.log(1e-12 / T), math.log(1e12 / T)) if T > 0.0 else (0.0, 0.0)  # T = 0: no unit is left to chance
    strata = chosen_at(math.exp(high))[0]
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        trial, variance = chosen_at(math.exp(middle))
        if variance <= (standard_error * T) ** 2:
            strata, high = trial, middle
        else:
            low = middle
    result = np.full(len(expected), -1, np.int32)
    count = 0
    for level, kept in zip(tree, strata, strict=True):
        number = np.full(len(kept), -1, np.int32)
        number[kept] = count + np.arange(kept.sum())
        np.maximum(result, number[level.of_unit], out=result)  # only one level has a stratum for a unit
        count += int(kept.sum())
    totals = np.concatenate([level.total[kept] for level, kept in zip(tree, strata, strict=True)])
    return result, totals, np.repeat(spreads, [int(kept.sum()) for kept in strata]).astype(float)


@dataclass(frozen=True)
class Stratification:
    """Strata of a design, without a sample: all that does not depend on the seed.

    Attributes:
        frame: design of the strata, without sample sizes and random numbers.
        total: float64 [H], expected total of each stratum.
        spread: float64 [H], expected coefficient of variation in each stratum.
        budget: error allowed.
    """

    frame: Design
    total: Floats
    spread: Floats
    budget: ErrorBudget

    def design(self, u: Floats, seed: int = 0) -> Design:
        """Make the design of a sample. First sample sizes, rounded up or down at random, are expected to meet the error budget
        eps. The size of a stratum is at least

        - 1, and, with probability SECOND_DRAW_PROBABILITY or more, 2: the variance in strata with one sampled launch is
          estimated from strata with two, which are so chosen at random;
        - a share / eps: a is `Design.allowance`, the relative deviation that is assumed of an undrawn launch, and `share` the
          stratum's share of the total. One undrawn launch that deviates by a does not break the budget then;
        - large enough that slow launches that the sample misses (`Design.slow_excess`) do not break the budget.

        Args:
            u: float64 [N], random number of each launch, in [0, 1).
            seed: seed of the second draws.
        """
        budget, total, N = self.budget, self.total, self.frame.sizes
        T, eps, alpha = max(float(total.sum()), 1e-300), budget.relative_error, 1.0 - budget.confidence
        mean = np.maximum(total / np.maximum(N, 1), 1e-300)
        allowed = (eps * T / two_sided(alpha, math.inf)) ** 2
        sized = neyman(N, (mean * self.spread) ** 2, mean, allowed, np.ones(len(N)))
        wanted = np.maximum(
            np.maximum(sized, 1.0 + constants.SECOND_DRAW_PROBABILITY), np.ceil(self.frame.allowance * total / T / eps)
        )
        chance = generator(seed, "second draws").random(len(N))

        def rounded(n: Floats) -> Ints:
            return np.minimum(np.floor(n + chance + 1e-9), N).astype(np.int64)

        def enough(n: Floats) -> bool:
            return unseen_slow(N, rounded(n), total / T, alpha) <= eps / max(self.frame.slow_excess, 1e-300)

        return replace(self.frame, first_sizes=rounded(cheapest(N / np.sqrt(mean), wanted, N, enough)), u=u)


def stratify(
    levels: Sequence[NDArray[np.integer]],
    budget: ErrorBudget,
    *,
    spreads: Sequence[float],
    expected: Floats | None = None,
    x: Floats | None = None,
    cluster: NDArray[np.integer] | None = None,
    take_all: NDArray[np.integer] | None = None,
    allowance: float | None = None,
    slow_excess: float = 0.0,
    design_error: float | None = None,
) -> Stratification:
    """Divide launches into strata by nested labels that are known without simulation; labels that do not pay are merged
    (`partition`).

    Args:
        levels: int [N] each: label of each launch, from coarse to fine: its kernel and shape, then also those of its
            neighbours, ...
        budget: error allowed.
        spreads: coefficient of variation that is expected inside a cell (launches with equal labels), for each level.
        expected: float64 [N], expected value of each launch up to a factor, above 0; None: all equal.
        x: float64 [N], covariate (work); None: there is none.
        cluster: int [N], cluster of each launch, equal for launches with the same coarsest label; None: one cluster.
        take_all: indices of launches that are always simulated.
        allowance, slow_excess: as in `Design`.
        design_error: relative error for which strata, but not their sample sizes, are made; None: that of `budget`.

    Raises:
        ConfigError: the number of spreads is not the number of levels.

    >>> signature = np.arange(600) % 3
    >>> finer = signature + 3 * (np.arange(600) % 599 == 0)  # the first and the last stand between other neighbours
    >>> strata = stratify([signature, finer], ErrorBudget(0.05), spreads=(1.5, 0.05))
    >>> design = strata.design(np.random.default_rng(0).random(600))
    >>> len(design.first_sizes), int(design.sizes.sum())
    (5, 600)
    """
    N = len(levels[0])
    if len(spreads) != len(levels):
        raise ConfigError(
            f"spreads: got {len(spreads)} values for {len(levels)} levels of clusters; give one coefficient of variation for "
            "each level"
        )
    expected = np.ones(N) if expected is None else expected
    free = np.ones(N, bool)
    if take_all is not None:
        free[take_all] = False
    strata = np.full(N, -1, np.int32)
    standard_error = (design_error or budget.relative_error) / two_sided(1.0 - budget.confidence, math.inf)
    strata[free], total, spread = partition([np.asarray(v)[free] for v in levels], spreads, expected[free], standard_error)
    clusters = None
    if cluster is not None:
        clusters = np.zeros(len(total), np.int64)
        clusters[strata[free]] = np.asarray(cluster)[free]
    allowance = constants.OUTLIER_ALLOWANCE if allowance is None else allowance
    none = np.zeros(len(total), np.int64)
    frame = Design(strata, none, np.zeros(N), x, clusters, balanced=True, allowance=allowance, slow_excess=slow_excess)
    return Stratification(frame, total, spread, budget)
