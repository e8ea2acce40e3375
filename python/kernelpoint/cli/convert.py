"""`kernelpoint file convert`: traces of one simulator as traces of another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say
from kernelpoint.errors import ConfigError
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.simulators import simulators


def convert(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the converted traces.")],
    to: Annotated[str, typer.Option(help="The simulator that reads them: macsim.")] = "macsim",
    level: Annotated[int, typer.Option(help="Compression: 1 (fastest) to 9 (smallest).")] = 1,
) -> None:
    """Convert Accel-Sim traces to MacSim's layout: kernel_config.txt, and a folder for each different launch.

    Launches with equal files share a folder. The output folder appears when it is complete.

    Example: kernelpoint file convert traces/kernelslist.g -o macsim-traces
    """
    targets = {simulator.name: simulator.convert for simulator in simulators() if simulator.convert is not None}
    if to not in targets:
        raise ConfigError(f"--to: got {to!r}; allowed: {', '.join(targets)}")
    for line in targets[to](traces, output, level, conversion_progress(say)):
        say(line)


def conversion_progress(log: Log) -> Callable[[str, int, int], None]:
    """Function that shows the progress of a conversion of traces. It is called with the stage, the finished launches, and the
    number of launches.
    """
    stages: dict[str, WorkProgress] = {}

    def advance(stage: str, done: int, total: int) -> None:
        if stage not in stages:
            stages[stage] = WorkProgress(stage, "traces", log)
        stages[stage](done, total)

    return advance
