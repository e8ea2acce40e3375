"""Parts of a run: its beginning, first units of groups, and the rest, which may be off their predictions in other ways."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.cells.fit import CellSample, Spread
from kernelpoint.estimation.cells.tree import Cells, Correction
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.repeated import Column

MAX_CELLS = 50_000  # cells; a sample that needs more takes every unit


@dataclass(frozen=True)
class Auxiliary:
    """Auxiliary variables (known without simulation) of the free launches, which are sampled by chance.

    Attributes:
        x: float64 [F], prediction of each launch.
        size: float64 [F], amount to which relative errors refer (`AssistedDesign.prediction`).
        has: bool [F], True for launches with a result; empty where no total is estimated.
        name: name under which means over cells (groups of launches with similar predictions) are kept; empty: they are not
            kept.
        corrected: function that corrects predictions, given their groups (kernels); None: no correction.

    >>> known = Auxiliary(x=np.array([4.0, 9.0]), size=np.array([4.0, 9.0]), has=np.array([True, False]))
    >>> float(known.size[~known.has].sum())  # not simulated
    9.0
    """

    x: Column | Floats
    size: Column | Floats
    has: NDArray[np.bool_]
    name: str = ""
    corrected: Correction | None = None


class Part:
    """Part of a run that is divided into n cells (groups of launches with similar predictions). In each cell, the launch with
    the smallest random number is drawn.

    Only the number n depends on results. Cells and drawn launches depend on n alone, so each sample contains all smaller ones.

    Args:
        units: int64 [N], positions of the launches in `AssistedDesign.free` (the launches that are sampled by chance).
        cells: tree of cells over the launches.
        u: float64 [F], random numbers that never change.
        drawn: node of the tree -> drawn launch, as far as computed; engines with the same design share it.
        least: smallest number of draws (sampled launches).

    Attributes:
        count: number of launches.
        n: number of cells; set it to change the sample.
        apart: True if the total is estimated without the regression line of the rest of the run.

    >>> x = np.array([4.0, 4.0, 9.0, 9.0])
    >>> part = Part(np.arange(4), Cells(x, np.zeros(4, int), 1.0), np.array([0.5, 0.1, 0.3, 0.2]), {}, 1)
    >>> part.n = 2
    >>> part.sample().tolist(), part.whole
    ([1, 3], False)
    """

    def __init__(self, units: Ints, cells: Cells, u: Floats, drawn: dict[int, int], least: int) -> None:
        self.units, self.cells, self.least = units, cells, least
        self.count, self.n, self.apart = len(units), 0, False
        self._u, self._drawn = u, drawn
        self._sampled = 0, np.empty(0, np.int64)  # n, and the sample of that size

    @property
    def whole(self) -> bool:
        """True if every launch of the part is drawn."""
        return self.n >= self.count

    def bounded(self, n: float) -> int:
        """Number of cells (groups of launches with similar predictions), rounded up to an integer. A number above MAX_CELLS, or
        above the number of launches in the part, becomes the number of launches: one cell for each.
        """
        return self.count if n > min(MAX_CELLS, self.count) else math.ceil(n)

    def stands_for(self, n: int, known: Auxiliary) -> Floats:
        """float64 [n]: total size (prediction, or a little more) of the launches that each of n sampled launches represents; 0
        if it represents itself only.
        """
        leaves = self.cells.leaves(n)
        return np.where(leaves.units > 1.0, leaves.units * self.size_means(n, known)[0], 0.0)

    def largest(self, n: int, known: Auxiliary, off: Callable[[Floats], Floats] = np.ones_like) -> float:
        """Largest effect of one sampled launch with an outlying error: the largest product of the total size (prediction, or a
        little more) that it represents and its assumed relative error; 0 if all launches are simulated.

        Args:
            n: number of cells (groups of launches with similar predictions); one launch is sampled in each.
            known: sizes of the launches.
            off: function from `Leaves.unlike` to the relative error of each cell; by default 1.
        """
        if n >= self.count:
            return 0.0
        return float((self.stands_for(n, known) * off(self.cells.leaves(n).unlike)).max(initial=0.0))

    def variance(self, n: int, known: Auxiliary, spread: Spread) -> float:
        """Variance of the estimated total with one draw in each of n cells (groups of launches with similar predictions), for a
        given spread of prediction errors.
        """
        leaves = self.cells.leaves(n)
        mean, square = self.size_means(n, known)
        return spread.variance(leaves.units, square, np.maximum(square - mean**2, 0.0), leaves.mixed, leaves.unlike)

    def sample(self) -> Ints:
        """int64 [n]: drawn launch of each cell, as position in `AssistedDesign.free` (the launches that are sampled by chance),
        in the order of the cells (groups of launches with similar predictions).
        """
        if self.whole:
            return self.units
        if self._sampled[0] != self.n:
            self._sampled = self.n, self.sample_of(self.n)
        return self._sampled[1]

    def sample_of(self, n: int) -> Ints:
        """int64 [n]: drawn launch of each of n cells (groups of launches with similar predictions), as position in
        `AssistedDesign.free` (the launches that are sampled by chance).
        """
        leaves = self.cells.leaves(n)
        for node, start, end in zip(leaves.node.tolist(), leaves.start.tolist(), leaves.end.tolist(), strict=True):
            if node not in self._drawn:
                units = self.units[self.cells.order[start:end]]
                self._drawn[node] = int(units[np.argmin(self._u[units])])
        return np.array([self._drawn[node] for node in leaves.node.tolist()], dtype=np.int64)

    def cell_sample(self, groups: NDArray[np.integer], known: Auxiliary) -> tuple[CellSample, Ints]:
        """The sampled launches that have a result, with sums over their cells (groups of launches with similar predictions);
        and the positions of these launches in `AssistedDesign.free` (the launches that are sampled by chance).

        Args:
            groups: int [F], group (kernel) of each launch.
            known: predictions and sizes of all launches.
        """
        x, size, of = known.x, known.size, known.corrected
        leaves = self.cells.leaves(self.n)
        sample = self.units[self.cells.order[leaves.start]] if self.whole else self.sample()
        N = leaves.units
        mean, square = self._means(self.n, size, known.name)
        mean_x, _ = self._means(self.n, x, known.name if x is size else known.name and f"{known.name} x", of)
        keep = known.has[sample]
        units = sample[keep]
        return CellSample(
            x=x[units] if of is None else of(x[units], groups[units]),
            size=size[units],
            group=groups[units].astype(np.int64),
            order=units,
            N=N[keep],
            mean_x=mean_x[keep],
            square=square[keep],
            spread=np.maximum(square - mean**2, 0.0)[keep],
            mixed=leaves.mixed[keep],
            unlike=leaves.unlike[keep],
            X=float((N * mean_x)[keep].sum()),
            count=int(groups.max(initial=-1)) + 1,
        ), units

    def size_means(self, n: int, known: Auxiliary) -> tuple[Floats, Floats]:
        """Mean size, and mean squared size, of the launches in each of n cells (groups of launches with similar predictions),
        float64 [n] both. The size of a launch is its prediction, or a little more where predictions are close to 0.
        """
        if known.name == self.cells.name:  # of the tree itself
            leaves = self.cells.leaves(n)
            return leaves.mean, leaves.square
        return self._means(n, known.size, known.name)

    def _means(self, n: int, values: Column | Floats, name: str, of: Correction | None = None) -> tuple[Floats, Floats]:
        """Means of values (float64 [free]) and of their squares over n cells; name, of: see Cells.means."""
        return self.cells.means(n, lambda places: values[self.units[places]], name, of)
