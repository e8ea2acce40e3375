"""Principal kernel projection (PKA, MICRO 2021): stop where the IPC has become stable."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.projection.contract import Projection
from kernelpoint.projection.curve import Curve

WINDOW = 3000  # cycles
THRESHOLD = 0.25  # of the coefficient of variation


class PrincipalKernelProjection:
    """Stops a launch once its IPC is stable over a rolling window and at least one wave of CTAs is through.

    Formula: IPC_j = (I_j - I_{j-1}) / (t_j - t_{j-1}) over the points of the last `window` cycles; stop when
    sd(IPC) / mean(IPC) < `threshold` and c >= S. Then, with I_k the instructions of the k CTAs issued, drained,

        I = I_k n / k,    T = t + (I - I(t)) / mean(IPC).

    Source: Baddour et al., "Principal Kernel Analysis", MICRO 2021, section on principal kernel projection. Model: the window
    of 3,000 cycles and the threshold of 0.25 are those commonly quoted; the paper's text was not at hand. Model: the paper
    projects the work that is left at the stable IPC; the number of instructions that is left follows here from the CTAs.

    It knows no error of its own: `cycles_error` is nan, and a total with such projections in it has no stated bound.

    >>> curve, rule = Curve(), PrincipalKernelProjection(window=300)
    >>> for i in range(20):
    ...     curve.add(1000 + 100 * i, 500 * i, 8 + 2 * i, 2 * i, 100)
    ...     if rule.stops(curve):
    ...         break
    >>> curve.cycles, rule.project(curve, 1800, 4000.0).cycles
    (1400, 6000.0)
    """

    def __init__(self, window: int = WINDOW, threshold: float = THRESHOLD) -> None:
        self._window = window
        self._threshold = threshold
        self._ipc = math.nan

    def stops(self, curve: Curve) -> bool:
        """See :class:`~kernelpoint.projection.contract.Stop`."""
        if curve.completed < curve.resident or not 0 < curve.issued < curve.total:
            return False
        points = curve.window(self._window)
        if len(points) < 3 or points[-1, 0] - points[0, 0] < self._window:
            return False
        cycles, instructions = np.diff(points, axis=0).T
        ipc = instructions / cycles
        self._ipc = float(instructions.sum() / cycles.sum())
        return bool(self._ipc > 0 and ipc.std(ddof=1) < self._threshold * ipc.mean())

    def project(self, curve: Curve, cycles: float, instructions: float) -> Projection:
        """See :class:`~kernelpoint.projection.contract.Stop`."""
        scale = curve.total / curve.issued
        whole = instructions * scale
        left = max(whole - curve.instructions, 0.0)
        return Projection(max(curve.cycles + left / self._ipc, cycles), whole, math.nan, math.nan, scale)
