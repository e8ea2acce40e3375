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
from kernelpoint.report.export import Export, Options, clock_of, launches, traces_of
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


Key = tuple[str, str, str, str]  # range, kernel, grid, block


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
    groups: dict[Key, list[tuple[float, bool]]] = {}
    for key, launch in zip(_keys(run), launches(run), strict=True):
        groups.setdefault(key, []).append((launch.cycles or 0.0, bool(launch.counters)))
    summary, kernels = run.ended(), [kernel for _, kernel, _, _ in groups]
    stated = {kernel.name: number(kernel.estimates["cycles"].half_width) for kernel in summary.kernels}
    is_exact = summary.counters["cycles"].half_width == 0.0
    configuration = f"{run.header.host.simulator} {run.header.hashes.get('simulator_config') or ''}".strip()
    for key, rows in groups.items():
        half_width = 0.0 if is_exact else stated.get(key[1]) if kernels.count(key[1]) == 1 else None
        cycles = float(sum(of_launch for of_launch, _ in rows))
        yield KernelTime(
            configuration,
            *key,
            len(rows),
            sum(simulated for _, simulated in rows),
            cycles,
            half_width,
            cycles * period,
            None if half_width is None else half_width * period,
        )


def _keys(run: Run) -> Iterator[Key]:
    """Range, kernel, grid and block of every launch: by the journal, and by traces that are on disk."""
    size, names = sum(run.launches), [run.name_of(unit) for unit in range(sum(run.launches))]
    traced = read_labels(Texts.joined(traces_of(run)))
    shapes = [("", "")] * size
    if traced.size == size:
        shapes = [(_text(grid), _text(block)) for grid, block in zip(traced.grid, traced.block, strict=True)]
    ranges = [""] * size
    if (value := run.header.config.get("ranges")) is not None and traced.size == size:
        stated = read_ranges(value, traced, silent)
        ranges = [stated.paths[number] for number in stated.of_launch.tolist()]
    for of_range, name, shape in zip(ranges, names, shapes, strict=True):
        yield of_range, name, *shape


def _text(extents: np.ndarray) -> str:
    return "x".join(map(str, extents.tolist())) if extents.any() else ""
