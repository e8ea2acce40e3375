"""Principal kernel projection of PKA (MICRO 2021): a launch is stopped where its IPC has become stable, its rest projected.

Symbols: t cycles since the launch began, I thread instructions so far, k CTAs issued, c CTAs completed, n CTAs of the whole
grid, S = max(k - c) the CTAs that the GPU holds at a time.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kernelpoint.journal import ProjectionRecord

INTERVAL = 200  # cycles between two points
WINDOW = 3000  # cycles
THRESHOLD = 0.25  # of the coefficient of variation


class PrincipalKernelProjection:
    """Projection of one launch (PKA): the launch is stopped when its IPC is stable over a rolling window and at least one wave
    of CTAs has finished.

    Formula: with t cycles since the launch began, I thread instructions, k CTAs issued and c completed of n in the grid, and S
    CTAs that the GPU holds at a time, IPC_j = (I_j - I_{j-1}) / (t_j - t_{j-1}) over the points of the last `window` cycles;
    stop when sd(IPC) / mean(IPC) < `threshold` and c >= S. Then, with I_k the instructions of the k CTAs issued, drained,

        I = I_k n / k,    T = t + (I - I(t)) / mean(IPC),

    and every other counter is multiplied by n / k.

    Source: Baddour et al., "Principal Kernel Analysis", MICRO 2021, section on principal kernel projection. Model: the window
    of 3,000 cycles and the threshold of 0.25 are those commonly quoted; the paper's text was not available to us. Model: the
    paper projects the work that is left at the stable IPC; the number of instructions that is left follows here from the CTAs.

    The error of a projection is not known, and a total with projections in it has no stated bound.

    Attributes:
        is_stopped: True from the moment the launch is to be stopped.
        issued: CTAs issued (k) at the last point.
        total: CTAs of the grid (n).

    >>> launch = PrincipalKernelProjection(window=300)
    >>> for i in range(20):
    ...     if launch.stops(1000 + 100 * i, 500 * i, 8 + 2 * i, 2 * i, 100):
    ...         break
    >>> launch.issued, launch.project({"cycles": 1800.0, "instructions": 4000.0})["cycles"]
    (16, 6000.0)
    """

    def __init__(self, window: int = WINDOW, threshold: float = THRESHOLD) -> None:
        self._window, self._threshold = window, threshold
        self._points = array("q")  # t, I of each point
        self._resident = 0
        self._ipc = math.nan
        self.issued = self.total = 0
        self.is_stopped = False

    def stops(self, cycles: int, instructions: int, issued: int, completed: int, total: int) -> bool:
        """Add a measurement (in the order of cycles); True if the launch is to be stopped."""
        if self.is_stopped:
            return True
        self._points.extend((cycles, instructions))
        self._resident = max(self._resident, issued - completed)
        self.issued, self.total = issued, total
        self.is_stopped = completed >= self._resident and 0 < issued < total and self._is_stable()
        return self.is_stopped

    def _is_stable(self) -> bool:
        points = self._last_points()
        if len(points) < 3 or points[-1, 0] - points[0, 0] < self._window:
            return False
        cycles, instructions = np.diff(points, axis=0).T
        ipc = instructions / cycles
        self._ipc = float(instructions.sum() / cycles.sum())
        return bool(self._ipc > 0 and ipc.std(ddof=1) < self._threshold * ipc.mean())

    def _last_points(self) -> NDArray[np.float64]:
        """float64 [p, 2]: (t, I) of the last points, back to the first that lies `window` cycles or more before the last."""
        begin = len(self._points) - 2
        while begin > 0 and self._points[-2] - self._points[begin] < self._window:
            begin -= 2
        return np.array(self._points[begin:], dtype=float).reshape(-1, 2)

    def project(self, counters: Mapping[str, float]) -> dict[str, float]:
        """Counters of the whole launch, projected from those of the stopped launch after its resident CTAs ended."""
        scale = self.total / self.issued
        whole = counters["instructions"] * scale
        rest = max(whole - self._points[-1], 0.0)
        cycles = max(self._points[-2] + rest / self._ipc, counters["cycles"])
        scaled = {name: value * scale for name, value in counters.items()}
        return {**scaled, "cycles": cycles, "instructions": whole}


class Projections:
    """Launches in flight that may be stopped before their end; the rest of them is projected.

    Args:
        is_on: False if the policy simulates whole launches; then no launch is tracked.

    Attributes:
        interval: cycles between the progress calls of a launch; 0: none.
        count: number of projected results.
        saved_cycles: projected cycles that were not simulated.
    """

    def __init__(self, is_on: bool) -> None:
        self._followed: dict[int, PrincipalKernelProjection | None] = {}  # None: simulated to its end
        self._is_on = is_on
        self.interval = INTERVAL if is_on else 0
        self.count = 0
        self.saved_cycles = 0.0

    def stops(self, unit: int, *point: int) -> bool:
        """Add a measurement (cycles, instructions, issued, completed, total) of a launch; True if it is to be stopped now."""
        launch = self._followed.setdefault(unit, PrincipalKernelProjection()) if self._is_on else None
        try:
            return launch is not None and launch.stops(*point)
        except Exception:
            self._followed[unit] = None
            raise

    def is_stopped(self, unit: int) -> bool:
        """True if the simulator was told to stop this launch."""
        launch = self._followed.get(unit)
        return launch is not None and launch.is_stopped

    def forget(self, unit: int) -> None:
        """Remove a launch that is no longer in flight."""
        self._followed.pop(unit, None)

    def project(self, unit: int, counters: Mapping[str, float]) -> tuple[dict[str, float], ProjectionRecord]:
        """Projected counters of a stopped launch, and the journal's record of the projection."""
        launch = self._followed[unit]
        assert launch is not None, "it was stopped"
        return launch.project(counters), ProjectionRecord(launch.issued, launch.total, counters["cycles"])

    def count_result(self, counters: Mapping[str, float], projection: ProjectionRecord) -> None:
        """Count a projected result, for the warnings."""
        self.count += 1
        self.saved_cycles += counters["cycles"] - projection.simulated_cycles

    def warnings(self) -> list[str]:
        """Warnings about the projections, for the run's summary."""
        if not self._is_on:
            return []
        if not self.count:
            return ["policy.project had no effect: no simulated launch was stopped"]
        return [f"{self.count} simulated launches are projections, whose error is not known: no bound"]
