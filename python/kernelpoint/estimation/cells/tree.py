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
    """Leaves of a tree of cells, as arrays [n].

    Attributes:
        node: number of each node.
        start, end: its range in `Cells.order`.
        mean, square: means of the size and of its square.
        mixed: 1 - sum of squared shares of its groups.
        unlike: share of the scatter between groups that is charged to the scatter inside its group (Cells.leaves).
        means: means of other values, by name (Cells.means).
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
        """Number of units in each leaf, float64 [n]."""
        return (self.end - self.start).astype(float)


class Cells:
    """Binary tree over N units whose n leaves, for any n, are the strata of a sample of n units.

    The leaf with the largest N_c S_c / sqrt(mean_c) is split next, S_c^2 = a^2 mean(x^2) + b^2 var(x) + c^2 mean(x)^2
    (1 - sum of squared shares of the groups), a, b, c the expected errors above: Neyman's rule with cost x, one cut at a time.
    A leaf that
    mixes groups is cut between groups (in order of their mean x), one whose x vary by x, any other by order, at half of
    the sum of sqrt(x). So which cells there are depends on n alone, never on a result, and n cells nest in n + 1.

    Nodes are numbered in the order in which they are made; leaf i of the tree with n leaves is alive from `born` <= n until
    n < `split`, which is N + 1 of a leaf. Leaves are contiguous in `order`, which is permuted inside a leaf only, and `x` and
    `groups` with it. The tree grows on demand.

    Args:
        x: float64 [N], prediction of every unit; its size is that and `added`, > 0.
        groups: int [N] from 0, units that may have a level of their own.
        first: groups whose share of all sizes is above this, one for all or float64 [groups or more], have a first leaf each;
            all others share one.
        in_order: whether leaves are cut by order only; name: of the sizes for `means`, and "NAME x" that of x.
        group_error: how far the levels of two groups are expected to lie apart, relative.

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
        """Sizes of the units at positions `start` to `end`."""
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
        """Split leaves until there are n, or one for each unit; returns the number of leaves."""
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
        """The n leaves of the tree, in the order of their units; the tree grows if necessary.

        Model: a group may scatter inside as much as groups differ, until its own draws tell: `unlike` is 1 / (m (R + 1)) for m
        draws of the group, R groups with two draws or more. Of R groups that tell, none does, so the next one does with a
        probability of about 1 / (R + 1) (rule of succession); 1 / m of it is left after m draws that agree.
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
        """Mean and mean square of values in each of n leaves; `of` computes the values if given.

        Args:
            values: of units; not asked for where they are the sizes; name: under which the means are kept, if there is one.
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
