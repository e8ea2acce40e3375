"""`kernelpoint compare RUN RUN`: two configurations of a simulated GPU, launch by launch."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import typer
from rich.table import Table

from kernelpoint.cli.console import Console
from kernelpoint.evaluation.pair_page import pair_page
from kernelpoint.files import write_output
from kernelpoint.journal import load_run
from kernelpoint.paired import Comparison, CounterRow
from kernelpoint.paired import compare_runs as compare
from kernelpoint.report.sentences import number


def show_comparison(first: Path, second: Path, as_json: bool, page: Path | None) -> None:
    """Print how the totals of two sampled runs of the same list compare; `page`: write it as a page too."""
    a, b = load_run(first), load_run(second)
    result = compare(a, b)
    if as_json:
        typer.echo(json.dumps(result.record()))
        return
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(_table(result, first, second))
    console.print(
        f"{result.common:,} of {result.launches:,} launches sampled in both ({result.first_drawn:,} and "
        f"{result.second_drawn:,}); every half-width by itself at {100 * result.confidence:g} %",
        highlight=False,
    )
    for note in result.notes:
        console.print(f"note: {note}", soft_wrap=True, highlight=False)
    if page is not None:
        write_output(page, pair_page(a, b, result))
        console.print(f"page: {page}", soft_wrap=True, highlight=False)


def _table(result: Comparison, first: Path, second: Path) -> Table:
    table = Table(title=f"A = {first}, B = {second}")
    for heading in ("counter", "A", "B - A", "+-", "B / A", "+-", "separate +-", "tighter"):
        table.add_column(heading, justify="left" if heading == "counter" else "right", no_wrap=True)
    for row in result.rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: CounterRow) -> list[str]:
    return [
        row.counter,
        *(number(v) if math.isfinite(v) else "-" for v in (row.first, row.difference.value, row.difference.half_width)),
        _number(row.ratio.value, "{:.4f}"),
        _number(row.ratio.half_width, "{:.4f}"),
        _number(row.separate, "{:.4f}"),
        _number(row.tighter, "{:.1f}x"),
    ]


def _number(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "-"
