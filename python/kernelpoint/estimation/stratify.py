"""Strata made from what is known without simulating: how finely to split, and how many first draws each stratum gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError
from kernelpoint.estimation.allocation import cheapest
from kernelpoint.estimation.design import Design, ErrorBudget
from kernelpoint.estimation.numbering import number_labels
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.unseen import unseen_slow
from kernelpoint.randomness import generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Model: tuned on the named tuning populations of tests/coverage, judged on the others.
SPREAD_OF_SIGNATURE = 1.5  # expected CoV among launches of one signature, whose arguments it hides
SPREAD_IN_CONTEXT = 0.05  # and among those that have the same neighbours too
SECOND_DRAW_PROBABILITY = 0.25  # least chance of a second draw: one draw in most strata, two in a random part of them
FIRST_SIZE_SHARE = 0.2  # first sizes: this share of what the expected spreads would need
WIDE = 0.5  # a stratum expected to have this CoV or more gets WIDE_DRAWS first draws: others tell nothing of its spread
WIDE_DRAWS = 3
FIRST_LEAST_RATE = 0.005  # slow units that are rarer are not looked for before it is known which draws are cheap
SINGLE_DRAW_DEVIATION = (
    0.2  # a draw that is off by this much of its value moves the total by the error allowed, at most
)


@dataclass(frozen=True)
class Cells:
    """The cells of one level: cell of each unit (int32 [N]); parent (cell above), units and expected total of each cell [C]."""

    of_unit: NDArray[np.int32]
    parent: Ints
    units: Ints
    total: Floats


def nested_cells(levels: Sequence[NDArray[np.integer]], expected: Floats) -> list[Cells]:
    """Cells of every level, each level split by the labels of the next: level k holds the distinct (label_0 ... label_k).

    >>> [cells.units.tolist() for cells in nested_cells([np.array([0, 0, 1]), np.array([5, 6, 5])], np.ones(3))]
    [[2, 1], [1, 1, 1]]
    """
    result: list[Cells] = []
    above = np.zeros(len(expected), np.int32)
    for labels in levels:
        label = number_labels(labels)
        first, cell = number_labels(above.astype(np.int64) * max(len(label.first), 1) + label.number)
        units = np.bincount(cell, minlength=len(first)).astype(np.int64)
        result.append(
            Cells(
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
    """A partition chosen from nested cells: stratum of each unit [N]; expected size (1 ... N_h), total and CoV of each [H]."""

    strata: NDArray[np.int32]
    sizes: Floats
    total: Floats
    spread: Floats


def _costs(cells: Cells, spread: float, price: float) -> tuple[Floats, Floats]:
    """Best size of every cell at a price of variance, and its cost plus price times variance."""
    mean = cells.total / cells.units
    weight = (cells.total * spread) ** 2
    n = np.clip(np.sqrt(price * weight / mean), 1.0, cells.units)
    return n, n * mean + price * weight * (1.0 / n - 1.0 / cells.units)


@dataclass(frozen=True)
class _Choice:
    """Partition at a price of variance: of each level, best size of every cell, and the cells that become strata (bool)."""

    sizes: list[Floats]
    chosen: list[NDArray[np.bool_]]

    def variance(self, cells: Sequence[Cells], spreads: Sequence[float]) -> float:
        """Expected variance of the total, sum over strata of T^2 CoV^2 (1 / n - 1 / N)."""
        parts = zip(cells, spreads, self.sizes, self.chosen, strict=True)
        return float(
            sum(((c.total * spread) ** 2 * (1.0 / n - 1.0 / c.units))[kept].sum() for c, spread, n, kept in parts)
        )


def _choose(cells: Sequence[Cells], spreads: Sequence[float], price: float) -> _Choice:
    """The cells that become strata where a unit of variance costs `price`: children are decided before parents.

    Cost-complexity pruning (Breiman et al. 1984, chapter 3) gives the partition with the least expected
    cost + price * variance. Each cell is either one stratum, with n = clip(T CoV sqrt(price / mean), 1, N) draws of cost `mean`
    and variance T^2 CoV^2 (1 / n - 1 / N), or is split into its children. T is the cell's expected total, CoV the spread
    expected at its level: a split pays where the children's draws cost less than the variance they save.
    """
    sizes: list[Floats] = []
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
        sizes.insert(0, n)
        keep.insert(0, whole)
    chosen = []
    free = np.ones(1, bool)
    for table, whole in zip(cells, keep, strict=True):
        free = free[table.parent]  # no cell above it is a stratum
        chosen.append(free & whole)
        free = free & ~whole
    return _Choice(sizes, chosen)


def _partition(cells: Sequence[Cells], spreads: Sequence[float], choice: _Choice) -> Pruned:
    strata = np.full(len(cells[0].of_unit), -1, np.int32)
    sizes, totals, spread_of = [], [], []
    count = 0
    for table, spread, n, chosen in zip(cells, spreads, choice.sizes, choice.chosen, strict=True):
        number = np.full(len(chosen), -1, np.int32)
        number[chosen] = count + np.arange(chosen.sum())
        np.maximum(strata, number[table.of_unit], out=strata)  # only one level has a stratum for a unit
        count += int(chosen.sum())
        sizes.append(n[chosen])
        totals.append(table.total[chosen])
        spread_of.append(np.full(int(chosen.sum()), spread))
    return Pruned(strata, np.concatenate(sizes), np.concatenate(totals), np.concatenate(spread_of))


def prune_to_budget(cells: Sequence[Cells], spreads: Sequence[float], budget: ErrorBudget) -> Pruned:
    """The cheapest partition expected to meet the budget: the price of variance by bisection on its logarithm."""
    T = float(cells[0].total.sum())
    if T <= 0.0:  # no unit is left to chance
        return _partition(cells, spreads, _choose(cells, spreads, 1.0))
    allowed = (budget.relative_error * T / two_sided(1.0 - budget.confidence, np.inf)) ** 2
    low, high = np.log(1e-12 / T), np.log(1e12 / T)
    result = _choose(cells, spreads, float(np.exp(high)))
    for _ in range(40):
        middle = 0.5 * (low + high)
        trial = _choose(cells, spreads, float(np.exp(middle)))
        if trial.variance(cells, spreads) <= allowed:
            result, high = trial, middle
        else:
            low = middle
    return _partition(cells, spreads, result)


def least_draws(share: Floats, relative_error: float, odd: float) -> Floats:
    """Draws that a stratum with a given share of the total needs at least, whatever its spread: odd share / eps.

    Then no single draw stands for so much of the total that its own oddity, unseen by any estimated variance, breaks the
    budget. Summed over all strata these are odd / eps draws, so it costs little but where strata are few.

    >>> least_draws(np.array([0.5, 0.05]), 0.02, 0.2).round(6).tolist()
    [5.0, 0.5]
    """
    return odd * share / relative_error


def first_sizes(
    pruned: Pruned, budget: ErrorBudget, seed: int, odd: float = SINGLE_DRAW_DEVIATION, rare: float = 0.0
) -> Ints:
    """Sizes of the first samples, int64 [H]: FIRST_SIZE_SHARE times the expected ones, rounded up or down at random.

    No fewer than least_draws, at least one draw and, with probability SECOND_DRAW_PROBABILITY or more, a second; WIDE_DRAWS
    where the expected CoV is WIDE or more; and so many that units which are off by `rare` are drawn, or too few to break the
    budget (unseen.unseen_slow).

    >>> pruned = Pruned(np.zeros(9, np.int64), np.array([10.0]), np.array([1.0]), np.array([0.1]))
    >>> first_sizes(pruned, ErrorBudget(0.5), 0).tolist()
    [2]
    """
    share = pruned.total / max(float(pruned.total.sum()), 1e-300)
    wanted = np.maximum(pruned.sizes * FIRST_SIZE_SHARE, 1.0 + SECOND_DRAW_PROBABILITY)
    wanted = np.maximum(wanted, least_draws(share, budget.relative_error, odd))
    wanted = np.where(pruned.spread >= WIDE, np.maximum(wanted, WIDE_DRAWS), wanted)
    N = np.bincount(pruned.strata, minlength=len(wanted))
    alpha, allowed = 1.0 - budget.confidence, budget.relative_error / max(rare, 1e-300)
    return cheapest(
        *(
            wanted,
            N,
            pruned.total / np.maximum(N, 1),
            lambda n: unseen_slow(N, n, share, alpha, FIRST_LEAST_RATE) <= allowed,
        ),
        rounding=generator(seed, "second draws").random(len(wanted)),
    )


@dataclass(frozen=True)
class Stratification:
    """Strata without a sample: all of a design that does not depend on a seed.

    pruned: the partition of the units that are not certain; budget: what it is made for; strata: int32 [N],
    -1 for certain units; x, clusters, odd, rare: as in Design.
    """

    pruned: Pruned
    budget: ErrorBudget
    strata: NDArray[np.integer]
    x: Floats | None
    clusters: Ints | None
    odd: float = SINGLE_DRAW_DEVIATION
    rare: float = 0.0

    def design(self, u: Floats, seed: int) -> Design:
        """The design with permanent random numbers u (float64 [N]) and the second draws of a seed."""
        return Design(
            self.strata,
            first_sizes(self.pruned, self.budget, seed, self.odd, self.rare),
            u,
            x=self.x,
            clusters=self.clusters,
            balanced=True,
            odd=self.odd,
            rare=self.rare,
            kinds=np.unique(self.pruned.spread, return_inverse=True)[1].astype(np.int64),
        )


def stratify(
    levels: Sequence[NDArray[np.integer]],
    budget: ErrorBudget,
    *,
    spreads: Sequence[float] = (SPREAD_OF_SIGNATURE, SPREAD_IN_CONTEXT),
    expected: Floats | None = None,
    x: Floats | None = None,
    cluster: NDArray[np.integer] | None = None,
    take_all: NDArray[np.integer] | None = None,
    odd: float = SINGLE_DRAW_DEVIATION,
    rare: float = 0.0,
) -> Stratification:
    """Strata from labels known without simulating, by pruning; arguments as in strata_from.

    Raises:
        ConfigError: not one spread per level.
    """
    N = len(levels[0])
    if len(spreads) != len(levels):
        raise ConfigError(f"spreads: {len(spreads)} values for {len(levels)} levels; give one expected CoV per level")
    if expected is None:
        expected = np.ones(N) if x is None else np.cbrt(np.maximum(x, 1e-9 * max(float(np.max(x, initial=0.0)), 1.0)))
    free: NDArray[np.bool_] | slice = slice(None)
    if take_all is not None and len(take_all):
        free = np.ones(N, bool)
        free[take_all] = False
    strata = np.full(N, -1, np.int32)
    pruned = prune_to_budget(nested_cells([np.asarray(v)[free] for v in levels], expected[free]), spreads, budget)
    strata[free] = pruned.strata
    clusters = None
    if cluster is not None:
        clusters = np.zeros(len(pruned.sizes), np.int64)
        clusters[pruned.strata] = np.asarray(cluster)[free]
    return Stratification(pruned, budget, strata, x, clusters, odd, rare)


def strata_from(
    levels: Sequence[NDArray[np.integer]],
    u: Floats,
    budget: ErrorBudget,
    *,
    spreads: Sequence[float] = (SPREAD_OF_SIGNATURE, SPREAD_IN_CONTEXT),
    expected: Floats | None = None,
    x: Floats | None = None,
    cluster: NDArray[np.integer] | None = None,
    take_all: NDArray[np.integer] | None = None,
    odd: float = SINGLE_DRAW_DEVIATION,
    rare: float = 0.0,
    seed: int = 0,
) -> Design:
    """A design from labels known without simulating: strata by pruning, sizes by expected spreads, seconds at random.

    Strata: the cheapest partition expected to meet the budget (prune_to_budget). First sizes: FIRST_SIZE_SHARE times the sizes
    expected to be needed, at least one draw, and with probability SECOND_DRAW_PROBABILITY (at least) a second one. The strata
    with a second draw are thus chosen at random beforehand, and the spread of the others is pooled from them.

    Args:
        levels: labels, int [N] each, coarse to fine: signature of a unit, signature with its neighbours, ...
        u: float64 [N], permanent random numbers; budget: the error allowed.
        spreads: expected CoV within a cell of each level.
        expected: float64 [N] > 0, expected value of each unit up to a factor; default x ** (1 / 3) (Model: log-log slope
            of durations on threads, 0.2 to 0.5 on real profiles), or equal.
        x: covariate handed to the design; cluster: int [N], cluster of each unit, constant within the coarsest label.
        take_all: units that are certain; odd, rare: as in Design; seed: of the second draws.

    >>> signature = np.arange(600) % 3
    >>> finer = signature + 3 * (np.arange(600) % 599 == 0)  # the first and the last stand between other neighbours
    >>> design = strata_from([signature, finer], np.random.default_rng(0).random(600), ErrorBudget(0.05))
    >>> len(design.first_sizes), int(design.sizes.sum())
    (5, 600)
    """
    stratification = stratify(
        levels, budget, spreads=spreads, expected=expected, x=x, cluster=cluster, take_all=take_all, odd=odd, rare=rare
    )
    return stratification.design(u, seed)
