"""`kernelpoint compare`: every sampling method on the same workloads and budgets, against the full run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from kernelpoint.cli.compare_runs import show_comparison
from kernelpoint.cli.console import Console
from kernelpoint.errors import ConfigError
from kernelpoint.evaluation.evaluate import Row
from kernelpoint.evaluation.page import scatter_of
from kernelpoint.evaluation.run import ResultsFile, cells
from kernelpoint.evaluation.run import compare as compare_workload
from kernelpoint.evaluation.summary import Line, overall, per_workload
from kernelpoint.evaluation.text import BRIEF, HEADINGS, LEGEND, refusals
from kernelpoint.evaluation.text import cells as line_cells
from kernelpoint.evaluation.workload import HOST, Request, Workload, full_run, load_workload, parse_request
from kernelpoint.evaluation.write import write_files
from kernelpoint.policies.registry import load_policy, policy_names
from kernelpoint.progress import WorkProgress

WORKLOAD_HELP = "FILE with the full run's times or cycles of every launch, or KEY=VALUE,... as above. May be repeated."

WIDE_TERMINAL = 150  # columns of text from which on every column of the table fits


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Journals of two sampled runs of one list on two simulated GPUs; then without --workload."),
    ] = None,
    workload: Annotated[list[str] | None, typer.Option("--workload", "-w", help=WORKLOAD_HELP)] = None,
    policies: Annotated[str, typer.Option("--policies", "-p", help="Names separated by commas, or all.")] = "all",
    budgets: Annotated[str, typer.Option(help="Relative errors separated by commas.")] = "0.01,0.05",
    seeds: Annotated[int, typer.Option(min=1, max=1_000_000, help="Runs of each cell, with seeds 0, 1, ...")] = 10,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            help="Folder for comparison.html, .md, .json, .csv; a stopped comparison goes on. Of two runs: the page to write.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.9999)] = 0.95,
    scope: Annotated[str, typer.Option(help="workload or cluster.")] = "workload",
    bound: Annotated[str | None, typer.Option(help="The bound that each policy states; by default its own.")] = None,
    communication: Annotated[bool, typer.Option(help="Keep the kernels of NCCL, which wait for other GPUs.")] = False,
    figures: Annotated[Path | None, typer.Option(help="Write error against speedup here, as PDF and SVG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Of two runs: print the comparison as JSON.")] = False,
) -> None:
    """Compare sampling methods against the full run, or two sampled runs launch by launch.

    Two runs: kernelpoint compare v100.kpjournal half-l2.kpjournal -o pair.html. Both need the same list, plan and seed.

    A workload is a file with the full run's times or cycles of every launch (profile, results CSV, journal, simulator output),
    or KEY=VALUE pairs separated by commas:

    \b
    truth=FILE          that file
    host=v100|rtx|FILE  have the embedded host make it, from the traces
    traces=LIST         the traces: kernelslist.g, or a folder
    name=NAME           the workload's name in the tables
    profile=FILE        input of the methods; without it the truth, for those
                        that need times (their rows are marked with *)
    profile=truth       the truth, for all methods that can use times
    profile=host:NAME   a full run of the embedded host on another GPU
    profile=model       the fast model's predictions ...
    fast_model=FILE     ... configured so: gpgpusim.config, params.in, v100, rtx
    device=N            the GPU, in a profile of several
    latency=CYCLES      of each launch; errors beyond it are shown too

    Example: kernelpoint compare -w traces=traces/kernelslist.g,host=v100 -p gcl,random -o out/compare
    """
    if runs:
        if len(runs) != 2 or workload:
            raise ConfigError(
                f"got {len(runs)} runs{' and --workload' * bool(workload)}; allowed: two runs, or --workload"
            )
        show_comparison(runs[0], runs[1], as_json, output)
        return
    if not workload:
        raise ConfigError("nothing to compare; allowed: --workload, or the journals of two runs")
    console = Console(stderr=True, highlight=False)
    wanted = list(cells(_policies(policies), _numbers(budgets), seeds, confidence, scope, bound))
    if output is not None:
        _make_folder(output)
    workloads = [_load(parse_request(text), output, communication, console) for text in workload]
    _refuse_twins(workloads)
    rows = _rows(workloads, wanted, ResultsFile(output / "rows.jsonl" if output else None), console)
    _show(rows, workloads)
    if output is not None:
        for path in write_files(output, workloads, rows):
            console.print(f"wrote {path}", soft_wrap=True)
    if figures is not None:
        for path in _figure(rows, len(workloads), figures):
            console.print(f"wrote {path}", soft_wrap=True)


def _figure(rows: Sequence[Row], workloads: int, folder: Path) -> list[Path]:
    from kernelpoint.report.figures import draw_specs

    lines = overall(per_workload(rows)) if workloads > 1 else per_workload(rows)
    return draw_specs({"comparison": scatter_of([line for line in lines if line.runs and line.harmonic > 0])}, folder)


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"-o: got {str(output)!r}; allowed: a folder that can be made ({error.strerror})") from None


def _rows(workloads: Sequence[Workload], wanted: list, results: ResultsFile, console: Console) -> list[Row]:
    shown, done, total = WorkProgress("comparing", "runs", console.print), count(1), len(wanted) * len(workloads)

    def advance(what: str) -> None:
        shown(next(done), total)

    return [row for one in workloads for row in compare_workload(one, wanted, results, console.print, advance)]


def _load(request: Request, output: Path | None, communication: bool, console: Console) -> Workload:
    truth = request.truth or _simulated(request, str(request.host), output, console)
    if (request.profile or "").startswith(HOST):
        other = str(request.profile).removeprefix(HOST)
        request = replace(request, profile=_simulated(request, other, output, console))
    loaded = load_workload(request, truth, communication, console.print)
    for note in loaded.notes:
        console.print(f"{loaded.name}: {note}", soft_wrap=True)
    return loaded


def _simulated(request: Request, config: str, output: Path | None, console: Console) -> str:
    """The results of a full run of the embedded host, run where there are none yet."""
    if output is None:
        raise ConfigError(f"workload {request.name}: a run of the embedded host needs a folder for its results (-o)")
    return str(full_run(str(request.traces), config, output / "host", console.print))


def _refuse_twins(workloads: Sequence[Workload]) -> None:
    names = [one.name for one in workloads]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise ConfigError(f"--workload: two are called {twins[0]!r}; give each its own name=")


def _policies(text: str) -> list[str]:
    names = policy_names() if text == "all" else list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        load_policy(name)
    return names


def _numbers(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < 1 for value in values):
        raise ConfigError(f"--budgets: got {text!r}; allowed: numbers between 0 and 1 separated by commas")
    return list(dict.fromkeys(values))


def _show(rows: Sequence[Row], workloads: Sequence[Workload]) -> None:
    console = Console(highlight=False)
    lines = per_workload(rows)
    columns = range(len(HEADINGS)) if console.width >= WIDE_TERMINAL else BRIEF
    for one in workloads:
        title = f"{one.name}: {one.size:,} launches, {one.total:,.0f} {one.counter}"
        console.print(_table(title, [line for line in lines if line.workload == one.name], columns))
    if len(workloads) > 1:
        console.print(_table(f"all {len(workloads)} workloads", overall(lines), columns))
    for item in LEGEND:
        console.print(item, soft_wrap=True)
    if columns is BRIEF:
        console.print("some columns are left out of this narrow terminal; the files of -o have all", soft_wrap=True)


def _table(title: str, lines: Sequence[Line], columns: Sequence[int]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(HEADINGS[column], justify="right" if column else "left", overflow="fold", no_wrap=not column)
    for line in lines:
        if line.runs:
            row = line_cells(line)
            table.add_row(*(row[column] for column in columns))
    table.caption = "\n".join(refusals(lines)) or None
    table.caption_justify = "left"
    return table
