"""Principal kernel projection (PKA, MICRO 2021): stop where the IPC has become stable."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.intrakernel.contract import Model, Projection, StoppingRule, no_model
from kernelpoint.intrakernel.progress_trace import ProgressTrace

WINDOW = 3000  # cycles
THRESHOLD = 0.25  # of the coefficient of variation


class PrincipalKernelProjection(StoppingRule):
    """Stops a launch once its IPC is stable over a rolling window and at least one wave of CTAs is through.

    Formula: IPC_j = (I_j - I_{j-1}) / (t_j - t_{j-1}) over the points of the last `window` cycles; stop when
    sd(IPC) / mean(IPC) < `threshold` and c >= S. Then, with I_k the instructions of the k CTAs issued, drained,

        I = I_k n / k,    T = t + (I - I(t)) / mean(IPC).

    Source: Baddour et al., "Principal Kernel Analysis", MICRO 2021, section on principal kernel projection. Model: the window
    of 3,000 cycles and the threshold of 0.25 are those commonly quoted; the paper's text was not at hand. Model: the paper
    projects the work that is left at the stable IPC; the number of instructions that is left follows here from the CTAs.

    It knows no error of its own: `cycles_error` is nan, and a total with such projections in it has no stated bound.

    >>> trace, rule = ProgressTrace(), PrincipalKernelProjection(window=300)
    >>> for i in range(20):
    ...     trace.add(1000 + 100 * i, 500 * i, 8 + 2 * i, 2 * i, 100)
    ...     if rule.stops(trace):
    ...         break
    >>> trace.cycles, rule.project(trace, 1800, 4000.0).cycles
    (1400, 6000.0)
    """

    description = "principal kernel projections"

    def __init__(
        self,
        confidence: float = 0.95,
        allowance: float = 0.0,
        model: Model = no_model,
        window: int = WINDOW,
        threshold: float = THRESHOLD,
    ) -> None:
        del confidence, allowance, model  # it states no error, waits for none, and projects by the launch alone
        self._window = window
        self._threshold = threshold
        self._ipc = math.nan

    def stops(self, trace: ProgressTrace) -> bool:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`."""
        if trace.completed < trace.resident or not 0 < trace.issued < trace.total:
            return False
        points = trace.window(self._window)
        if len(points) < 3 or points[-1, 0] - points[0, 0] < self._window:
            return False
        cycles, instructions = np.diff(points, axis=0).T
        ipc = instructions / cycles
        self._ipc = float(instructions.sum() / cycles.sum())
        return bool(self._ipc > 0 and ipc.std(ddof=1) < self._threshold * ipc.mean())

    def project(self, trace: ProgressTrace, cycles: float, instructions: float) -> Projection:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`."""
        scale = trace.total / trace.issued
        whole = instructions * scale
        left = max(whole - trace.instructions, 0.0)
        return Projection(max(trace.cycles + left / self._ipc, cycles), whole, math.nan, math.nan, scale)
