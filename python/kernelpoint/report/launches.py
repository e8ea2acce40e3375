"""Launches of a finished run, one after the other in program order, and the clock that makes times of their cycles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run
from kernelpoint.pages.tables import write_table
from kernelpoint.profiles.names import base_key
from kernelpoint.simulators import options_of, simulator

SIMULATED, ESTIMATED, PROJECTED = "simulated", "estimated", "projected"


@dataclass(frozen=True)
class Launch:
    """One launch of a run: kernel, simulated or estimated, stratum, cycles and counters.

    Attributes:
        process, launch: its place.
        kernel: its name, shortened; empty where it is not known.
        how: simulated, projected (stopped inside, the rest estimated), or estimated.
        cycles: its result or its estimate; None where there is neither.
        stratum: -1 where it was simulated for certain; None where the journal does not say.
        counters: of its result; empty where it was not simulated.
    """

    process: int
    launch: int
    kernel: str
    how: str
    cycles: float | None
    stratum: int | None
    counters: dict[str, float]


def launches(run: Run) -> Iterator[Launch]:
    """Iterate over all launches of a finished run.

    Raises:
        JournalError: the run has not ended, or its journal is inconsistent.
    """
    run.ended()
    estimates, unit = run.launch_estimates, 0
    for process, count in enumerate(run.launches):
        for launch in range(count):
            result = run.results.get(unit)
            how = ESTIMATED if result is None else SIMULATED if result.projection is None else PROJECTED
            cycles = None if result is None else result.counters["cycles"]
            stratum = None
            if estimates is not None:
                value, stratum = float(estimates.cycles[unit]), int(estimates.strata[unit])
                cycles = value if value == value else cycles
            counters = {} if result is None else result.counters
            yield Launch(process, launch, base_key(run.name_of(unit)), how, cycles, stratum, counters)
            unit += 1


COLUMNS = ("process", "launch", "kernel", "how", "stratum", "cycles")


def write_launches(run: Run, path: Path) -> int:
    """Write one row for each launch; the cycles add up to the estimated total. Returns the number of launches.

    Columns: process, launch (index in program order), kernel, how (simulated, estimated, projected), stratum (-1: simulated for
    certain), cycles, and every other counter where the launch was simulated.

    Raises:
        JournalError: the run has not ended.
        OSError: the file cannot be written.
    """
    others = [name for name in run.counters if name != "cycles"]
    rows = (
        (it.process, it.launch, it.kernel, it.how, it.stratum, it.cycles, *(it.counters.get(name) for name in others))
        for it in launches(run)
    )
    return write_table(path, [*COLUMNS, *others], rows)


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
