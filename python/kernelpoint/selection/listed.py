"""The launches of a census that a trace list contains, each checked against the census."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import TraceError
from kernelpoint.profiles.names import base_key, full_key
from kernelpoint.repeated import Texts, first_of_each
from kernelpoint.selection.selection import Selection
from kernelpoint.traces import read_header, read_trace_list

SHOWN = 3  # launches that a message names


def listed_launches(selection: Selection, path: str) -> tuple[np.ndarray, Texts]:
    """Launch of the census for each trace of a list, int64 [n], and the traces.

    A trace belongs to the launch that its number names (N of `kernel-N`, `Kernel<N>`); name, grid and block must
    agree.

    Raises:
        TraceError: a trace has no number or one that the census lacks, two have the same, they are not in order, or one is
            of another launch than the census says; or launches of the first pass have no trace. The message names launch
            and trace.

    >>> from pathlib import Path
    >>> from kernelpoint.estimation import Design
    >>> from kernelpoint.selection import read_census
    >>> Path("drawn").mkdir()
    >>> _ = Path("drawn/kernel-1.traceg").write_bytes(Path("traces/kernel-1.traceg").read_bytes())
    >>> row = "0,axpy_f32,8x1x1,256x1x1,32,0,7,0,5.5"
    >>> _ = Path("times.csv").write_text(f"idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n{row}\\n")
    >>> census = read_census(Path("times.csv"), "accelsim", lambda line: None)
    >>> design = Design(np.zeros(1, int), np.ones(1, int), np.full(1, 0.5))
    >>> listed_launches(Selection(census, design, {}, np.ones(1, bool), 1.0), "drawn")
    (array([0]), Texts(['drawn/kernel-1.traceg']))
    """
    listed, program = read_trace_list(path), selection.program
    numbers, listed_numbers = np.asarray(program.numbers), np.asarray(listed.numbers)
    if not np.array_equal(numbers, np.arange(program.size) + numbers[:1]):
        return _repeated(selection, path)
    first_number = int(numbers[0])
    launches = listed_numbers - first_number
    for row in np.flatnonzero((listed_numbers < 0) | (launches < 0) | (launches >= program.size))[:1].tolist():
        raise TraceError(
            f"{listed.traces[row]}: its number {int(listed_numbers[row])} is no launch of the census {program.source} "
            f"({first_number} to {first_number + program.size - 1})"
        )
    distinct, first = np.unique(launches, return_index=True)
    if len(distinct) < len(launches):
        row = int(np.setdiff1d(np.arange(len(launches)), first)[0])
        raise TraceError(f"{path}: launch {int(launches[row])} ({listed.traces[row]}) stands in the list twice")
    if len(back := np.flatnonzero(np.diff(launches) < 0)):
        row = int(back[0]) + 1
        raise TraceError(
            f"{path}: launch {int(launches[row])} ({listed.traces[row]}) stands after launch {int(launches[row - 1])}; the "
            "list has to be in the order of the program"
        )
    for launch, trace in zip(launches.tolist(), listed.traces, strict=True):
        _check(selection, launch, trace)
    return launches, listed.traces


def _repeated(selection: Selection, path: str) -> tuple[np.ndarray, Texts]:
    """As listed_launches, for a program with graphs: the list names the trace of a node as often as it ran."""
    listed, numbers = read_trace_list(path), np.asarray(selection.program.numbers)
    launches = np.flatnonzero(np.isin(numbers, np.asarray(listed.numbers)))
    if not np.array_equal(numbers[launches], np.asarray(listed.numbers)):
        raise TraceError(
            f"{path}: {listed.size:,} launches; the program runs these traces {len(launches):,} times, in its own order: "
            "write its list with `kernelpoint file expand LIST --selection FILE`"
        )
    for trace, place in zip(listed.traces.distinct, first_of_each(listed.traces.numbers).tolist(), strict=True):
        _check(selection, int(launches[place]), trace)
    return launches, listed.traces


def _check(selection: Selection, launch: int, trace: str) -> None:
    census = selection.program
    shape = read_header(trace).shape
    name, grid, block = census.names[launch], tuple(census.grid[launch].tolist()), tuple(census.block[launch].tolist())
    same_name = not name or full_key(name) == full_key(shape.kernel_name)
    same_name = same_name or base_key(name) == base_key(shape.kernel_name)
    if not same_name or (any(grid) and (grid, block) != (shape.grid, shape.block)):
        raise TraceError(
            f"{trace}: this trace is of {shape.kernel_name}, grid {shape.grid}, block {shape.block}; launch {launch} of the "
            f"census {census.source} is {name}, grid {grid}, block {block}: the program ran differently, so make "
            "census and traces again with the same input"
        )


def check_drawn(selection: Selection, drawn: np.ndarray, listed: np.ndarray, path: str) -> None:
    """Raise an error if a list lacks launches of the first pass.

    Raises:
        TraceError: names the first of them.
    """
    lacking = np.setdiff1d(drawn, listed)
    if len(lacking):
        numbers = ", ".join(str(n) for n in np.asarray(selection.program.numbers)[lacking[:SHOWN]].tolist())
        more = f" and {len(lacking) - SHOWN:,} more" if len(lacking) > SHOWN else ""
        raise TraceError(
            f"{path}: {len(lacking):,} launches of the first pass have no trace: the tracer's numbers {numbers}{more}; trace "
            "them with the script beside the selection"
        )
