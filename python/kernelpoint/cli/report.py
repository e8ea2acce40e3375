"""`kernelpoint report`: the summary of a run, for people, as JSON, or as a page of pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run, load_run
from kernelpoint.report.sentences import percent, sentences


def report(
    run: Annotated[Path, typer.Argument(help="The journal of the run (.kpjournal).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page with pictures here (.html).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    full_run: Annotated[
        Path | None, typer.Option(help="Journal of a full run of the same list, to compare with.")
    ] = None,
) -> None:
    """Show what a run simulated, skipped and estimated."""
    if full_run is not None and output is None:
        raise ConfigError("--full-run: goes with --output FILE, on whose page the two are compared")
    loaded = load_run(run)
    if output is not None:
        from kernelpoint.report.write import write_page

        write_page(loaded, output, load_run(full_run) if full_run else None)
    console = Console(markup=False)
    if as_json:
        typer.echo(json.dumps(loaded.content()))
        return
    console.print(_counters(loaded))
    for line in sentences(loaded):
        console.print(line, soft_wrap=True, highlight=False)


def _counters(loaded: Run) -> Table:
    table = Table(title=f"{loaded.path} ({loaded.policy})")
    for heading in ("counter", "estimated total", "half-width", "relative", "simulated"):
        table.add_column(heading, justify="left" if heading == "counter" else "right")
    for name, row in loaded.estimates().items():
        table.add_row(
            name,
            _number(row.estimate),
            _number(row.half_width),
            percent(row.relative_half_width),
            _number(row.simulated),
        )
    return table


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.5g}" if value % 1 and abs(value) < 100 else f"{value:,.0f}"
