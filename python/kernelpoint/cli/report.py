"""`kernelpoint report`: the summary of a run, for people, as JSON, as a page, or as files for other tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kernelpoint.cli.console import Console
from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run, load_run
from kernelpoint.progress import telling
from kernelpoint.report.sentences import WEAK_NOTE, computed, is_weak, number, percent, sentences, total

MOST_RANGES = 40  # of the terminal; the page has all


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
    live: Annotated[
        bool, typer.Option("--live", help="Serve a page on this machine that follows the run, until Ctrl-C.")
    ] = False,
) -> None:
    """Show the estimate of a run, and write a page of it.

    Example: kernelpoint report run.kpjournal --full-run full.kpjournal
    """
    journal, say = run or _only_journal(), Console(stderr=True).print
    if live:
        _serve(journal, say)
        return
    with telling("reading the journal", say):
        loaded = load_run(journal)
        full = load_run(full_run) if full_run else None
    if as_json:
        typer.echo(json.dumps(_content(loaded, full)))
        return
    console = Console()
    verdict, *more = sentences(loaded)
    for part in (verdict, *_truth(loaded, full), _counters(loaded), *_ranges(loaded), *more, *_expected(loaded)):
        console.print(part, soft_wrap=isinstance(part, str), highlight=False)
    with telling("writing", say):
        made = _exports(loaded, full, csv, ranges, perfetto, figures)
        if output is not None or (not made and loaded.summary is not None):
            made.append(_page(loaded, full, output))
    for text in made:
        console.print(text, soft_wrap=True, highlight=False)


def _serve(journal: Path, say: Callable[[str], None]) -> None:
    from kernelpoint.cli.live import serve
    from kernelpoint.report.write import page_of

    with contextlib.suppress(KeyboardInterrupt):
        serve(journal, page_of, say)


def _only_journal() -> Path:
    found = sorted(Path().glob("*.kpjournal"))
    if len(found) != 1:
        have = ", ".join(map(str, found[:5])) or "none"
        raise ConfigError(
            f"RUN: expected one journal (.kpjournal) in this folder, found {have}; name the one to report"
        )
    return found[0]


def _content(run: Run, full: Run | None) -> dict[str, Any]:
    from kernelpoint.report.full_run import compare

    return run.content() if full is None else {**run.content(), "full_run": asdict(compare(run, full))}


def _truth(run: Run, full: Run | None) -> list[str]:
    from kernelpoint.report.full_run import compare, sentence

    return [] if full is None else [sentence(compare(run, full))]


def _expected(run: Run) -> list[str]:
    """Sentence on the run's cost beside the forecast of its plan, if there was one."""
    from kernelpoint.report.write import plan_of
    from kernelpoint.workload.forecast import compared

    if (s := run.summary) is None:
        return []
    line = compared(plan_of(run)[0].forecast, s.relative_error, s.simulated, s.cycle_speedup, s.further)
    return [line] if line else []


def _exports(
    run: Run, full: Run | None, csv: Path | None, ranges: Path | None, perfetto: Path | None, figures: Path | None
) -> list[str]:
    """Write the files that were asked for; a line on each."""
    made = []
    if csv is not None:
        from kernelpoint.report.launches import write_csv

        made.append(f"{csv}: {write_csv(run, csv):,} launches")
    if ranges is not None:
        from kernelpoint.report.ranges import write_ranges

        made.append(f"{ranges}: {write_ranges(run, ranges):,} ranges")
    if perfetto is not None:
        from kernelpoint.report.perfetto import write_trace

        made.append(f"{perfetto}: {write_trace(run, perfetto):,} launches; open it in the Perfetto viewer")
    if figures is not None:
        from kernelpoint.report.figures import write_figures

        made.append(f"{figures}: {', '.join(path.name for path in write_figures(run, figures, full))}")
    return made


def _page(run: Run, full: Run | None, output: Path | None) -> str:
    from kernelpoint.report.write import write_page

    path = output or run.path.with_suffix(".html")
    write_page(run, path, full)
    return f"page: {path}"


def _ranges(loaded: Run) -> list[Table]:
    """The outermost ranges, where the run has some."""
    from kernelpoint.report.ranges import HEAD, range_lines

    lines = range_lines(loaded)[:MOST_RANGES]
    if not lines:
        return []
    table = Table(title="ranges", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in HEAD:
        table.add_column(heading, justify="left" if heading == "range" else "right", no_wrap=True)
    for cells in lines:
        table.add_row(*map(escape, cells))
    return [table]


def _counters(loaded: Run) -> Table:
    table = Table(title=f"{loaded.path} ({loaded.policy})", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("counter", "estimated total", "half-width", "computed", "simulated"):
        table.add_column(heading, justify="left" if heading == "counter" else "right", no_wrap=True)
    rows = loaded.estimates()
    for name, row in rows.items():
        cells = (name, total(row), percent(row.relative_half_width), computed(row), number(row.simulated))
        table.add_row(*cells, style="dim" if is_weak(row) else None)
    if any(map(is_weak, rows.values())):
        table.caption, table.caption_justify = WEAK_NOTE.format("dim"), "left"
    return table
