"""Export of a run to files for other programs: a table of launches, and the base class of further formats (`exports`)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.journal import Run
from kernelpoint.pages.tables import write_table
from kernelpoint.profiles.names import base_key
from kernelpoint.registry import Registry
from kernelpoint.repeated import NO_TEXTS, Texts
from kernelpoint.report import End
from kernelpoint.simulators import options_of, simulator
from kernelpoint.traces import read_trace_list


@dataclass(frozen=True)
class Options:
    """Options of an export: a file with times of launches that `kernelpoint report --as` writes for another tool."""

    like: Path | None = None
    clock: float | None = None
    end: End = "estimate"


class Export(ABC):
    """Base class of the file formats that `kernelpoint report --as` writes. Other packages register formats in the entry point
    group `kernelpoint.exports`.
    """

    @abstractmethod
    def write(self, run: Run, path: Path, options: Options) -> str:
        """Write the file for a finished run. Returns a sentence on its content.

        Raises:
            ConfigError, ProfileError, SetupError: an option, an input or a package is missing, or refused.
            JournalError: the run has not ended.
        """


EXPORTS: Registry[Export] = Registry("--as", Export, "kernelpoint.report.exports", "kernelpoint.exports")


# ---- launches --------------------------------------------------------------------------------------------------------

SIMULATED, ESTIMATED, PROJECTED = "simulated", "estimated", "projected"


class Launch(NamedTuple):
    """One launch of a finished run, with its simulated or estimated cycles.

    Attributes:
        process, launch: index of the process, and index of the launch in program order within it.
        kernel: shortened kernel name; empty if unknown.
        how: simulated, projected (stopped before its end), or estimated.
        stratum: index of the stratum (group of launches sampled separately); -1 for a launch that is always simulated; None if
            the journal does not contain it.
        cycles: simulated or estimated cycles; None if there are neither.
        counters: simulated counters by name; empty if the launch was not simulated.
        name: kernel name with template arguments and namespaces; empty if unknown.
    """

    process: int
    launch: int
    kernel: str
    how: str
    stratum: int | None
    cycles: float | None
    counters: dict[str, float]
    name: str = ""


def launches(run: Run) -> Iterator[Launch]:
    """Iterator over all launches of a finished run, in program order.

    Raises:
        JournalError: the run has not ended, or the records in its journal contradict each other.
    """
    run.ended()
    estimates, unit = run.launch_estimates, 0
    for process, count in enumerate(run.launches):
        for launch in range(count):
            result, name = run.results.get(unit), run.name_of(unit)
            how = ESTIMATED if result is None else SIMULATED if result.projection is None else PROJECTED
            counters = {} if result is None else result.counters
            cycles, stratum = counters.get("cycles"), None
            if estimates is not None:
                value, stratum = float(estimates.cycles[unit]), int(estimates.strata[unit])
                cycles = cycles if math.isnan(value) else value
            yield Launch(process, launch, base_key(name), how, stratum, cycles, counters, name)
            unit += 1


def write_launches(run: Run, path: Path) -> int:
    """Write a table of all launches of a finished run, as CSV or Parquet. Returns the number of launches.

    Columns:

    * process, launch: index of the process, and index of the launch in program order.
    * kernel: kernel name.
    * how: simulated, estimated, or projected (stopped before its end).
    * stratum: index of the stratum (group of launches sampled separately); -1 for a launch that is always simulated.
    * cycles: simulated or estimated; they add up to the estimated total.
    * every other counter, for simulated launches.

    Raises:
        JournalError: the run has not ended.
        OSError: the file cannot be written.
    """
    others = [name for name in run.counters if name != "cycles"]
    rows = ((*it[:-2], *(it.counters.get(name) for name in others)) for it in launches(run))
    return write_table(path, [*Launch._fields[:-2], *others], rows)


def clock_of(run: Run, megahertz: float | None) -> float:
    """Clock of the SMs in MHz: `megahertz` if it is given, or else the clock that the simulator states."""
    if megahertz is None:
        host = run.header.host
        megahertz = simulator(host.simulator).clock(options_of(host.configuration))
        if megahertz is None:
            raise ConfigError("--clock: the run does not state the clock rate of its GPU; give it in MHz, e.g. --clock 1132")
    if not (math.isfinite(megahertz) and megahertz > 0.0):
        raise ConfigError(f"--clock: got {megahertz}; allowed: a number of MHz above 0")
    return megahertz


def traces_of(run: Run) -> list[Texts]:
    """Path of the trace of each launch, for each process; empty if the trace list is no longer on disk."""
    of_processes = []
    for name, count in zip(run.header.host.lists, run.launches, strict=False):
        try:
            paths = read_trace_list(name or "").traces
        except (OSError, TraceError):
            paths = NO_TEXTS
        of_processes.append(paths if len(paths) == count else NO_TEXTS)
    return of_processes
