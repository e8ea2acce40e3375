"""`kernelpoint lab synth`: write a synthetic workload as traces of Accel-Sim or MacSim."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say
from kernelpoint.cli.convert import conversion_progress
from kernelpoint.errors import ConfigError
from kernelpoint.progress import WorkProgress
from kernelpoint_lab.synth.compose import Request, compose, prepare
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.lists import LIST, Totals, write_list
from kernelpoint_lab.synth.macsim import write_macsim_list
from kernelpoint_lab.synth.sizes import parse_sizes, sizes_of
from kernelpoint_lab.synth.workloads import DEFAULT_LAUNCHES, WORKLOADS

FORMATS = ("accelsim", "tracez", "macsim")


def synth(
    name: Annotated[str | None, typer.Argument(help="A workload or a kernel family; see --list.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the traces.")] = None,
    launches: Annotated[
        int | None, typer.Option(help=f"Kernel launches in the list. [default: {DEFAULT_LAUNCHES}; a family: 1]")
    ] = None,
    scale: Annotated[str, typer.Option(help="All sizes at once: small, medium or large.")] = "small",
    sizes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="One size, such as rows=256; see --list. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the list in a folder that is not empty.")] = False,
    tracer_version: Annotated[
        int | None, typer.Option(help="Accel-Sim tracer version: 3 to 6. [default: 3; of tracez: 6]")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="accelsim (text), tracez (Accel-Sim 2.0's compressed traces) or macsim.")
    ] = "accelsim",
    values: Annotated[
        bool, typer.Option("--values", help="Write the values of register operands too (tracer version 6).")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Show workloads and families with their sizes.")] = False,
) -> None:
    """Write a synthetic workload: kernel-N.traceg files, kernelslist.g and workload.json.

    With --format tracez: kernel-N.tracez instead. With --format macsim: Kernel<N> folders, kernel_config.txt,
    kernel_names.txt and workload.json. Equal launches share one trace. The traces follow the shape of real ones and are no
    real program's.

    Example: kernelpoint lab synth transformer-decode -o traces --launches 1000
    """
    if listing:
        _show()
        return
    if name is None or output is None:
        raise ConfigError("a name and -o FOLDER are needed; `kernelpoint lab synth --list` shows the names")
    request = compose(name, scale, seed, launches, parse_sizes(sizes or []))
    if format_ not in FORMATS:
        raise ConfigError(f"--format is {format_!r}; allowed: {', '.join(FORMATS)}")
    if values and (format_ == "macsim" or tracer_version not in (None, 6)):
        raise ConfigError("--values is given; it needs tracer version 6, --format accelsim or tracez")
    if format_ == "macsim":
        _write_macsim(request, output, force)
        return
    ending = "tracez" if format_ == "tracez" else "traceg"
    version = tracer_version if tracer_version is not None else 6 if values or ending == "tracez" else 3
    prepare(output, force, version, ending)
    totals = _write(request, output, version, ending, seed if values else None)
    say(
        f"{output / LIST}: {totals.launches:,} launches of {totals.files:,} traces, {totals.bytes / 1e6:,.1f} MB, "
        f"{totals.warp_instructions:,} warp instructions"
    )


def _write_macsim(request: Request, output: Path, force: bool) -> None:
    composing = WorkProgress("composing", "launches", say)
    _, made = write_macsim_list(
        request,
        output,
        force,
        lambda totals: composing(totals.launches, request.launches),
        conversion_progress(say),
    )
    for line in made.sentences(output):
        say(line)


def _write(request: Request, output: Path, version: int, ending: str, values: int | None) -> Totals:
    writing = WorkProgress("writing", "launches", say)

    def advance(totals: Totals) -> None:
        writing(totals.launches, request.launches)

    made, count = request.sequence, request.launches
    return write_list(made, output, count, request.description, version, ending, values, advance)


def _show() -> None:
    say("sizes are set with --set NAME=NUMBER; three values are those at small / medium / large\n")
    for workload in WORKLOADS.values():
        say(f"{workload.name} (workload): {workload.what}")
        shapes = [sizes_of(shape) for shape in workload.shapes.values()]
        meanings = {field.name: field.metadata["size"].what for field in fields(workload.shapes["small"])}
        for name, meaning in meanings.items():
            say(f"  {name}: {meaning}; {' / '.join(','.join(map(str, shape[name])) for shape in shapes)}")
    say()
    for family in FAMILIES.values():
        say(f"{family.name} (kernel family): {family.what}")
        sizes = [f"{name} {' / '.join(map(str, values))}" for name, values in family.parameters.items() if name != "width"]
        if "width" in family.parameters:
            sizes.append(f"width {', '.join(map(str, family.widths))} bytes")
        say(f"  {'; '.join(sizes)}")
