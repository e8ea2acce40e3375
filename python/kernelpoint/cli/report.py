"""`kernelpoint report`: the summary of a run, for people or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kernelpoint.report.run import RunReport, load_run


def report(
    run: Annotated[Path, typer.Argument(help="The journal of the run (.kpjournal).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Show what a run simulated, skipped and estimated."""
    loaded = load_run(run)
    console = Console()
    if as_json:
        console.print_json(json.dumps(loaded.summary))
        return
    console.print(_counters(loaded))
    for line in loaded.sentences():
        console.print(line, soft_wrap=True)


def _counters(loaded: RunReport) -> Table:
    table = Table(title=f"{loaded.path} ({loaded.policy})")
    for heading in ("counter", "estimated total", "half-width", "relative", "simulated"):
        table.add_column(heading, justify="left" if heading == "counter" else "right")
    for name, row in loaded.summary["counters"].items():
        relative = row["relative_half_width"]
        table.add_row(
            name,
            _number(row["estimate"]),
            _number(row["half_width"]),
            "-" if relative is None else f"{100 * relative:.3f} %",
            _number(row["simulated"]),
        )
    return table


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:,.0f}"
