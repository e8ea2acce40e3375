"""`kernelpoint join`: one list of the traces of several tracer runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import Console
from kernelpoint.selection.join import join_lists


def join(
    folders: Annotated[list[Path], typer.Argument(help="Folders of traces, each of one tracer run of one program.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the list and links to the traces.")],
) -> None:
    """Join the traces of several tracer runs of one program in one list.

    Example: kernelpoint join drawn/run-1/traces drawn/run-2/traces -o drawn/traces
    """
    launches = join_lists(folders, output)
    Console().print(f"{output}: {launches:,} launches of {len(folders)} tracer runs", soft_wrap=True)
