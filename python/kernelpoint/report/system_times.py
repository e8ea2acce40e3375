"""Times of a run's launches for simulators of whole systems: cycles of each launch over the clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run
from kernelpoint.report import End
from kernelpoint.report.launches import SIMULATED, launches
from kernelpoint.simulators import options_of, simulator


@dataclass(frozen=True)
class SystemTimes:
    """Times of the launches of a run in nanoseconds, for simulators of whole systems."""

    names: list[str]
    nanoseconds: np.ndarray
    simulated: np.ndarray
    half_width: float


def system_times(run: Run, megahertz: float | None, end: End = "estimate") -> SystemTimes:
    """Convert the cycles of a finished run's launches to times, over all processes.

    Args:
        megahertz: clock of the SMs; None: as the simulated GPU states it.
        end: `low` and `high` scale all times so that their sum is an end of the stated interval.

    Raises:
        ConfigError: no clock is known, it is no positive number, or the run states no half-width for an end.
        JournalError: the run has not ended.
    """
    period = 1000.0 / clock_of(run, megahertz)
    rows = list(launches(run))
    cycles = np.array([np.nan if row.cycles is None else row.cycles for row in rows])
    if not np.isfinite(cycles).all():
        raise ConfigError(
            f"{run.path}: the run states no cycles of launch {int(np.flatnonzero(~np.isfinite(cycles))[0])}"
        )
    simulated = np.array([row.how == SIMULATED for row in rows])
    total = run.ended().counters["cycles"]
    if end != "estimate":
        if not total.is_bounded:
            raise ConfigError(f"--end: {run.path} states no half-width of its cycles; allowed: estimate")
        shift = total.half_width * (1.0 if end == "high" else -1.0)
        cycles *= max(1.0 + shift / cycles.sum(), 0.0)
    names = [run.name_of(unit) for unit in range(len(rows))]
    return SystemTimes(names, cycles * period, simulated, total.half_width * period)


def clock_of(run: Run, megahertz: float | None) -> float:
    """Clock of the SMs in MHz: the given one, else that of the simulator."""
    if megahertz is None:
        host = run.header.host
        megahertz = None if host is None else simulator(host.simulator).clock(options_of(host.configuration))
        if megahertz is None:
            raise ConfigError("--clock: the run does not state the clock of its SMs; give it in MHz: --clock 1132")
    if not (math.isfinite(megahertz) and megahertz > 0.0):
        raise ConfigError(f"--clock: got {megahertz}; allowed: MHz, above 0")
    return megahertz
