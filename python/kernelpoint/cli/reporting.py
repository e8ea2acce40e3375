"""What `kernelpoint report` shows and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.journal import Run
from kernelpoint.pages.tables import Table
from kernelpoint.planning.forecast import compared
from kernelpoint.report.answers import answers
from kernelpoint.report.counters import counter_table
from kernelpoint.report.figures import draw_figures
from kernelpoint.report.full_run import compare, sentence
from kernelpoint.report.launches import write_launches
from kernelpoint.report.paper import write_paper
from kernelpoint.report.ranges import range_table, write_ranges
from kernelpoint.report.sentences import sentences
from kernelpoint.report.view import plan_of, view_of

MOST_RANGES = 40  # outermost ones of the terminal; the page has all


def only_journal() -> Path:
    """Path of the only journal in the working directory.

    Raises:
        ConfigError: there is none, or several.
    """
    journals = sorted(Path().glob("*.kpjournal"))
    if len(journals) != 1:
        have = ", ".join(map(str, journals[:5])) or "none"
        raise ConfigError(
            f"RUN: expected one journal (.kpjournal) in this folder, found {have}; name the one to report"
        )
    return journals[0]


def parts(run: Run, full: Run | None, verbose: bool) -> Iterator[str | Table]:
    """Make the text of a report: verdict and five answers; with `verbose` also tables, assumptions and cost against the
    forecast.
    """
    verdict, *more = sentences(run)
    yield verdict
    if full is not None:
        yield sentence(compare(run, full))
    if run.summary is None:
        yield from more
        return
    yield from (f"{question}: {answer}" for question, answer in answers(run, view_of(run, full)).items())
    if not verbose:
        return
    yield replace(counter_table(run), title=f"{run.path} ({run.policy})")
    if table := range_table(run):
        outer = [
            replace(row, inner=[replace(inner_row, inner=()) for inner_row in row.inner])
            for row in table.rows[:MOST_RANGES]
        ]
        yield replace(table, rows=outer, caption="")
    yield from more
    s = run.summary
    expected = compared(plan_of(run)[0].forecast, s.relative_error, s.simulated, s.cycle_speedup, s.further)
    yield from filter(None, [expected])


def exports(run: Run, full: Run | None, csv: Path | None, ranges: Path | None, figures: Path | None) -> list[str]:
    """Write the requested export files and print one line for each."""
    made = []
    if csv is not None:
        made.append(f"{csv}: {write_launches(run, csv):,} launches")
    if ranges is not None:
        made.append(f"{ranges}: {write_ranges(run, ranges):,} ranges")
    if figures is not None:
        view = view_of(run, full)
        written = [*draw_figures(view, figures), *write_paper(run, view, figures)]
        made.append(f"{figures}: {', '.join(path.name for path in written)}")
    return made
