"""`kernelpoint pack`: the sample of a run in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import Console
from kernelpoint.journal import load_run
from kernelpoint.packs.pack import write_pack
from kernelpoint.progress import telling


def pack(
    run: Annotated[Path, typer.Argument(help="The journal of a finished run, whose traces are on this machine.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack to write.")] = Path("sample.kppack"),
) -> None:
    """Write what the sample of a run needs of its traces into one file, for another machine.

    Example: kernelpoint pack run.kpjournal -o sample.kppack
    """
    console = Console()
    with telling("packing", Console(stderr=True).print):
        made = write_pack(load_run(run), output)
    console.print(
        f"{output}: {made.simulated:,} of {made.launches:,} launches; {made.whole:,} of {made.traces:,} traces whole, "
        f"{made.footprints:,} footprints; {made.size:,} bytes",
        soft_wrap=True,
        highlight=False,
    )
