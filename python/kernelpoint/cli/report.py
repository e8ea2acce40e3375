"""`kernelpoint report`: the summary of a run, for people, as JSON, as a page, or as files for other tools."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.errors import ConfigError
from kernelpoint.report import End


def report(
    run: Annotated[
        Path | None, typer.Argument(help="The journal of the run; without it, the one .kpjournal of this folder.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the page here, not beside the journal.")] = None,
    full_run: Annotated[
        Path | None, typer.Option(help="Journal of a full run of the same list, which gives the error.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON; no page.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write every launch here, as CSV or .parquet; no page.")] = None,
    ranges: Annotated[
        Path | None, typer.Option(help="Write the totals of the ranges of `ranges:` here, as CSV or .parquet; no page.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Write for a paper, in this folder: figures (PDF, SVG), a table of kernels (LaTeX), a sentence and BibTeX; "
            "no page."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORM",
            help="With -o, write the times of the launches (chakra: an execution trace of MLCommons, for ASTRA-sim; "
            "perfetto: a timeline for its viewer), of the modules (simai) or of kernels and shapes (times: a table, CSV or "
            ".parquet); no page.",
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
        float | None,
        typer.Option(help="chakra, simai, times: clock of the SMs in MHz; default: as Accel-Sim states it."),
    ] = None,
    end: Annotated[
        End, typer.Option(help="chakra: the estimate, or an end of its interval, to see its influence.")
    ] = "estimate",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every counter and assumption, and the times of ranges.")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="While the run goes on, write the page again every three seconds; a browser loads it again."
        ),
    ] = False,
) -> None:
    """Show the estimate of a run, and write a page of it.

    Example: kernelpoint report run.kpjournal --full-run full.kpjournal
    """
    from kernelpoint.cli.console import log, say, show  # not for --help
    from kernelpoint.extras import needs_extra
    from kernelpoint.journal import load_run
    from kernelpoint.pages.numbers import json_text
    from kernelpoint.progress import elapsed_time
    from kernelpoint.report.export import EXPORTS, Options

    if figures is not None:
        with needs_extra("--figures"):
            import_module("vl_convert")
        if figures.exists() and not figures.is_dir():
            raise ConfigError(f"--figures: got {figures}, a file; allowed: a folder, which is made if it is missing")
    journals = [run] if run else sorted(Path().glob("*.kpjournal"))
    if len(journals) != 1:
        have = ", ".join(map(str, journals[:5])) or "none"
        raise ConfigError(f"RUN: expected one journal (.kpjournal) in this folder, found {have}; name the one to report")
    journal = journals[0]
    if watch:
        from kernelpoint.cli.watch import follow

        with contextlib.suppress(KeyboardInterrupt):
            follow(journal, output or journal.with_suffix(".html"), log)
        return
    with elapsed_time("reading the journal", log):
        loaded = load_run(journal)
        full = load_run(full_run) if full_run else None
    if form is not None:
        if output is None:
            raise ConfigError(f"--as {form}: the file to write is missing; name one with -o")
        written = EXPORTS.load(form)().write(loaded, output, Options(like, clock, end))
        say(f"{output}: {written}")
        return
    if as_json:
        from kernelpoint.report.result import FullRun

        truth = {} if full is None else {"full_run": asdict(FullRun.beside(loaded, full))}
        say(json_text({**loaded.content(), **truth}))
        return

    from kernelpoint.files import write_output
    from kernelpoint.report.export import write_launches  # not for --json and --as, which need no charts
    from kernelpoint.report.page import html_page
    from kernelpoint.report.paper import write_paper
    from kernelpoint.report.result import result_of
    from kernelpoint.report.tables import write_ranges
    from kernelpoint.report.text import sentences, text_of

    wants_files = any((csv, ranges, figures))
    if loaded.summary is None and not (wants_files or output or full):
        for line in sentences(loaded):
            say(line)
        return
    result = result_of(loaded, full)
    for part in itertools.islice(text_of(result, verbose), 1 if wants_files and not verbose else None):
        say(part) if isinstance(part, str) else show(part)
    with elapsed_time("writing", log):
        if csv is not None:
            say(f"{csv}: {write_launches(loaded, csv):,} launches")
        if ranges is not None:
            say(f"{ranges}: {write_ranges(loaded, ranges):,} ranges")
        if figures is not None:
            say(f"{figures}: {', '.join(path.name for path in write_paper(result, figures))}")
        if output is not None or not wants_files:
            page = output or loaded.path.with_suffix(".html")
            write_output(page, html_page(result))
            say(f"page: {page}")
