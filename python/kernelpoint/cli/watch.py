"""Live page of a run: an HTML file that is rewritten until the run has ended, and that a browser reloads."""

from __future__ import annotations

import time
from pathlib import Path

from kernelpoint.cli.status import is_locked, status_of
from kernelpoint.errors import KernelPointError
from kernelpoint.files import write_output
from kernelpoint.journal import Run, load_run
from kernelpoint.pages.numbers import half_width
from kernelpoint.pages.page import Chart, Page, Text, Verdict
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.progress import Log
from kernelpoint.report.charts import passes_chart
from kernelpoint.report.page import html_page
from kernelpoint.report.result import pass_ends, result_of

SECONDS = 3  # between two pages


def follow(journal: Path, path: Path, say: Log) -> None:
    """Write the HTML page of a run every few seconds until the run ends or Ctrl-C is pressed.

    Args:
        journal: journal of the run.
        path: the page.
        say: function that prints a line at the start and at the end.

    Raises:
        OSError: the page cannot be written there.
    """
    say(f"page: {path}, written again every {SECONDS} s until the run has ended (Ctrl-C ends it)")
    while True:
        text, has_ended = page_so_far(journal)
        write_output(path, text)
        if has_ended:
            say(f"the run has ended: {path}")
            return
        time.sleep(SECONDS)


def page_so_far(journal: Path) -> tuple[str, bool]:
    """HTML page of a run, and True if the run has ended. A finished run gets its report; a run in progress gets the interval
    after each pass (round of sampling).
    """
    title = f"{journal.name}, so far"
    try:
        run = load_run(journal)
    except (KernelPointError, OSError) as error:  # the simulator has not opened the journal yet
        return Page(title, [Text([str(error)])], reload=SECONDS).html(), False
    if run.summary is not None:
        return html_page(result_of(run)), True
    status = status_of(run, is_locked(journal), time.time())
    verdict = Verdict(status.estimate, status.place, [status.progress], progress=(status.simulated, status.launches))
    return Page(title, [verdict, *_passes(run)], reload=SECONDS).html(), False


def _passes(run: Run) -> list[Chart | Table | Text]:
    """The interval after each pass, as a chart and a table."""
    counter, budget = str(run.setting("error_budget.counter")), float(run.setting("error_budget.relative_error"))
    if not (passes := pass_ends(run, counter)):
        return [Text(["No pass has ended with an estimate yet."])]
    caption = f"The stated interval of {counter}; the green band is the error budget about the last estimate."
    columns = (
        Column("pass", of="number"),
        Column("simulated", of="simulated"),
        Column(f"estimated {counter}", of="estimate.estimate"),
        Column("half-width", half_width, of="estimate.relative_half_width"),
    )
    chart = Chart("passes", "The interval after each pass", caption, passes_chart(passes, counter, budget))
    return [chart, Table(columns, rows_of(columns, passes))]
