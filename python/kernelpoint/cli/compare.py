"""`kernelpoint compare`: every sampling method on the same workloads and budgets, against the full run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import log, say, show
from kernelpoint.errors import ConfigError
from kernelpoint.evaluation.evaluate import MethodResult, ResultsFile, cells
from kernelpoint.evaluation.evaluate import compare as compare_workload
from kernelpoint.evaluation.page import LEGEND, overall, per_workload, scatter_of, tables, write_files
from kernelpoint.evaluation.workload import Workload, load_workload, parse_request
from kernelpoint.extras import needs_extra
from kernelpoint.files import write_output
from kernelpoint.journal import load_run
from kernelpoint.paired import compare_runs
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.progress import WorkProgress
from kernelpoint.report.pairs import common, pair_page, pair_table

WORKLOAD_HELP = "FILE with the full run's times or cycles of every launch, or KEY=VALUE,... as above. May be repeated."


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
    latency=CYCLES      of each launch, less than the shortest; errors beyond it are
                        shown too. Of a truth that names no simulator, only
                        kernelpoint with the fast model takes it out

    Example: kernelpoint compare -w traces=traces/kernelslist.g,host=v100 -p gcl,random -o out/compare
    """
    if runs:
        if len(runs) != 2 or workload:
            given = f"{len(runs)} run{'s' * (len(runs) != 1)}{' and --workload' * bool(workload)}"
            raise ConfigError(f"got {given}; give the journals of two runs, or --workload and no run")
        _show_runs(runs[0], runs[1], as_json, output)
        return
    if not workload:
        raise ConfigError("got nothing to compare; give the journals of two runs, or --workload")
    if figures is not None:
        with needs_extra("--figures"):
            import_module("vl_convert")  # before hours of work
    names = POLICIES.names() if policies == "all" else list(dict.fromkeys(name.strip() for name in policies.split(",")))
    for name in names:
        load_policy(name)
    wanted = list(cells(names, _numbers(budgets), seeds, confidence, bound))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    workloads: list[Workload] = []
    for text in workload:
        loaded = load_workload(parse_request(text), communication, log)
        for note in loaded.notes:
            log(f"{loaded.name}: {note}")
        if loaded.name in [other.name for other in workloads]:
            raise ConfigError(f"--workload: two workloads have the name {loaded.name!r}; give each another one with name=NAME")
        workloads.append(loaded)
    progress, total = WorkProgress("comparing", "runs", log), len(wanted) * len(workloads)
    results, rows = ResultsFile(output / "rows.jsonl" if output else None), list[MethodResult]()
    for loaded in workloads:
        for row in compare_workload(loaded, wanted, results, log):
            rows.append(row)
            progress(len(rows), total)
    _show(rows, workloads)
    files = [] if output is None else write_files(output, workloads, rows)
    if figures is not None:
        from kernelpoint.report.paper import draw

        chart = scatter_of(per_workload(rows))
        files += draw({} if chart is None else {"comparison": chart}, figures)
    for path in files:
        log(f"wrote {path}")


def _numbers(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < 1 for value in values):
        raise ConfigError(f"--budgets: got {text!r}; allowed: numbers between 0 and 1, separated by commas")
    return list(dict.fromkeys(values))


def _show(rows: Sequence[MethodResult], workloads: Sequence[Workload]) -> None:
    lines = per_workload(rows)
    first_table, *others = tables(workloads, lines, overall(lines))
    for table in (*others, first_table) if len(workloads) > 1 else (first_table,):
        show(table)
    for item in LEGEND:
        say(item)


def _show_runs(first: Path, second: Path, as_json: bool, page: Path | None) -> None:
    """Print how the totals of two sampled runs of the same list compare; `page`: write it as a page too."""
    a, b = load_run(first), load_run(second)
    result = compare_runs(a, b)
    if as_json:
        say(json.dumps(result.record()))
        return
    show(pair_table(result, f"A = {first}, B = {second}"))
    for line in (common(result), *(f"note: {note}" for note in result.notes)):
        say(line)
    if page is not None:
        write_output(page, pair_page(a, b, result))
        say(f"page: {page}")
