"""`kernelpoint report`: the summary of a run, for people, as JSON, as a page, or as files for other tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from kernelpoint.cli.console import Console
from kernelpoint.cli.live import serve
from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run, load_run
from kernelpoint.pages.tables import Table
from kernelpoint.planning.forecast import compared
from kernelpoint.progress import telling
from kernelpoint.report.counters import counter_table
from kernelpoint.report.figures import draw_figures
from kernelpoint.report.full_run import compare, sentence
from kernelpoint.report.launches import write_launches
from kernelpoint.report.page import page_of, write_page
from kernelpoint.report.perfetto import write_trace
from kernelpoint.report.ranges import range_table, write_ranges
from kernelpoint.report.sentences import sentences
from kernelpoint.report.simai import write_simai
from kernelpoint.report.system_times import End, system_times
from kernelpoint.report.view import plan_of, view_of

MOST_RANGES = 40  # outermost ones of the terminal; the page has all


def report(
    run: Annotated[
        Path | None, typer.Argument(help="The journal of the run; without it, the one .kpjournal of this folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the page here, not beside the journal.")
    ] = None,
    full_run: Annotated[
        Path | None, typer.Option(help="Journal of a full run of the same list, which gives the error.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON; no page.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write every launch as CSV here; no page.")] = None,
    ranges: Annotated[
        Path | None, typer.Option(help="Write the totals of the ranges of `ranges:` as CSV here; no page.")
    ] = None,
    perfetto: Annotated[Path | None, typer.Option(help="Write a trace for the Perfetto viewer; no page.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write figures for a paper here, as PDF and SVG; no page.")
    ] = None,
    form: Annotated[
        Literal["chakra", "simai"] | None,
        typer.Option(
            "--as",
            help="Write the times of the launches (chakra: an execution trace of MLCommons, for ASTRA-sim) or of the modules "
            "(simai) with -o, for a simulator of whole systems; no page.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="chakra: a Chakra trace whose GPU nodes get the times, or PyTorch profiler JSON, whose kernels and "
            "collectives become one chain. Without it: one chain of the launches."
        ),
    ] = None,
    clock: Annotated[
        float | None, typer.Option(help="chakra, simai: clock of the SMs in MHz; default: as Accel-Sim states it.")
    ] = None,
    end: Annotated[
        End, typer.Option(help="chakra: the estimate, or an end of its interval, to see its influence.")
    ] = "estimate",
    live: Annotated[
        bool, typer.Option("--live", help="Serve a page on this machine that follows the run, until Ctrl-C.")
    ] = False,
) -> None:
    """Show the estimate of a run, and write a page of it.

    Example: kernelpoint report run.kpjournal --full-run full.kpjournal
    """
    journal, say = run or _only_journal(), Console(stderr=True).print
    if live:
        with contextlib.suppress(KeyboardInterrupt):
            serve(journal, page_of, say)
        return
    with telling("reading the journal", say):
        loaded = load_run(journal)
        full = load_run(full_run) if full_run else None
    if form is not None:
        if output is None:
            raise ConfigError(f"--as {form}: no file to write; name one with -o")
        Console().print(_times(loaded, form, output, like, clock, end), soft_wrap=True, highlight=False)
        return
    if as_json:
        truth = {} if full is None else {"full_run": asdict(compare(loaded, full))}
        typer.echo(json.dumps({**loaded.content(), **truth}))
        return
    console = Console(highlight=False)
    for part in _parts(loaded, full):
        console.print(part, soft_wrap=isinstance(part, str))
    with telling("writing", say):
        made = _exports(loaded, full, csv, ranges, perfetto, figures)
        if output is not None or (not made and loaded.summary is not None):
            page = output or loaded.path.with_suffix(".html")
            write_page(loaded, page, full)
            made.append(f"page: {page}")
    for text in made:
        console.print(text, soft_wrap=True)


def _only_journal() -> Path:
    found = sorted(Path().glob("*.kpjournal"))
    if len(found) != 1:
        have = ", ".join(map(str, found[:5])) or "none"
        raise ConfigError(
            f"RUN: expected one journal (.kpjournal) in this folder, found {have}; name the one to report"
        )
    return found[0]


def _parts(run: Run, full: Run | None) -> Iterator[str | Table]:
    """The verdict, the tables and the assumptions. A finished run also has its cost, beside the cost that its plan forecast."""
    verdict, *more = sentences(run)
    yield verdict
    if full is not None:
        yield sentence(compare(run, full))
    yield replace(counter_table(run), title=f"{run.path} ({run.policy})")
    if run.summary is not None and (table := range_table(run)):
        outer = [replace(row, inner=[replace(one, inner=()) for one in row.inner]) for row in table.rows[:MOST_RANGES]]
        yield replace(table, rows=outer, caption="")
    yield from more
    if (s := run.summary) is not None:
        expected = compared(plan_of(run)[0].forecast, s.relative_error, s.simulated, s.cycle_speedup, s.further)
        yield from filter(None, [expected])


def _exports(
    run: Run, full: Run | None, csv: Path | None, ranges: Path | None, perfetto: Path | None, figures: Path | None
) -> list[str]:
    """Write the files that were asked for; a line on each."""
    made = []
    if csv is not None:
        made.append(f"{csv}: {write_launches(run, csv):,} launches")
    if ranges is not None:
        made.append(f"{ranges}: {write_ranges(run, ranges):,} ranges")
    if perfetto is not None:
        made.append(f"{perfetto}: {write_trace(run, perfetto):,} launches; open it in the Perfetto viewer")
    if figures is not None:
        made.append(f"{figures}: {', '.join(path.name for path in draw_figures(view_of(run, full), figures))}")
    return made


def _times(run: Run, form: str, output: Path, like: Path | None, clock: float | None, end: End) -> str:
    """Write the times of a run for a simulator of whole systems; a line on the file."""
    if form == "simai":
        return f"{output}: {write_simai(run, output, clock):,} modules"
    from kernelpoint.report.chakra import write_chakra  # needs the extra `chakra`

    made = write_chakra(run, system_times(run, clock, end), output, like)
    return f"{output}: {made.nodes:,} nodes, {made.filled:,} of {made.kernels:,} kernels with times of the run"
