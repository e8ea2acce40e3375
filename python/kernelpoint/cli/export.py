"""`kernelpoint export`: times of a run for simulators of whole systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kernelpoint.cli.console import Console
from kernelpoint.journal import load_run
from kernelpoint.report.system_times import End, system_times


def export(
    form: Annotated[
        Literal["chakra", "simai"],
        typer.Argument(help="chakra: an execution trace of MLCommons; simai: a text with the time of each module."),
    ],
    run: Annotated[Path, typer.Argument(help="The journal of a finished run.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    like: Annotated[
        Path | None,
        typer.Option(
            help="chakra: a Chakra trace whose GPU nodes get the times, or PyTorch profiler JSON, whose kernels and "
            "collectives become one chain. Without it: one chain of the launches."
        ),
    ] = None,
    clock: Annotated[
        float | None, typer.Option(help="Clock of the SMs in MHz; default: as Accel-Sim states it.")
    ] = None,
    end: Annotated[
        End, typer.Option(help="chakra: the estimate, or an end of its interval, to see its influence.")
    ] = "estimate",
) -> None:
    """Write the times of a run's launches, or modules, for a simulator of whole systems.

    Example: kernelpoint export chakra run.kpjournal -o run.0.et --clock 1132
    """
    loaded = load_run(run)
    if form == "simai":
        from kernelpoint.report.simai import write_simai

        text = f"{write_simai(loaded, output, clock):,} modules"
    else:
        from kernelpoint.report.chakra import write_chakra

        made = write_chakra(loaded, system_times(loaded, clock, end), output, like)
        text = f"{made.nodes:,} nodes, {made.filled:,} of {made.kernels:,} kernels with times of the run"
    Console().print(f"{output}: {text}", soft_wrap=True, highlight=False)
