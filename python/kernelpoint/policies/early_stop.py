"""Principal kernel projection of PKA (MICRO 2021): a launch is stopped where its IPC has become stable, its rest projected.

Symbols: t cycles since the launch began, I thread instructions so far, k CTAs issued, c CTAs completed, n CTAs of the whole
grid, S = max(k - c) the CTAs that the GPU holds at a time.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np

from kernelpoint.journal import ProjectionRecord

INTERVAL = 200  # cycles between two points
WINDOW = 3000  # cycles
THRESHOLD = 0.25  # of the coefficient of variation


class PrincipalKernelProjection:
    """Projection of one launch (PKA): its simulation stops once its IPC is stable and at least one wave of CTAs has finished;
    the rest of the launch is extrapolated.

    Every 200 cycles the caller gives stops(t, I, k, c, n):
        t: cycles since the launch began; I: thread instructions executed.
        k: CTAs issued; c: CTAs completed; n: CTAs of the grid.

    Formula: IPC_j = (I_j - I_{j-1}) / (t_j - t_{j-1}) at the points j of the last WINDOW cycles. Stop when sd(IPC) /
    mean(IPC) < THRESHOLD and c >= S, S the largest number of CTAs resident at a time. The issued CTAs then run to their end,
    after I_k instructions, and

        instructions = I_k n / k,    cycles = t + (instructions - I(t)) / mean(IPC);

    every other counter is multiplied by n / k.

    Source: Baddouh et al., "Principal Kernel Analysis", MICRO 2021, section on principal kernel projection; we did not have the
    paper's text. Model: a window of 3,000 cycles and a threshold of 0.25, as commonly quoted; the number of remaining
    instructions follows from the CTAs.

    The error of a projection is not known. A total that includes projections has no stated bound.

    Attributes:
        is_stopped: True from the moment the launch is to be stopped.
        issued: CTAs issued at the last point.
        total: CTAs of the grid.

    >>> launch = PrincipalKernelProjection()
    >>> for i in range(20):
    ...     if launch.stops(1000 + 1000 * i, 500 * i, 8 + 2 * i, 2 * i, 100):
    ...         break
    >>> launch.issued, launch.project({"cycles": 9000.0, "instructions": 4000.0})["cycles"]
    (16, 51000.0)
    """

    def __init__(self) -> None:
        self._points = array("q")  # t, I of each point
        self._resident = 0
        self._ipc = math.nan
        self.issued = self.total = 0
        self.is_stopped = False

    def stops(self, cycles: int, instructions: int, issued: int, completed: int, total: int) -> bool:
        """Add a measurement of the launch's progress, in the order of cycles; True if its simulation is to be stopped.

        Args:
            cycles: cycles since the launch began.
            instructions: thread instructions executed so far.
            issued: CTAs issued so far.
            completed: CTAs completed so far.
            total: CTAs of the grid.
        """
        if self.is_stopped:
            return True
        self._points.extend((cycles, instructions))
        self._resident = max(self._resident, issued - completed)
        self.issued, self.total = issued, total
        if completed < self._resident or not 0 < issued < total:
            return False
        begin = len(self._points) - 2  # of the first point that lies WINDOW cycles or more before the last
        while begin > 0 and cycles - self._points[begin] < WINDOW:
            begin -= 2
        points = np.array(self._points[begin:], dtype=float).reshape(-1, 2)
        if len(points) < 3 or cycles - points[0, 0] < WINDOW:
            return False
        passed, executed = np.diff(points, axis=0).T
        ipc = executed / passed
        self._ipc = float(executed.sum() / passed.sum())
        self.is_stopped = bool(self._ipc > 0 and ipc.std(ddof=1) < THRESHOLD * ipc.mean())
        return self.is_stopped

    def project(self, counters: Mapping[str, float]) -> dict[str, float]:
        """Extrapolate the counters of a stopped launch to the whole launch.

        Args:
            counters: counters after all issued CTAs have ended.
        """
        scale = self.total / self.issued
        whole = counters["instructions"] * scale
        rest = max(whole - self._points[-1], 0.0)
        cycles = max(self._points[-2] + rest / self._ipc, counters["cycles"])
        scaled = {name: value * scale for name, value in counters.items()}
        return {**scaled, "cycles": cycles, "instructions": whole}


class Projections:
    """Launches in simulation that may be stopped before their end; their results are extrapolated (projected).

    Args:
        is_on: False if the policy simulates whole launches; then no launch is tracked.

    Attributes:
        interval: cycles between two measurements of a launch; 0: none.
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
        """Add a measurement of a launch; True if the launch is to be stopped now.

        Args:
            unit: index of the launch.
            point: cycles, instructions, CTAs issued, CTAs completed, CTAs of the grid.
        """
        launch = self._followed.setdefault(unit, PrincipalKernelProjection()) if self._is_on else None
        try:
            return launch is not None and launch.stops(*point)
        except Exception:
            self._followed[unit] = None
            raise

    def is_stopped(self, unit: int) -> bool:
        """True if the simulator was asked to stop this launch."""
        launch = self._followed.get(unit)
        return launch is not None and launch.is_stopped

    def forget(self, unit: int) -> None:
        """Remove a launch whose simulation has ended."""
        self._followed.pop(unit, None)

    def project(self, unit: int, counters: Mapping[str, float]) -> tuple[dict[str, float], ProjectionRecord]:
        """Projected counters of a stopped launch, and the record of the projection for the journal."""
        launch = self._followed[unit]
        assert launch is not None, "it was stopped"
        return launch.project(counters), ProjectionRecord(launch.issued, launch.total, counters["cycles"])

    def count_result(self, counters: Mapping[str, float], projection: ProjectionRecord) -> None:
        """Count a launch that was stopped early and whose result was extrapolated; `warnings` states the count."""
        self.count += 1
        self.saved_cycles += counters["cycles"] - projection.simulated_cycles

    def warnings(self) -> list[str]:
        """Warnings about results extrapolated from launches that were stopped early, for the summary of the run."""
        if not self._is_on:
            return []
        if not self.count:
            return ["policy.project had no effect: no simulated launch was stopped"]
        return [f"{self.count} simulated launches are projections, whose error is not known: no bound"]
