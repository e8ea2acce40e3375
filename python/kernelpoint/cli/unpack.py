"""`kernelpoint unpack`: a folder from a pack, in which the run can be made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import Console
from kernelpoint.packs.unpack import CONFIGURATION
from kernelpoint.packs.unpack import unpack as write_folder
from kernelpoint.progress import telling


def unpack(
    pack: Annotated[Path, typer.Argument(help="A pack, as `kernelpoint pack` writes it.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A new folder for list, traces, plan and configuration.")
    ],
) -> None:
    """Write the list, traces, plan and configuration of a pack into a folder, and its footprints into the cache.

    Example: kernelpoint unpack sample.kppack -o sample
    """
    with telling("unpacking", Console(stderr=True).print):
        listed = write_folder(pack, output)
    Console().print(
        f"{listed}: simulate this list with -kernel_sampling {output / CONFIGURATION}", soft_wrap=True, highlight=False
    )
