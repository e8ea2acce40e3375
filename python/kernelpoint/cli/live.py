"""A live page of a run: a server on the loopback interface, whose page reloads until the run has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kernelpoint.cli.status import is_locked, status_of
from kernelpoint.errors import KernelPointError
from kernelpoint.journal import Run, load_run
from kernelpoint.pages.numbers import half_width
from kernelpoint.pages.page import Chart, Page, Text, Verdict
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.progress import Log
from kernelpoint.report.charts import passes_chart
from kernelpoint.report.view import pass_ends

SECONDS = 3  # between two loads of the page


def serve(journal: Path, finished: Callable[[Run], str], say: Log, port: int = 0) -> None:
    """Serve the live page of a run until Ctrl-C.

    Args:
        finished: makes the page of a run that has ended.
        say: gets the address.
        port: 0 takes a free one.
    """
    with server(journal, finished, port) as live:
        say(f"http://127.0.0.1:{live.server_address[1]}/ (this machine only; Ctrl-C ends it)")
        live.serve_forever()


def server(journal: Path, finished: Callable[[Run], str], port: int = 0) -> ThreadingHTTPServer:
    """The server, bound to 127.0.0.1; it answers requests for its own address only."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The page, made from the journal as it is now."""
            known = self.headers.get("Host", "").rpartition(":")[0] in ("127.0.0.1", "localhost")
            text = live_page(journal, finished) if known and self.path == "/" else ""
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def live_page(journal: Path, finished: Callable[[Run], str]) -> str:
    """The page of a run: its report if it has ended, else its progress and the interval after each pass."""
    title = f"{journal.name}, live"
    try:
        run = load_run(journal)
    except (KernelPointError, OSError) as error:  # the simulator has not opened the journal yet
        return Page(title, [Text([str(error)])], reload=SECONDS).html()
    if run.summary is not None:
        return finished(run)
    found = status_of(run, is_locked(journal), time.time())
    verdict = Verdict(found.estimate, found.place, [found.progress], progress=(found.simulated, found.launches))
    return Page(title, [verdict, *_passes(run)], reload=SECONDS).html()


def _passes(run: Run) -> list[Chart | Table | Text]:
    """The interval after each pass, as a chart and a table."""
    counter, budget = str(run.setting("error_budget.counter")), float(run.setting("error_budget.relative_error"))
    looks = pass_ends(run, counter)
    if not looks:
        return [Text(["No pass has ended with an estimate yet."])]
    caption = f"The stated interval of {counter}; the green band is the error budget about the last estimate."
    columns = (Column("pass"), Column("simulated"), Column(f"estimated {counter}"), Column("half-width", half_width))
    rows = [
        Row(
            (
                look.number,
                look.simulated,
                look.estimate,
                look.half_width and look.half_width / abs(look.estimate or 1.0),
            )
        )
        for look in looks
    ]
    spec = passes_chart(looks, counter, budget)
    return [Chart("passes", "The interval after each pass", caption, spec), Table(columns, rows)]
