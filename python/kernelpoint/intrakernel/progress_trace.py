"""Progress of a running launch at each of its progress calls."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ProgressTrace:
    """Progress of one launch, point by point, in the order of the reports.

    Symbols, used by all projections: t cycles since the launch began, I thread instructions so far, k CTAs issued, c CTAs
    completed, n CTAs of the whole grid, S = max(k - c) the CTAs that the GPU holds at a time, so n / S waves.

    >>> trace = ProgressTrace()
    >>> for cycles, issued, completed in ((100, 4, 0), (200, 6, 2), (300, 9, 5)):
    ...     trace.add(cycles, 10 * cycles, issued, completed, 12)
    >>> trace.resident, trace.issued, trace.total
    (4, 9, 12)
    >>> trace.at_issue(np.array([5.0, 9.0])).tolist()
    [[150.0, 300.0], [1500.0, 3000.0]]
    """

    def __init__(self) -> None:
        self._numbers = array("q")  # t, I, k, c of each point
        self.total = 0
        self.resident = 0

    def add(self, cycles: int, instructions: int, issued: int, completed: int, total: int) -> None:
        """Take one point."""
        self._numbers.extend((cycles, instructions, issued, completed))
        self.total = total
        self.resident = max(self.resident, issued - completed)

    def __len__(self) -> int:
        return len(self._numbers) // 4

    @property
    def cycles(self) -> int:
        """t at the last point."""
        return self._numbers[-4]

    @property
    def instructions(self) -> int:
        """I at the last point."""
        return self._numbers[-3]

    @property
    def issued(self) -> int:
        """k at the last point."""
        return self._numbers[-2]

    @property
    def completed(self) -> int:
        """c at the last point."""
        return self._numbers[-1]

    @property
    def resolution(self) -> float:
        """Mean cycles between two points."""
        return (self.cycles - self._numbers[0]) / max(len(self) - 1, 1)

    def window(self, cycles: int) -> Floats:
        """float64 [p, 2]: (t, I) of the last points, back to the first that lies `cycles` or more before the last."""
        begin = len(self._numbers) - 4
        while begin > 0 and self.cycles - self._numbers[begin] < cycles:
            begin -= 4
        return np.array(self._numbers[begin:], dtype=float).reshape(-1, 4)[:, :2]

    def at_issue(self, counts: Floats) -> Floats:
        """float64 [2, m]: t and I when the number of CTAs issued reached each of `counts`, linear between two points."""
        points = np.array(self._numbers, dtype=float).reshape(-1, 4)
        after = np.searchsorted(points[:, 2], counts)  # the first point at which the count was reached
        before = np.maximum(after - 1, 0)
        step = points[after, 2] - points[before, 2]
        part = np.divide(counts - points[before, 2], step, out=np.ones(len(counts)), where=step > 0)
        return (points[before, :2] + part[:, None] * (points[after, :2] - points[before, :2])).T
