"""`kernelpoint file pack`: the sample of a run in one file, and the folder that such a file makes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import log, say
from kernelpoint.journal import load_run
from kernelpoint.packs.contents import CONFIGURATION
from kernelpoint.packs.pack import write_pack
from kernelpoint.packs.unpack import is_pack, unpack
from kernelpoint.progress import elapsed_time


def pack(
    source: Annotated[Path, typer.Argument(help="The journal of a finished run, whose traces are on this machine; or a pack.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The pack to write, by default sample.kppack; of a pack, a new folder, by default beside it.",
        ),
    ] = None,
    most: Annotated[
        float | None,
        typer.Option(min=0, help="GiB that a pack may unpack to; by default 1, or 200 times its own size.", show_default=False),
    ] = None,
) -> None:
    """Write one file (a pack) with the traces and the state that a run's sample needs, to repeat the run on another machine; or
    unpack such a file.

    A pack is unpacked into one folder: trace list, traces, plan, configuration, and lists of accessed memory sectors. Accel-Sim
    unpacks a pack by itself: -kernel_sampling sample.kppack. `kernelpoint file inspect sample.kppack` shows the content.

    Example: kernelpoint file pack run.kpjournal -o sample.kppack
    """
    if is_pack(source):
        with elapsed_time("unpacking", log):
            listed = unpack(source, output, None if most is None else int(most * 2**30))
        say(f"{listed}: simulate this list with -kernel_sampling {listed.with_name(CONFIGURATION)}")
        return
    output = output or Path("sample.kppack")
    with elapsed_time("packing", log):
        made = write_pack(load_run(source), output)
    say(
        f"{output}: {made.simulated:,} of {made.launches:,} launches; {made.whole:,} of {made.traces:,} traces whole, "
        f"{made.footprints:,} footprints; {made.size:,} bytes"
    )
