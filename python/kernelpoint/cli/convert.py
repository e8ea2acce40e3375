"""`kernelpoint convert`: traces of one simulator as traces of another."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import Console
from kernelpoint.convert import Conversion, convert_to_macsim
from kernelpoint.convert.macsim import LEVEL
from kernelpoint.errors import ConfigError
from kernelpoint.progress import WorkProgress

TARGETS = ("macsim",)
OTHER_FILES = 32  # that a simulator has open besides those of warps


def convert(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the converted traces.")],
    to: Annotated[str, typer.Option(help="The simulator that reads them: macsim.")] = "macsim",
    level: Annotated[int, typer.Option(help="Compression: 1 (fastest) to 9 (smallest).")] = LEVEL,
) -> None:
    """Write Accel-Sim traces in MacSim's NVBit layout: kernel_config.txt and a folder for each different launch.

    Launches with equal files share a folder. Stopped with Ctrl-C, the same command resumes where it was.

    Example: kernelpoint convert traces/kernelslist.g -o macsim-traces
    """
    if to not in TARGETS:
        raise ConfigError(f"--to: {to!r} is not known; allowed: {', '.join(TARGETS)}")
    console = Console()
    made = convert_to_macsim(traces, output, level, progress=conversion_progress(console.print))
    show_conversion(made, output, console)


def conversion_progress(log: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """Display of a conversion's two stages, called with stage, done and total."""
    stages: dict[str, WorkProgress] = {}

    def advance(stage: str, done: int, total: int) -> None:
        if stage not in stages:
            stages[stage] = WorkProgress(stage, "traces", log)
        stages[stage](done, total)

    return advance


def show_conversion(made: Conversion, output: Path, console: Console) -> None:
    """Print the written files, the approximations, and the number of files that MacSim will keep open."""
    console.print(
        f"{output / 'kernel_config.txt'}: {made.launches:,} launches in {made.folders:,} folders, "
        f"{made.warps:,} warps, {made.records:,} records",
        soft_wrap=True,
    )
    if made.approximated:
        counts = ", ".join(f"{opcode} ({count:,})" for opcode, count in made.approximated.items())
        console.print(f"MacSim has no number for these opcodes; the nearest it has stand for them: {counts}")
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    console.print(
        f"MacSim opens a file for each warp that is on a core: at most {made.most_warps:,} at once here, the limit of "
        f"this shell is {limit:,}",
        soft_wrap=True,
    )
    if made.most_warps + OTHER_FILES > limit:
        console.print(f"before running MacSim: ulimit -n {made.most_warps + OTHER_FILES}", soft_wrap=True)
