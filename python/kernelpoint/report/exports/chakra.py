"""A run as an execution trace of Chakra, for simulators of whole systems (ASTRA-sim): the simulated times of its launches.

Chakra keeps whole microseconds. The rounding error of a duration is carried to the next launch, so no sum of launches
is off by more than half a microsecond.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.files import open_output_bytes
from kernelpoint.journal import Run
from kernelpoint.profiles import match
from kernelpoint.profiles.format import beginning_of, errors_of_file, open_text
from kernelpoint.profiles.formats import kineto
from kernelpoint.profiles.formats.chakra import (
    COLLECTIVES,
    COMM_COLL,
    COMP,
    is_chakra,
    is_kernel,
    read_trace,
    schema,
    set_value,
    write_trace,
)
from kernelpoint.program import Program
from kernelpoint.report import End
from kernelpoint.report.export import SIMULATED, Export, Launch, Options, clock_of, launches
from kernelpoint.session.verdict import verdict

VERSION = "1.0.0"
MATCHED_SHARE = 0.5
LONGEST = 1e15  # microseconds, or elements of a collective
BYTES = {
    "double": 8,
    "long": 8,
    "float": 4,
    "int": 4,
    "half": 2,
    "bfloat16": 2,
    "short": 2,
    "byte": 1,
    "char": 1,
    "bool": 1,
}


def nanoseconds_of(run: Run, rows: list[Launch], megahertz: float | None, end: End = "estimate") -> np.ndarray:
    """Time of each launch of a finished run in nanoseconds, float64 [launches].

    Args:
        run: the run.
        rows: all launches of the run.
        megahertz: clock of the SMs in MHz; None: the clock that the simulator states.
        end: `estimate`; or `low` or `high`, with which all times are scaled so that their sum is the lower or upper end of the
            confidence interval.

    Raises:
        ConfigError: the clock is unknown or not positive, or `end` is `low` or `high` and the run states no interval.
    """
    period = 1000.0 / clock_of(run, megahertz)
    if lacking := [unit for unit, row in enumerate(rows) if row.cycles is None or not math.isfinite(row.cycles)]:
        raise ConfigError(
            f"{run.path}: this export needs the cycles of every launch, but the run has none for launch {lacking[0]}; run "
            "again with cycles as a counter, or without failed launches"
        )
    cycles, total = np.array([row.cycles for row in rows], dtype=float), run.ended().counters["cycles"]
    if end != "estimate":
        if not total.is_bounded:
            raise ConfigError(
                f"--end: got {end!r}, but {run.path} states no half-width (error bound) of its cycles; allowed: estimate"
            )
        shift = total.half_width * (1.0 if end == "high" else -1.0)
        cycles *= max(1.0 + shift / cycles.sum(), 0.0)
    return cycles * period


class Chakra(Export):
    """Export as an execution trace of MLCommons Chakra, for ASTRA-sim."""

    def write(self, run: Run, path: Path, options: Options) -> str:
        """Write the times of a finished run's launches as a Chakra trace. Returns a sentence on its content.

        Args:
            run: the run.
            path: the file to write.
            options: options of the export. If `like` names a Chakra trace, its GPU nodes get the times. If `like` names a file
                of the PyTorch profiler, its kernels and collectives become one chain of nodes. Without `like`, the launches
                become one chain.

        Raises:
            ProfileError: the file `like` cannot be read, or its launches are not those of the run.
            SetupError: protobuf is not installed.
        """
        like, launched = options.like, list(launches(run))
        times = nanoseconds_of(run, launched, options.clock, options.end)
        metadata = schema().GlobalMetadata(version=VERSION)
        if like is None:
            nodes = _chain((row.name or "kernel", 0.0, {}) for row in launched)
        else:
            with errors_of_file(f"--like: {like}"):
                if is_chakra(beginning_of(like).raw):
                    metadata, nodes = read_trace(like)
                else:
                    nodes = _chain(_events(like))
        kernels = sorted(filter(is_kernel, nodes), key=lambda node: node.id)
        rows, carried = _matched(kernels, [row.name for row in launched], like), 0.0
        for node, row in zip(kernels, rows.tolist(), strict=True):  # whole microseconds; the rounding error is carried
            nanoseconds = float(times[row]) if row >= 0 else 1000.0 * node.duration_micros
            carried += nanoseconds
            node.duration_micros = round(carried / 1000.0)
            carried -= 1000.0 * node.duration_micros
            set_value(node, "nanoseconds", double_val=nanoseconds)
            if row >= 0:
                set_value(node, "simulated", bool_val=launched[row].how == SIMULATED)
        half_width = run.ended().counters["cycles"].half_width * 1000.0 / clock_of(run, options.clock)
        set_value(metadata, "total_nanoseconds", double_val=float(times.sum()))
        if math.isfinite(half_width):
            set_value(metadata, "half_width_nanoseconds", double_val=half_width)
        set_value(metadata, "statement", string_val=f"KernelPoint: {verdict(run.ended())}")
        with open_output_bytes(path) as file:
            write_trace(file, metadata, nodes)
        return f"{len(nodes):,} nodes, {int((rows >= 0).sum()):,} of {len(kernels):,} kernels with times of the run"


def _matched(kernels: list[Any], names: list[str], like: Path | None) -> np.ndarray:
    """int64 [kernels]: the launch of the run that each node is, or -1."""
    if len(kernels) == len(names) and (like is None or not any(names)):
        return np.arange(len(kernels))
    rows = match(Program.of(names), Program.of([node.name for node in kernels])).rows
    if not any(names) or (rows >= 0).sum() < MATCHED_SHARE * min(len(kernels), len(names)):
        raise ProfileError(
            f"--like: {like} has {len(kernels):,} kernels, of which {int((rows >= 0).sum()):,} match one of the "
            f"{len(names):,} launches of the run; it seems to be of another workload: give a trace of this one"
        )
    return rows


def _chain(launches: Iterable[tuple[str, float, dict[str, Any]]]) -> list[Any]:
    """Nodes of a chain of launches (name, microseconds, collective arguments); each depends on the node before it."""
    nodes: list[Any] = []
    for number, (name, microseconds, about) in enumerate(launches, 1):
        node = schema().Node(id=number, name=name, type=COMP, duration_micros=round(microseconds))
        node.data_deps.extend([number - 1] if nodes else [])
        set_value(node, "is_cpu_op", bool_val=False)
        if about:
            node.type = COMM_COLL
            for key, value in about.items():
                set_value(node, key, int64_val=value)
        nodes.append(node)
    return nodes


def _events(file: Path) -> list[tuple[str, float, dict[str, Any]]]:
    """Kernels of PyTorch profiler JSON in the order of their launches."""
    kernels = []
    with open_text(file) as text:
        for event in kineto.events(text, str(file)):
            if str(event.get("cat", "")).lower() != "kernel":
                continue
            begin, duration = event.get("ts", 0), event.get("dur", "nothing")
            if not all(isinstance(time, int | float) and 0 <= time < LONGEST for time in (begin, duration)):
                raise ProfileError(
                    f"--like: {file}: a kernel has the begin and duration {str((begin, duration))[:100]}; allowed: numbers of "
                    "microseconds; export the trace again"
                )
            about = event["args"] if isinstance(event.get("args"), dict) else {}
            order = kineto.integer(about.get("correlation", about.get("correlation_id", 0)))
            kernels.append((order, begin, str(event.get("name", "")), float(duration), _collective(about)))
    if not kernels:
        raise ProfileError(f"--like: {file} has no kernels; give a trace that has the kernels of this run")
    return [row[2:] for row in sorted(kernels, key=lambda row: row[:2])]


def _collective(about: dict[str, Any]) -> dict[str, int]:
    """Type and size in bytes of a collective, from the arguments of an NCCL kernel; empty for other kernels.

    >>> _collective({"Collective name": "allreduce", "In msg nelems": 8, "dtype": "BFloat16"})
    {'comm_type': 0, 'comm_size': 16}
    """
    name = str(about.get("Collective name", "")).lower().replace("_", "").removesuffix("base")
    elements, size = about.get("In msg nelems"), BYTES.get(str(about.get("dtype", "")).lower())
    if name not in COLLECTIVES or size is None or not isinstance(elements, int) or not 0 < elements < LONGEST:
        return {}
    return {"comm_type": COLLECTIVES.index(name), "comm_size": elements * size}
