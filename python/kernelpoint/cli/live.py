"""A live page of a run: a server on the loopback interface, whose page reloads until the run has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kernelpoint.cli.status import is_locked, status_of
from kernelpoint.errors import KernelPointError
from kernelpoint.journal import Run, load_run
from kernelpoint.report.html import document

SECONDS = 3  # between two loads of the page
RELOAD = f'<meta http-equiv="refresh" content="{SECONDS}">'
WIDTH, LEFT, ROW = 720, 120, 26  # pixels: of the figure, of its labels, of a pass


def serve(journal: Path, finished: Callable[[Run], str], say: Callable[[str], None], port: int = 0) -> None:
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

    class Page(BaseHTTPRequestHandler):
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

    return ThreadingHTTPServer(("127.0.0.1", port), Page)


def live_page(journal: Path, finished: Callable[[Run], str]) -> str:
    """The page of a run: its report if it has ended, else its progress and the interval after each pass."""
    try:
        run = load_run(journal)
    except (KernelPointError, OSError) as error:  # the simulator has not opened the journal yet
        return _page(journal.name, f"<p>{escape(str(error))}</p>")
    if run.summary is not None:
        return finished(run)
    found = status_of(run, is_locked(journal), time.time())
    share = f'<progress value="{found.simulated}" max="{found.launches}" aria-label="simulated launches"></progress>'
    body = (
        f'<div class="verdict"><b>{escape(found.estimate)}</b><strong>{escape(found.state)}; '
        f"{escape(found.pass_text)}</strong><p>{share} {found.simulated:,} of {found.launches:,} launches "
        f"simulated</p></div><h2>The interval after each pass</h2>{_intervals(run)}"
    )
    return _page(journal.name, body)


def _page(name: str, body: str) -> str:
    title = f"{name}, live"
    page = document(title, f"<h1>{escape(title)}</h1>{body}", {})
    return page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">{RELOAD}', 1)


def _intervals(run: Run) -> str:
    """A line with its estimate for each pass; the green band is the error budget about the last estimate."""
    counter, budget = str(run.setting("error_budget.counter")), float(run.setting("error_budget.relative_error"))
    found = [{**look.estimates, **look.ratios}.get(counter) for look in run.looks]
    shown = [(i, e.estimate, e.half_width) for i, e in enumerate(found) if e and e.estimate and e.half_width]
    if not shown:
        return "<p>No pass has ended with a bound yet.</p>"
    last = shown[-1][1]
    widest = max(budget, *(abs(total / last - 1) + half_width / last for _, total, half_width in shown))
    height = ROW * (len(shown) + 1)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT) / 2 * (1 + (value / last - 1) / widest * 0.95)

    low, high = x(last * (1 - budget)), x(last * (1 + budget))
    band = f'<rect x="{low:.1f}" y="0" width="{high - low:.1f}" height="{height}" fill="var(--good)" opacity="0.2"/>'
    lines = "".join(_line(ROW * (row + 1), *one, x) for row, one in enumerate(shown))
    label = f"intervals of {counter} after {len(shown)} passes"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" role="img" aria-label="{escape(label)}">{band}{lines}</svg>'
    )


def _line(y: int, number: int, total: float, half_width: float, x: Callable[[float], float]) -> str:
    return (
        f'<line x1="{x(total - half_width):.1f}" x2="{x(total + half_width):.1f}" y1="{y}" y2="{y}" '
        f'stroke="currentColor" stroke-width="2"/><circle cx="{x(total):.1f}" cy="{y}" r="4" fill="currentColor"/>'
        f'<text x="4" y="{y + 4}" font-size="12" fill="currentColor">pass {number}: ± '
        f"{100 * half_width / total:.2g} %</text>"
    )
