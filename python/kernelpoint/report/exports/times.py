"""Times of kernels as a table, for simulators of serving and of clusters that look times up by kernel and shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernelpoint.journal import Run
from kernelpoint.journal.records import number
from kernelpoint.pages.tables import write_table
from kernelpoint.progress import silent
from kernelpoint.ranges import read_ranges
from kernelpoint.repeated import Texts
from kernelpoint.report.export import Export, Launch, Options, clock_of, launches, traces_of
from kernelpoint.traces import read_labels


class KernelTime(NamedTuple):
    """Times of all launches with one kernel, grid and block.

    Attributes:
        configuration: name of the simulator, and hash of the simulated GPU's configuration.
        range: path of the innermost range (phase, layer, module) that contains the launches; empty for a run without ranges.
        kernel: kernel name; empty if neither the journal nor a trace on disk has it.
        grid, block: extents as `XxYxZ`; empty if the traces are not on disk.
        launches, simulated: number of launches, and number of simulated launches.
        cycles: total cycles of the launches.
        cycles_half_width: half-width of the confidence interval of `cycles`; 0 if the run's total is exact. None for a kernel
            of several shapes or ranges, because a run states half-widths of whole kernels only.
        microseconds, microseconds_half_width: `cycles` and `cycles_half_width` divided by the clock.
    """

    configuration: str
    range: str
    kernel: str
    grid: str
    block: str
    launches: int
    simulated: int
    cycles: float
    cycles_half_width: float | None
    microseconds: float
    microseconds_half_width: float | None


class Times(Export):
    """Export as a table (CSV or Parquet) of the times of each kernel, grid and block."""

    def write(self, run: Run, path: Path, options: Options) -> str:
        return f"{write_table(path, KernelTime._fields, kernel_times(run, options.clock)):,} kernels and shapes"


def kernel_times(run: Run, megahertz: float | None) -> Iterator[KernelTime]:
    """Times of a finished run by kernel, grid and block, in the order of first launches.

    Args:
        megahertz: clock of the SMs in MHz; None: the clock that the simulator states.

    Raises:
        ConfigError: no clock is known.
        JournalError: the run has not ended.
        ProfileError: the file that assigns launches to ranges is missing.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="gcl")
    >>> [(row.kernel, row.grid, row.launches) for row in kernel_times(run, megahertz=1000.0)]
    [('axpy_f32', '8x1x1', 6)]
    """
    period = 1.0 / clock_of(run, megahertz)
    traced, all_launches = read_labels(Texts.joined(traces_of(run))), list(launches(run))
    shapes, ranges = [("", "")] * len(all_launches), [""] * len(all_launches)
    if traced.size == len(all_launches):
        shapes = [(_text(grid), _text(block)) for grid, block in zip(traced.grid, traced.block, strict=True)]
        if (value := run.header.config.get("ranges")) is not None:
            stated = read_ranges(value, traced, silent)
            ranges = [stated.paths[number] for number in stated.of_launch.tolist()]
    groups: dict[tuple[str, str, str, str], list[Launch]] = {}
    for of_range, shape, launch in zip(ranges, shapes, all_launches, strict=True):
        groups.setdefault((of_range, launch.name, *shape), []).append(launch)
    summary, kernels = run.ended(), [kernel for _, kernel, _, _ in groups]
    half_widths = {kernel.name: number(kernel.estimates["cycles"].half_width) for kernel in summary.kernels}
    is_exact = summary.counters["cycles"].half_width == 0.0
    configuration = f"{run.header.host.simulator} {run.header.hashes.get('simulator_config') or ''}".strip()
    for key, rows in groups.items():
        half_width = 0.0 if is_exact else half_widths.get(key[1]) if kernels.count(key[1]) == 1 else None
        cycles = float(sum(launch.cycles or 0.0 for launch in rows))
        yield KernelTime(
            configuration,
            *key,
            len(rows),
            sum(bool(launch.counters) for launch in rows),
            cycles,
            half_width,
            cycles * period,
            None if half_width is None else half_width * period,
        )


def _text(extents: np.ndarray) -> str:
    return "x".join(map(str, extents.tolist())) if extents.any() else ""
