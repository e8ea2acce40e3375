"""Sample of one unit from each cell, as estimators of totals take it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation.moments import Floats, Ints


@dataclass(frozen=True)
class CellSample:
    """Sample with one draw in each of n cells; all arrays are float64 or int64 [n].

    Attributes:
        x: prediction of the drawn unit.
        size: amount that its error is relative to, above 0.
        group: its group.
        order: its place in the run.
        N: units of its cell.
        mean_x: mean prediction of the cell.
        square: mean squared size of the cell.
        spread: variance of the size in the cell.
        mixed: 1 - sum of squared shares of the cell's groups.
        unlike: as of Leaves.
        X: total of the predictions.
        count: number of groups.
    """

    x: Floats
    size: Floats
    group: Ints
    order: Ints
    N: Floats
    mean_x: Floats
    square: Floats
    spread: Floats
    mixed: Floats
    unlike: Floats
    X: float
    count: int

    @property
    def q(self) -> Floats:
        """Variance factor of each cell, N (N - 1) mean(size^2): times the squared relative error, it is the cell's part
        of the variance.
        """
        return np.asarray(self.N * (self.N - 1.0) * self.square)

    @property
    def sums(self) -> tuple[float, float, float, float]:
        """Four sums over the cells that make up a variance: of q, q mixed, q unlike, and N (N - 1) var(size)."""
        q, varies = self.q, self.N * (self.N - 1.0) * self.spread
        return float(q.sum()), float((q * self.mixed).sum()), float((q * self.unlike).sum()), float(varies.sum())

    @property
    def amounts(self) -> Floats:
        """Size that each draw represents; 0 for one that represents itself only."""
        return np.where(self.N > 1.0, self.N * np.sqrt(np.maximum(self.square - self.spread, 0.0)), 0.0)
