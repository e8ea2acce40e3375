"""Cells of equal uncertainty, made from predictions alone: the strata of the model-assisted engine, one draw in each."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Model: what is expected, before any draw, of the error of a prediction, relative to it. Only the order of splits rests on it.
EXPECTED_NOISE = 0.02  # scatter of single units
EXPECTED_SLOPE_ERROR = 0.15  # how far the slope of truth on prediction may be from 1
EXPECTED_GROUP_ERROR = 0.05  # how far the levels of two groups may lie apart
MIN_SLOPE_PART = 0.1  # a cell is cut by size where what the slope can do is above this part of what noise can do


@dataclass(frozen=True)
class Leaves:
    """The n leaves of a tree; all arrays [n]: number and parent of each node, its range in `Cells.order`, means of the size x
    and of its square, 1 - sum of squared shares of its groups.
    """

    node: Ints
    start: Ints
    end: Ints
    parent: Ints
    mean: Floats
    square: Floats
    mixed: Floats

    @property
    def units(self) -> Floats:
        """Units of each leaf, float64 [n]."""
        return (self.end - self.start).astype(float)

    @property
    def spread(self) -> Floats:
        """Variance of the sizes in each leaf."""
        return np.maximum(self.square - self.mean**2, 0.0)

    @property
    def stands_for(self) -> Floats:
        """Sum of sizes that one draw of each leaf stands for; 0 where a leaf is one unit."""
        return np.where(self.units > 1.0, self.units * self.mean, 0.0)

    @property
    def mixes(self) -> bool:
        """True if any leaf holds units of more than one group."""
        return bool((self.mixed > 0.0).any())

    @property
    def sums(self) -> tuple[float, float, float]:
        """Sums over the leaves of q = N (N - 1) mean(x^2), of q mixed and of N (N - 1) var(x): what a variance is made of."""
        pairs = self.units * (self.units - 1.0)
        q = pairs * self.square
        return float(q.sum()), float((q * self.mixed).sum()), float((pairs * self.spread).sum())


class Cells:
    """A binary tree over N units whose leaves, at any number n of them, are the strata of a sample of n units.

    The leaf with the largest N_c S_c / sqrt(mean_c) is split next, S_c^2 = a^2 mean(x^2) + b^2 var(x) + c^2 mean(x)^2
    (1 - sum of squared shares of the groups), a, b, c the expected errors above: Neyman's rule with cost x, one cut at a time.
    A leaf that
    mixes groups is cut between groups (in order of their mean x), one whose x vary by x, any other by order, at half of
    the sum of sqrt(x). So which cells there are depends on n alone, never on a result, and n cells nest in n + 1.

    Nodes are numbered in the order in which they are made; leaf i of the tree with n leaves is alive from `born` <= n until
    n < `split`. Leaves are contiguous in `order`, which is permuted inside a leaf only. The tree grows on demand.

    Args:
        x: float64 [N] > 0, size of every unit: its prediction; groups: int [N] from 0, units that may have a level of their
            own.
        first: groups whose share of sum x is above this have a first leaf each, all others share one.
        in_order: whether leaves are cut by order only.

    >>> cells = Cells(np.array([1.0, 1.0, 9.0, 9.0]), np.zeros(4, int), 1.0)
    >>> leaves = cells.leaves(2)
    >>> [sorted(cells.order[a:b].tolist()) for a, b in zip(leaves.start, leaves.end)]
    [[0, 1, 2], [3]]
    """

    def __init__(self, x: Floats, groups: NDArray[np.integer], first: float, in_order: bool = False) -> None:
        self.x, self.groups, self.N, self.in_order = x, np.asarray(groups), len(x), in_order
        self.total = float(x.sum())
        count = int(self.groups.max(initial=-1)) + 1
        sums = np.bincount(self.groups, weights=x, minlength=count)
        mean = sums / np.maximum(np.bincount(self.groups, minlength=count), 1)
        self._rank = np.empty(count, np.int64)
        self._rank[np.argsort(mean, kind="stable")] = np.arange(count)
        alone = sums > first * self.total
        leaf = np.where(alone, np.cumsum(alone), 0)[self.groups]
        self.order = np.argsort(leaf, kind="stable")
        self.order = self.order.astype(np.int32) if self.N < 2**31 else self.order
        self._heap: list[tuple[float, int]] = []
        self._nodes: list[tuple[int, int, int, int, float, float, float, int]] = []
        self._split: list[int] = []
        ends = np.cumsum(np.bincount(leaf, minlength=1)) if self.N else np.zeros(1, np.int64)
        starts = np.concatenate(([0], ends[:-1]))
        kept = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b > a]
        for a, b in kept:
            self._add(a, b, -1, len(kept))
        self.first = self.count = len(kept)
        self._table: dict[str, NDArray] = {}
        self._leaves: dict[int, Leaves] = {}

    def groups_above(self, share: float) -> int:
        """Groups whose share of sum x is above a share, and one for all others if there are any."""
        sums = np.bincount(self.groups, weights=self.x)
        alone = int((sums > share * self.total).sum())
        return alone + (alone < int((sums > 0.0).sum()))

    def _add(self, start: int, end: int, parent: int, born: int) -> None:
        """A new leaf with its sums; it may be split if it has two units."""
        units = self.order[start:end]
        x, N = self.x[units], end - start
        mean, square = float(x.mean()), float(x @ x) / N
        spread = max(square - mean * mean, 0.0)
        groups = self.groups[units]
        share = np.bincount(groups - groups.min()) / N
        mixed = max(1.0 - float(share @ share), 0.0) if N > 1 else 0.0
        mixed = 0.0 if mixed < 1e-12 else mixed
        a, b, c = (
            EXPECTED_NOISE**2 * square,
            EXPECTED_SLOPE_ERROR**2 * spread * (not self.in_order),
            EXPECTED_GROUP_ERROR**2 * mean * mean * mixed * (not self.in_order),
        )
        how = 0 if c > 0.0 and (c >= b or b <= a) else 1 if b > MIN_SLOPE_PART * a else 2
        if N > 1:
            heapq.heappush(self._heap, (-N * float(np.sqrt(a + b + c)) / float(np.sqrt(mean)), len(self._nodes)))
        self._nodes.append((start, end, parent, born, mean, square, mixed, how))
        self._split.append(np.iinfo(np.int64).max)

    def grow(self, n: int) -> int:
        """Split until there are n leaves, or one for each unit; the number of leaves there are then (no less than before)."""
        n = min(n, self.N)
        while self.count < n:
            _, node = heapq.heappop(self._heap)
            start, end, _, _, _, _, _, how = self._nodes[node]
            cut = start + self._cut(start, end, how)
            self.count += 1
            self._split[node] = self.count
            self._add(start, cut, node, self.count)
            self._add(cut, end, node, self.count)
            self._table = {}
        return self.count

    def _cut(self, start: int, end: int, how: int) -> int:
        """Sorts the units of a leaf by group, size or order, and says how many go to the left."""
        units = self.order[start:end]
        key = self._rank[self.groups[units]] if how == 0 else self.x[units] if how == 1 else units
        units = units[np.argsort(key, kind="stable")]
        self.order[start:end] = units
        weight = np.cumsum(np.sqrt(self.x[units]))
        half = 0.5 * weight[-1]
        if how != 0:
            at = int(np.searchsorted(weight, half))
            nearer = at > 0 and half - weight[at - 1] < weight[at] - half
            return min(max(at + (not nearer), 1), len(units) - 1)
        rank = self._rank[self.groups[units]]
        ends = np.flatnonzero(rank[1:] != rank[:-1]) + 1
        return int(ends[np.argmin(np.abs(weight[ends - 1] - half))])

    def table(self) -> dict[str, NDArray]:
        """All nodes as arrays: start, end, parent, born, mean, square, mixed, split."""
        if not self._table:
            columns = list(zip(*self._nodes, strict=True)) if self._nodes else [()] * 8
            names = ("start", "end", "parent", "born", "mean", "square", "mixed")
            kinds = (np.int64,) * 4 + (np.float64,) * 3
            pairs = zip(names, columns[:7], kinds, strict=True)
            self._table = {name: np.array(values, dtype=kind) for name, values, kind in pairs}
            self._table["split"] = np.array(self._split, dtype=np.int64)
        return self._table

    def leaves(self, n: int) -> Leaves:
        """The leaves when there are n of them, in the order in which they lie; the tree grows to n if need be."""
        self.grow(n)
        if n not in self._leaves:
            table = self.table()
            alive = np.flatnonzero((table["born"] <= n) & (n < table["split"]))
            alive = alive[np.argsort(table["start"][alive])]
            parts = (table[name][alive] for name in ("start", "end", "parent", "mean", "square", "mixed"))
            self._leaves = {n: Leaves(alive, *parts)}
        return self._leaves[n]
