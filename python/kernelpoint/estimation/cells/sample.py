"""Sample of one unit from each cell, as estimators of totals take it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation.moments import Floats, Ints


@dataclass(frozen=True)
class CellSample:
    """Sample of one draw in each of n cells; all arrays float64 or int64 [n], in any order.

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
    X: float
    count: int

    @property
    def q(self) -> Floats:
        """Growth of the total's variance, for each cell, per squared relative error: N (N - 1) mean(size^2)."""
        return np.asarray(self.N * (self.N - 1.0) * self.square)

    @property
    def amounts(self) -> Floats:
        """Sum of the sizes that each draw stands for, 0 of one that stands for itself only."""
        return np.where(self.N > 1.0, self.N * np.sqrt(np.maximum(self.square - self.spread, 0.0)), 0.0)
