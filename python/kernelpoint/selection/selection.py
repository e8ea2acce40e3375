"""A selection, its file (`.kpselect`), and the traces that a list has of its launches."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.archive import read_archive, write_archive
from kernelpoint.errors import ConfigError, PlanError, TraceError
from kernelpoint.estimation import Design
from kernelpoint.profiles.names import base_key, full_key
from kernelpoint.program import Program
from kernelpoint.program.kept import kept, with_kept
from kernelpoint.repeated import Texts, first_of_each
from kernelpoint.selection.census import tracers
from kernelpoint.traces import read_header, read_trace_list

FORMAT_VERSION = 2
_DESIGN = tuple(f.name for f in fields(Design) if f.name != "u")
_COLUMNS = ("label", "numbers", "stream", "start", "duration")


@dataclass(frozen=True)
class Selection:
    """Launches to be traced, and the design from which they were drawn.

    Attributes:
        program: all launches, with the tracer's numbers; design: strata, first sizes and all else that a policy fixed.
        origin: what the design was made from, by name, as of a plan; a run takes a selection only if it agrees.
        traced: bool [N], launches to trace.
        spare: draws traced in a stratum over those of the pass that the selection was made for.

    >>> from kernelpoint.program import ProgramBuilder
    >>> builder = ProgramBuilder("example")
    >>> for _ in range(3):
    ...     builder.add("gemm", (2, 1, 1), (64, 1, 1))
    >>> design = Design(np.zeros(3, int), np.array([1]), np.array([0.5, 0.1, 0.9]))
    >>> program = replace(builder.finish(), numbers=np.arange(1, 4), tracer="accelsim")
    >>> drawn = Selection(program, design, {}, np.array([False, True, False]), 0.0)
    >>> drawn.numbers.tolist(), drawn.with_traced(np.array([0])).numbers.tolist()
    ([2], [1, 2])
    """

    program: Program
    design: Design
    origin: dict[str, Any]
    traced: np.ndarray
    spare: float

    @property
    def numbers(self) -> np.ndarray:
        """int64 [n], ascending: numbers of the launches to trace, as the tracer counts."""
        return np.unique(np.asarray(self.program.numbers)[self.traced])

    def with_traced(self, launches: np.ndarray) -> Selection:
        """Selection with more launches (int64 [n]) to trace."""
        traced = self.traced.copy()
        traced[launches] = True
        return replace(self, traced=traced)

    def save(self, path: Path) -> None:
        """Write the selection; the file appears whole or not at all.

        Raises:
            PlanError: it cannot be written there.
        """
        launches = self.program
        about, arrays = kept(launches, _COLUMNS)
        arrays |= {f"design_{n}": np.asarray(v) for n in _DESIGN if (v := getattr(self.design, n)) is not None}
        arrays |= {f"counter_{i}": values for i, values in enumerate(launches.counters.values())}
        about |= {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "tracer": launches.tracer,
            "source": launches.source,
            "counters": list(launches.counters),
            "spare": self.spare,
        }
        try:
            write_archive(path, about, {**arrays, "traced": self.traced}, compress=True)
        except OSError as error:
            raise PlanError(f"cannot write the selection {path}: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path) -> Selection:
        """Read a selection.

        Raises:
            PlanError: the file is missing, damaged or of another version.
        """
        about, arrays = read_archive(path)
        if "tracer" not in about:
            raise PlanError(f"{path}: not a selection of `kernelpoint select`; the key `plan:` names a plan")
        version = about.get("version")
        if version != FORMAT_VERSION:
            raise PlanError(
                f"{path}: selection format {version!r}, this version reads {FORMAT_VERSION}; make it again with "
                "`kernelpoint select`"
            )
        try:
            return _made_of(about, arrays)
        except (ConfigError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PlanError(f"{path}: not a selection of `kernelpoint select` ({error}); make it again") from None


def _made_of(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Selection:
    """Read a selection from its file, and check that its parts agree."""
    origin, traced = about["origin"], arrays["traced"]
    size = len(traced)
    if about["tracer"] not in tracers() or origin["launches"] != [size] or traced.shape != (size,):
        raise ValueError("its launches do not add up")
    if not math.isfinite(about["spare"]) or traced.dtype != bool:
        raise ValueError("its sample is invalid")
    counters = {name: arrays[f"counter_{i}"] for i, name in enumerate(about["counters"])}
    if any(column.shape != (size,) for column in counters.values()):
        raise ValueError("its counters do not add up")
    program = Program(
        (size,),
        int(origin["seed"]),
        counters=counters,
        tracer=about["tracer"],
        source=str(about["source"]),
        to_trace=True,
    )
    program = with_kept(program, _COLUMNS, about, arrays)
    if program.numbers is None or program.numbers.min(initial=0) < 0:
        raise ValueError("its tracer's numbers do not add up")
    parts = {name.removeprefix("design_"): arrays[name] for name in arrays if name.startswith("design_")}
    design: dict[str, Any] = {name: value if value.ndim else value.item() for name, value in parts.items()}
    if len(design["strata"]) != size:
        raise ValueError("its strata are not as many as its launches")
    return Selection(program, Design(u=program.u, **design), origin, traced, float(about["spare"]))


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
    return launches.astype(np.int64), listed.traces


def _repeated(selection: Selection, path: str) -> tuple[np.ndarray, Texts]:
    """Launches of the census for each trace of a list, for a program with CUDA graphs, whose list repeats traces."""
    listed, numbers = read_trace_list(path), np.asarray(selection.program.numbers)
    launches = np.flatnonzero(np.isin(numbers, np.asarray(listed.numbers)))
    if not np.array_equal(numbers[launches], np.asarray(listed.numbers)):
        raise TraceError(
            f"{path}: {listed.size:,} launches; the program runs these traces {len(launches):,} times, in its own order: "
            "write its list with `kernelpoint file expand LIST --selection FILE`"
        )
    for trace, place in zip(listed.traces.distinct, first_of_each(listed.traces.numbers).tolist(), strict=True):
        _check(selection, int(launches[place]), trace)
    return launches.astype(np.int64), listed.traces


def _check(selection: Selection, launch: int, trace: str) -> None:
    census = selection.program
    shape = read_header(trace)
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
