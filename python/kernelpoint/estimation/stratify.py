"""Strata made from what is known without simulating: how finely to split, and how many first draws each stratum gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.design import ErrorBudget
from kernelpoint.estimation.quantiles import two_sided

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREADS = (0.5, 0.12, 0.05)  # expected CoV within a cell of each level, coarse to fine
SECOND = 0.2  # least chance of a second draw
AMBITION = 1.0  # first sizes are those expected to meet the budget, times this


@dataclass(frozen=True)
class Cells:
    """The cells of one level: cell of each unit (int64 [N]), parent cell at the level above (int64 [C]), units, expected total."""

    of_unit: Ints
    parent: Ints
    units: Ints
    total: Floats


def nested_cells(levels: Sequence[NDArray[np.integer]], expected: Floats) -> list[Cells]:
    """Cells of every level, each level split by the labels of the next: level k holds the distinct (label_0 ... label_k).

    >>> [cells.units.tolist() for cells in nested_cells([np.array([0, 0, 1]), np.array([5, 6, 5])], np.ones(3))]
    [[2, 1], [1, 1, 1]]
    """
    result: list[Cells] = []
    above = np.zeros(len(expected), np.int64)
    for labels in levels:
        _, label = np.unique(labels, return_inverse=True)
        _, first, cell = np.unique(above * (label.max(initial=0) + 1) + label, return_index=True, return_inverse=True)
        units = np.bincount(cell, minlength=len(first)).astype(np.int64)
        result.append(
            Cells(cell, above[first], units, np.bincount(cell, weights=expected, minlength=len(first)).astype(float))
        )
        above = cell
    return result


@dataclass(frozen=True)
class Pruned:
    """A partition chosen from nested cells: stratum of each unit, and expected sizes (float, 1 ... N_h), total and CoV by stratum."""

    strata: Ints
    sizes: Floats
    total: Floats
    spread: Floats


def _costs(cells: Cells, spread: float, price: float) -> tuple[Floats, Floats]:
    """Best size of every cell at a price of variance, and its cost plus price times variance."""
    mean = cells.total / cells.units
    weight = (cells.total * spread) ** 2
    n = np.clip(np.sqrt(price * weight / mean), 1.0, cells.units)
    return n, n * mean + price * weight * (1.0 / n - 1.0 / cells.units)


def prune(cells: Sequence[Cells], spreads: Sequence[float], price: float) -> Pruned:
    """The partition with the least expected cost + price * variance, by cost-complexity pruning (Breiman et al. 1984, ch. 3).

    Each cell is either one stratum, with n = clip(T CoV sqrt(price / mean), 1, N) draws of cost `mean` and variance
    T^2 CoV^2 (1 / n - 1 / N), or is split into its children; children are decided before parents. T is the cell's
    expected total, CoV the spread expected at its level: a split pays where the children's draws cost less than the
    variance they save.
    """
    best_size: list[Floats] = []
    keep: list[NDArray[np.bool_]] = []
    below: Floats | None = None
    for level in range(len(cells) - 1, -1, -1):
        n, cost = _costs(cells[level], spreads[level], price)
        if below is None:
            whole = np.ones(len(n), bool)
            below = cost
        else:
            children = np.bincount(cells[level + 1].parent, weights=below, minlength=len(n))
            whole = children * (1.0 + 1e-12) >= cost
            below = np.where(whole, cost, children)
        best_size.insert(0, n)
        keep.insert(0, whole)
    strata = np.full(len(cells[0].of_unit), -1, np.int64)
    sizes, totals, spread_of = [], [], []
    count = 0
    for level, table in enumerate(cells):
        free = strata < 0
        chosen = keep[level].copy()
        here = np.zeros(len(chosen), bool)
        here[table.of_unit[free]] = True
        chosen &= here
        number = np.full(len(chosen), -1, np.int64)
        number[chosen] = count + np.arange(chosen.sum())
        take = free & chosen[table.of_unit]
        strata[take] = number[table.of_unit[take]]
        count += int(chosen.sum())
        sizes.append(best_size[level][chosen])
        totals.append(table.total[chosen])
        spread_of.append(np.full(int(chosen.sum()), spreads[level]))
    return Pruned(strata, np.concatenate(sizes), np.concatenate(totals), np.concatenate(spread_of))


def prune_to_budget(cells: Sequence[Cells], spreads: Sequence[float], budget: ErrorBudget) -> Pruned:
    """The cheapest partition expected to meet the budget: the price of variance by bisection on its logarithm."""
    T = float(cells[0].total.sum())
    allowed = (budget.relative_error * T / two_sided(1.0 - budget.confidence, np.inf)) ** 2
    low, high = np.log(1e-12 / T), np.log(1e12 / T)
    result = prune(cells, spreads, float(np.exp(high)))
    for _ in range(40):
        middle = 0.5 * (low + high)
        trial = prune(cells, spreads, float(np.exp(middle)))
        units = np.bincount(trial.strata, minlength=len(trial.sizes))
        V = ((trial.total * trial.spread) ** 2 * (1.0 / trial.sizes - 1.0 / units)).sum()
        if V <= allowed:
            result, high = trial, middle
        else:
            low = middle
    return result
