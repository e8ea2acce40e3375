"""Times of kernels as a table, for simulators of serving and of clusters that look times up by kernel and shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from kernelpoint.errors import TraceError
from kernelpoint.extras import needs_extra
from kernelpoint.files import open_output_bytes
from kernelpoint.journal import Run
from kernelpoint.pages.tables import write_csv
from kernelpoint.report.launches import launches
from kernelpoint.report.system_times import clock_of
from kernelpoint.traces import launch_paths, read_header

Dims = tuple[int, int, int]
Shape = tuple[Dims, Dims]


@dataclass(frozen=True)
class KernelTime:
    """Launches of one kernel and shape.

    Attributes:
        configuration: of the simulated GPU: the simulator and the hash of its configuration.
        kernel: its name, empty where it is not known.
        grid, block: extents as `XxYxZ`; empty where the traces are not on disk.
        launches, simulated: their number, and how many of them were simulated.
        cycles: of all of them together, in cycles.
        cycles_half_width: of `cycles`; None where the run states none for these launches: a run states half-widths of whole
            kernels, so a kernel of several shapes has none.
        microseconds, microseconds_half_width: the same over the clock.
    """

    configuration: str
    kernel: str
    grid: str
    block: str
    launches: int
    simulated: int
    cycles: float
    cycles_half_width: float | None
    microseconds: float
    microseconds_half_width: float | None


COLUMNS = tuple(field.name for field in fields(KernelTime))


def kernel_times(run: Run, megahertz: float | None) -> Iterator[KernelTime]:
    """The rows of a finished run, in the order of first launches.

    Args:
        megahertz: clock of the SMs; None: as the simulated GPU states it.

    Raises:
        ConfigError: no clock is known. JournalError: the run has not ended.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="gcl")
    >>> [(row.kernel, row.grid, row.launches) for row in kernel_times(run, megahertz=1000.0)]
    [('axpy_f32', '8x1x1', 6)]
    """
    period = 1.0 / clock_of(run, megahertz)
    groups: dict[tuple[str, Shape | None], list[tuple[float, bool]]] = {}
    for unit, (launch, shape) in enumerate(zip(launches(run), _shapes(run), strict=True)):
        of_shape = groups.setdefault((run.name_of(unit), shape), [])
        of_shape.append((np.nan if launch.cycles is None else launch.cycles, bool(launch.counters)))
    stated = {kernel.name: kernel.estimates.get("cycles") for kernel in run.ended().kernels}
    shapes = [name for name, _ in groups]
    host = run.header.host
    configuration = f"{host.simulator if host else ''} {run.header.hashes.get('simulator_config') or ''}".strip()
    for (name, shape), rows in groups.items():
        estimate = stated.get(name) if shapes.count(name) == 1 else None
        half_width = None if estimate is None else estimate.half_width
        cycles = float(sum(of_launch for of_launch, _ in rows))
        yield KernelTime(
            configuration,
            name,
            "" if shape is None else "x".join(map(str, shape[0])),
            "" if shape is None else "x".join(map(str, shape[1])),
            len(rows),
            sum(simulated for _, simulated in rows),
            cycles,
            half_width,
            cycles * period,
            None if half_width is None else half_width * period,
        )


def write_times(run: Run, path: Path, megahertz: float | None) -> int:
    """Write the rows as CSV, or as Parquet where the file is called `.parquet`; returns their number.

    Raises:
        SetupError: Parquet, and pyarrow is not installed. ConfigError, JournalError: as :func:`kernel_times`.
    """
    if path.suffix != ".parquet":
        return write_csv(path, COLUMNS, _values(run, megahertz))
    with needs_extra("--as times: Parquet"):
        import pyarrow
        import pyarrow.parquet
    rows = list(_values(run, megahertz))
    table = pyarrow.table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
    with open_output_bytes(path) as file:
        pyarrow.parquet.write_table(table, file)
    return len(rows)


def _values(run: Run, megahertz: float | None) -> Iterator[tuple[object, ...]]:
    for row in kernel_times(run, megahertz):
        yield tuple(getattr(row, name) for name in COLUMNS)


def _shapes(run: Run) -> Iterator[Shape | None]:
    """Grid and block of every launch, from the headers of its traces; None for lists that are not on disk."""
    lists = run.header.host.lists if run.header.host else []
    shape_of: dict[str, Shape] = {}
    for process, count in enumerate(run.launches):
        shapes: list[Shape | None] = [None] * count
        try:
            paths = launch_paths((lists[process] if process < len(lists) else None) or "")
            for path in set(paths) - set(shape_of):
                header = read_header(path)
                shape_of[path] = header.shape.grid, header.shape.block
            if len(paths) == count:
                shapes = [shape_of[path] for path in paths]
        except (OSError, TraceError):
            pass
        yield from shapes
