"""Partitions of a population from nested labels: the cheapest that is expected to meet an error budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.numbering import number_labels
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.strata.allocation import bisect


@dataclass(frozen=True)
class Level:
    """Cells of one level of a nested partition.

    Attributes:
        of_unit: int32 [N], cell of each unit.
        parent: int64 [C], cell of the level above.
        units: int64 [C], units of each cell.
        total: float64 [C], expected total of each cell.
    """

    of_unit: NDArray[np.int32]
    parent: Ints
    units: Ints
    total: Floats


def nested_levels(levels: Sequence[NDArray[np.integer]], expected: Floats) -> list[Level]:
    """Build nested partitions: level k has one cell for each distinct (label_0 ... label_k).

    >>> [cells.units.tolist() for cells in nested_levels([np.array([0, 0, 1]), np.array([5, 6, 5])], np.ones(3))]
    [[2, 1], [1, 1, 1]]
    """
    result: list[Level] = []
    above = np.zeros(len(expected), np.int32)
    for labels in levels:
        label = number_labels(labels)
        first, cell = number_labels(above.astype(np.int64) * max(len(label.first), 1) + label.number)
        units = np.bincount(cell, minlength=len(first)).astype(np.int64)
        result.append(
            Level(
                cell,
                above[first].astype(np.int64),
                units,
                np.bincount(cell, weights=expected, minlength=len(first)).astype(float),
            )
        )
        above = cell
    return result


@dataclass(frozen=True)
class Pruned:
    """Partition chosen from nested cells.

    Attributes:
        strata: int32 [N], stratum of each unit.
        total: float64 [H], expected total.
        spread: float64 [H], expected CoV.
    """

    strata: NDArray[np.int32]
    total: Floats
    spread: Floats


def _costs(cells: Level, spread: float, price: float) -> tuple[Floats, Floats]:
    """Best sample size of every cell for a given price of variance, and the cost: draws plus price times variance."""
    mean = cells.total / cells.units
    weight = (cells.total * spread) ** 2
    n = np.clip(np.sqrt(price * weight / mean), 1.0, cells.units)
    return n, n * mean + price * weight * (1.0 / n - 1.0 / cells.units)


@dataclass(frozen=True)
class _Choice:
    """Partition at a price of variance: of each level, best size of every cell, and the cells that become strata (bool)."""

    sizes: list[Floats]
    chosen: list[NDArray[np.bool_]]

    def variance(self, levels: Sequence[Level], spreads: Sequence[float]) -> float:
        """Expected variance of the total, sum over strata of T^2 CoV^2 (1 / n - 1 / N)."""
        parts = zip(levels, spreads, self.sizes, self.chosen, strict=True)
        return float(
            sum(((c.total * spread) ** 2 * (1.0 / n - 1.0 / c.units))[kept].sum() for c, spread, n, kept in parts)
        )


def _choose(levels: Sequence[Level], spreads: Sequence[float], price: float) -> _Choice:
    """Choose the cells that become strata, for a given price of variance, from the innermost level outwards.

    Cost-complexity pruning (Breiman et al. 1984, chapter 3) gives the partition with the least expected
    cost + price * variance. Each cell is either one stratum, with n = clip(T CoV sqrt(price / mean), 1, N) draws of cost `mean`
    and variance T^2 CoV^2 (1 / n - 1 / N), or is split into its children. T is the cell's expected total, CoV the spread
    expected at its level: a split pays where the children's draws cost less than the variance they save.
    """
    sizes: list[Floats] = []
    keep: list[NDArray[np.bool_]] = []
    below: Floats | None = None
    for level in range(len(levels) - 1, -1, -1):
        n, cost = _costs(levels[level], spreads[level], price)
        if below is None:
            whole = np.ones(len(n), bool)
            below = cost
        else:
            children = np.bincount(levels[level + 1].parent, weights=below, minlength=len(n))
            whole = children * (1.0 + 1e-12) >= cost
            below = np.where(whole, cost, children)
        sizes.insert(0, n)
        keep.insert(0, whole)
    chosen = []
    free = np.ones(1, bool)
    for table, whole in zip(levels, keep, strict=True):
        free = free[table.parent]  # no cell above it is a stratum
        chosen.append(free & whole)
        free = free & ~whole
    return _Choice(sizes, chosen)


def _partition(levels: Sequence[Level], spreads: Sequence[float], chosen: Sequence[NDArray[np.bool_]]) -> Pruned:
    strata = np.full(len(levels[0].of_unit), -1, np.int32)
    totals, spread_of = [], []
    count = 0
    for table, spread, kept in zip(levels, spreads, chosen, strict=True):
        number = np.full(len(kept), -1, np.int32)
        number[kept] = count + np.arange(kept.sum())
        np.maximum(strata, number[table.of_unit], out=strata)  # only one level has a stratum for a unit
        count += int(kept.sum())
        totals.append(table.total[kept])
        spread_of.append(np.full(int(kept.sum()), spread))
    return Pruned(strata, np.concatenate(totals), np.concatenate(spread_of))


def prune_to_budget(levels: Sequence[Level], spreads: Sequence[float], budget: ErrorBudget) -> Pruned:
    """Choose the cheapest partition that should meet the budget, by bisection on the price of variance."""
    T = float(levels[0].total.sum())
    if T <= 0.0:  # no unit is left to chance
        return _partition(levels, spreads, _choose(levels, spreads, 1.0).chosen)
    allowed = (budget.relative_error * T / two_sided(1.0 - budget.confidence, np.inf)) ** 2
    low, high = np.log(1e-12 / T), np.log(1e12 / T)
    result = _choose(levels, spreads, float(np.exp(high)))
    for _ in range(40):
        middle = 0.5 * (low + high)
        trial = _choose(levels, spreads, float(np.exp(middle)))
        if trial.variance(levels, spreads) <= allowed:
            result, high = trial, middle
        else:
            low = middle
    return _partition(levels, spreads, result.chosen)


def sized_for(pruned: Pruned, budget: ErrorBudget) -> Floats:
    """Sample sizes of a partition, float64 [H] from 1 to N_h, that should meet a budget at the least cost.

    >>> pruned = Pruned(np.repeat(np.arange(2), 50), np.array([50.0, 50.0]), np.array([0.1, 0.4]))
    >>> [sized_for(pruned, ErrorBudget(eps)).round(1).tolist() for eps in (0.5, 0.05)]
    [[1.0, 1.0], [8.3, 33.3]]
    """
    N = np.bincount(pruned.strata, minlength=len(pruned.total))
    weight = (pruned.total * pruned.spread) ** 2
    allowed = (budget.relative_error * pruned.total.sum() / two_sided(1.0 - budget.confidence, np.inf)) ** 2
    best = np.sqrt(weight * N / np.maximum(pruned.total, 1e-300))  # shares of the draws

    def enough(scale: float) -> bool:
        return bool((weight * (1.0 / np.clip(scale * best, 1.0, N) - 1.0 / N)).sum() <= allowed)

    most = float((N[best > 0.0] / best[best > 0.0]).max(initial=1e-300))  # every stratum that varies is drawn whole
    return np.clip(bisect(1e-9 * most, most, enough) * best, 1.0, N)
