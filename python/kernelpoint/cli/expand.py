"""`kernelpoint file expand`: write the list of a program with CUDA graphs, whose nodes were traced once each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from kernelpoint.admission import admit, admitted_profile, check_kinds, findings_of
from kernelpoint.cli.console import log, say
from kernelpoint.errors import ConfigError
from kernelpoint.profiles import kinds_of
from kernelpoint.program import Program
from kernelpoint.selection import Selection
from kernelpoint.selection.census import repetition
from kernelpoint.selection.lists import write_repeated
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import labelled


def expand(
    traces: Annotated[Path, typer.Argument(help="The list in which each node of a graph was traced once, or its folder.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A list beside the other (NAME.g), or a folder, which gets links.")
    ],
    profile: Annotated[
        Path | None,
        typer.Option(
            help="A profile of the program with the kernels of its graphs: nsys with --cuda-graph-trace=node, the PyTorch "
            "profiler, rocprof."
        ),
    ] = None,
    selection: Annotated[
        Path | None, typer.Option(help="In place of a profile: the selection (.kpselect) whose launches were traced.")
    ] = None,
    process: Annotated[
        int | None, typer.Option(help="The process of the profile whose launches the list has, where it has several.")
    ] = None,
    alike: Annotated[
        bool,
        typer.Option("--alike", help="The processes of the profile do the same (tensor parallel): take one for all."),
    ] = False,
    device: Annotated[int | None, typer.Option(help="The GPU, where the profile has launches of several.")] = None,
    accept: Annotated[
        list[str] | None, typer.Option(help="A kind of finding that does not refuse the input; once for each.")
    ] = None,
) -> None:
    """Write a trace list that names each trace as often, and in the order, as the program ran the launch.

    A tracer writes each node of a CUDA graph once, although the graph runs many times; a profile shows every run. The new list
    repeats the trace of a node for each run. A list has the launches of one process: for a profile of several processes, name
    one with --process, or say with --alike that all run the same launches.

    Example: kernelpoint file expand traces/kernelslist.g --profile decode.sqlite -o program
    """
    check_kinds(accept or (), "--accept")
    if (profile is None) == (selection is None):
        raise ConfigError("give one of --profile (of the program) and --selection (whose launches were traced), not both")
    if profile is None:
        _expand_selection(traces, Selection.load(selection or ""), output)
        return
    admitted = admitted_profile(profile, accept or (), log, device, "")
    program = _of_one_process(admitted, process, alike)
    launches = labelled(read_trace_list(str(traces)))
    repeated = repetition(program, launches)
    admit(findings_of(repeated), accept or (), log, f"{program.source}: ")
    traced = repeated.listed[repeated.listed >= 0]
    if not len(traced):
        raise ConfigError(
            f"--profile: no launch of {profile} is in {traces}; it seems to be of another program: give a profile of "
            "the program that was traced"
        )
    path = write_repeated(traces, traced, output)
    say(f"{path}: {len(traced):,} launches of {len(np.unique(traced)):,} traces, {repeated.replays:,} replays of graphs")


def _expand_selection(traces: Path, selection: Selection, output: Path) -> None:
    """Write the launches of a selection whose traces are in a list."""
    listed = np.asarray(read_trace_list(str(traces)).numbers)
    order = np.argsort(listed, kind="stable")
    numbers = np.asarray(selection.program.numbers)
    place = np.minimum(np.searchsorted(listed[order], numbers), len(listed) - 1)
    rows = np.where(listed[order][place] == numbers, order[place], -1)
    path = write_repeated(traces, rows[rows >= 0], output)
    say(f"{path}: {int((rows >= 0).sum()):,} launches of {len(listed):,} traces")


def _of_one_process(profile: Program, process: int | None, alike: bool) -> Program:
    """Launches of the process that `--process` names; without it, of the first process, if all run the same launches."""
    if process is not None:
        return profile.of_process(process)
    numbers = profile.processes
    if len(numbers) == 1:
        return profile
    listed = ", ".join(f"{n} ({c:,} launches)" for n, c in zip(numbers, profile.counts, strict=True))
    if not alike:
        raise ConfigError(
            f"--process: {profile.source} has launches of {len(numbers)} processes: {listed}; name one process, or "
            "give --alike if all processes run the same launches"
        )
    first = profile.of_process(numbers[0])
    for number in numbers[1:]:
        other = profile.of_process(number)
        same = other.size == first.size and np.array_equal(*kinds_of(other, first))
        if not same:
            raise ConfigError(f"--alike: process {number} runs other launches than {numbers[0]}; name one with --process")
    log(f"{len(numbers)} processes run the same launches: the list of process {numbers[0]} is taken for all of them")
    return first
