"""Cells of equal uncertainty, made from predictions alone: the strata of the model-assisted engine, one draw in each."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints

Correction = Callable[[Floats, NDArray[np.integer]], Floats]  # of values, by groups

BLOCK = 1 << 20  # units that are summed at a time

NODE = np.dtype(
    [(name, np.int64) for name in ("start", "end")]
    + [(name, np.float64) for name in ("mean", "square", "mixed")]
    + [(name, np.int64) for name in ("born", "split", "how")]
)


@dataclass(frozen=True)
class Leaves:
    """The n leaves of a tree of cells. A cell is a group of launches with similar predictions. The size of a launch is its
    prediction, or a little more where predictions are close to 0. Arrays are [n].

    Attributes:
        node: int64, number of the leaf in the tree.
        start, end: int64, positions of the cell's launches in `Cells.order`.
        mean: float64, mean size.
        square: float64, mean squared size.
        mixed: float64, 1 - sum of squared shares of the kernels in the cell; 0: the cell has one kernel.
        unlike: float64 from 0 to 1, part of the error variance between kernels that is assumed inside the cell's kernel, too
            (see `Cells.leaves`).
        means: means of other values and of their squares, by name (see `Cells.means`).
    """

    node: Ints
    start: Ints
    end: Ints
    mean: Floats
    square: Floats
    mixed: Floats
    unlike: Floats
    means: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @cached_property
    def units(self) -> Floats:
        """float64 [n]: number of launches in each leaf."""
        return (self.end - self.start).astype(float)


class Cells:
    """Binary tree over N launches. For every n, its n leaves are cells: groups of launches with similar predictions, one of
    which is simulated in each. The leaves for n + 1 come from those for n by one split, and depend on n only, never on a
    result. The size of a launch is its prediction plus `added`.

    The leaf with the largest N_c S_c / sqrt(mean_c) is split next (Neyman's rule with the prediction as cost, one split at a
    time). N_c is its number of launches, mean_c their mean size, and S_c^2 = a^2 mean(size^2) + b^2 var(size) + c^2 mean_c^2 (1
    - sum of squared shares of the kernels), with the errors expected beforehand a = EXPECTED_NOISE, b = EXPECTED_SLOPE_ERROR, c
    = `group_error`.

    A leaf is split at half of its sum of sqrt(size). Its launches are sorted by kernel (in the order of the kernels' mean size)
    if the term of c is the largest, by size if that of b is, and by index otherwise.

    Nodes are numbered in the order in which they are made. Each node has two numbers, born and split: it is a leaf of the tree
    with n leaves if born <= n < split. The launches of a node are contiguous in `order`.

    Args:
        x: float64 [N], prediction of each launch.
        groups: int [N], from 0: kernel of each launch.
        first: kernels whose share of the total size is larger have a leaf each from the start, all others one together; one
            number, or float64 [kernels].
        in_order: True: launches are sorted by index only.
        name: name of the sizes in `Leaves.means`.
        added: number that is added to a prediction to get the size, which is above 0.
        group_error: expected relative difference between the mean errors of two kernels.

    >>> cells = Cells(np.array([1.0, 1.0, 9.0, 9.0]), np.zeros(4, int), 1.0)
    >>> leaves = cells.leaves(2)
    >>> [sorted(cells.order[a:b].tolist()) for a, b in zip(leaves.start, leaves.end)]
    [[0, 1, 2], [3]]
    """

    def __init__(
        self,
        x: Floats,
        groups: NDArray[np.integer],
        first: float | Floats,
        in_order: bool = False,
        name: str = "size",
        added: float = 0.0,
        group_error: float = constants.EXPECTED_GROUP_ERROR,
    ) -> None:
        self.group_error = group_error
        size, groups = x + added if added else x, np.asarray(groups)
        self.N, self.in_order, self.name, self.total = len(x), in_order, name, float(size.sum())
        count = int(groups.max(initial=-1)) + 1
        sums = np.bincount(groups, weights=size, minlength=count)
        mean = sums / np.maximum(np.bincount(groups, minlength=count), 1)
        self._rank = np.empty(count, np.int64)
        self._rank[np.argsort(mean, kind="stable")] = np.arange(count)
        alone = sums > (first if isinstance(first, float) else first[:count]) * self.total
        leaf = np.where(alone, np.cumsum(alone), 0).astype(np.int32)[groups]
        last = int(alone.sum())
        order = np.concatenate([np.flatnonzero(leaf == k) for k in range(last + 1)]) if last else np.arange(self.N)
        self.order = order.astype(np.int32) if self.N < 2**31 else order
        self.x, self.groups, self.added = x[self.order], groups[self.order], added
        self._heap: list[tuple[float, int]] = []
        self._nodes, self._made = np.zeros(64, NODE), 0
        self._leaves: dict[int, Leaves] = {}
        ends = np.cumsum(np.bincount(leaf, minlength=1)) if self.N else np.zeros(1, np.int64)
        starts = np.concatenate(([0], ends[:-1]))
        kept = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b > a]
        for a, b in kept:
            self._add(a, b, len(kept))
        self.first = self.count = len(kept)

    def sizes(self, start: int = 0, end: int | None = None) -> Floats:
        """Sizes (prediction plus `added`) of the launches at the positions `start` to `end` in `order`, float64."""
        x = self.x[start:end]
        return x + self.added if self.added else x

    def _add(self, start: int, end: int, born: int) -> None:
        """Add a leaf with its sums; a leaf with two or more units can be split later."""
        x, groups, N = self.sizes(start, end), self.groups[start:end], end - start
        mean, square = float(np.add.reduce(x)) / N, float(x @ x) / N
        spread = max(square - mean * mean, 0.0)
        share = np.bincount(groups - groups.min()) / N
        mixed = max(1.0 - float(share @ share), 0.0) if N > 1 else 0.0
        mixed = 0.0 if mixed < 1e-12 else mixed
        a, b, c = (
            constants.EXPECTED_NOISE**2 * square,
            constants.EXPECTED_SLOPE_ERROR**2 * spread * (not self.in_order),
            self.group_error**2 * mean * mean * mixed * (not self.in_order),
        )
        how = 0 if c > 0.0 and (c >= b or b <= a) else 1 if b > 0.0 else 2
        if N > 1:
            heapq.heappush(self._heap, (-N * math.sqrt(a + b + c) / math.sqrt(mean), self._made))
        if self._made == len(self._nodes):
            self._nodes = np.concatenate((self._nodes, np.zeros(self._made, NODE)))
        self._nodes[self._made] = (start, end, mean, square, mixed, born, self.N + 1, how)
        self._made += 1

    def grow(self, n: int) -> int:
        """Split leaves until there are n, or one for each launch; returns the number of leaves."""
        n = min(n, self.N)
        while self.count < n:
            _, node = heapq.heappop(self._heap)
            start, end, *_, how = self._nodes[node].item()
            cut = start + self._cut(start, end, how)
            self.count += 1
            self._nodes[node]["split"] = self.count
            self._add(start, cut, self.count)
            self._add(cut, end, self.count)
        return self.count

    def _cut(self, start: int, end: int, how: int) -> int:
        """Sort the units of a leaf by group, size or order; returns how many go into the left half."""
        units, x, groups = (values[start:end] for values in (self.order, self.x, self.groups))
        key = self._rank[groups] if how == 0 else self.sizes(start, end) if how == 1 else units
        if bool((key[1:] < key[:-1]).any()):
            sort = np.argsort(key, kind="stable")
            for values in (units, x, groups):
                values[:] = values[sort]
        weight = np.cumsum(np.sqrt(self.sizes(start, end)))
        half = 0.5 * weight[-1]
        if how != 0:
            at = int(np.searchsorted(weight, half))
            nearer = at > 0 and half - weight[at - 1] < weight[at] - half
            return min(max(at + (not nearer), 1), len(units) - 1)
        ends = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        return int(ends[np.argmin(np.abs(weight[ends - 1] - half))])

    def leaves(self, n: int) -> Leaves:
        """The n leaves of the tree, in the order of their launches. The tree grows if it has fewer.

        Model: launches of one kernel may differ as much as kernels do, until simulated launches show otherwise. `Leaves.unlike`
        is the assumed probability that launches of a kernel differ that much: 1 / (m (R + 1)), where m launches of this kernel
        are sampled, and R kernels have two or more sampled launches. If R kernels show no such difference, the next kernel has
        it with a probability of about 1 / (R + 1) (rule of succession); m sampled launches that agree divide this by m.
        """
        if n not in self._leaves:
            self.grow(n)
            nodes = self._nodes[: self._made]
            alive = np.flatnonzero((nodes["born"] <= n) & (n < nodes["split"]))
            alive = alive[np.argsort(nodes["start"][alive])]
            start, end, mean, square, mixed = (nodes[name][alive] for name in ("start", "end", "mean", "square", "mixed"))
            pure, groups = mixed == 0.0, self.groups[start]
            draws = np.bincount(groups[pure], minlength=int(groups.max(initial=0)) + 1)
            weights_of_draws = np.where(pure, draws[groups], 1.0) * ((draws > 1).sum() + 1.0)
            unlike = np.where(end - start > 1, 1.0 / weights_of_draws, 0.0) * (not self.in_order)
            self._leaves[n] = Leaves(alive, start, end, mean, square, mixed, unlike)
        return self._leaves[n]

    def means(
        self, n: int, values: Callable[[NDArray[np.integer]], Floats], name: str, of: Correction | None = None
    ) -> tuple[Floats, Floats]:
        """Mean of values, and mean of their squares, in each of n leaves, float64 [n] both.

        Args:
            n: number of leaves.
            values: function from the indices of launches to their values; not called if the values are sizes or predictions of
                the tree.
            name: name under which the means are kept; empty: they are not kept.
            of: function that corrects values, given their groups (kernels); None: no correction.
        """
        leaves = self.leaves(n)
        if of is not None or name not in leaves.means:
            sums = [np.empty(len(leaves.node)) for _ in range(2)]
            firsts = np.flatnonzero(np.diff(leaves.start // BLOCK, prepend=-1)).tolist()
            for a, b in pairwise([*firsts, len(leaves.node)]):
                part = slice(leaves.start[a], leaves.end[b - 1])
                if name == self.name:
                    inside = self.sizes(part.start, part.stop)
                else:
                    inside = self.x[part] if name == f"{self.name} x" else values(self.order[part])
                inside = inside if of is None else of(inside, self.groups[part])
                for total, v in zip(sums, (inside, inside * inside), strict=True):
                    total[a:b] = np.add.reduceat(v, leaves.start[a:b] - leaves.start[a])
            means = sums[0] / leaves.units, sums[1] / leaves.units
            if of is not None or not name:
                return means
            leaves.means[name] = means
        return leaves.means[name]
