"""Progress display of long work: one changing line on a terminal, occasional lines in a log."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from kernelpoint.terminal import show_line

Log = Callable[[str], None]  # takes one line of text for the user
Progress = Callable[[int, int], None]  # takes how much of some work is done, and how much there is

SILENT = 2.0  # seconds; work that is done by then says nothing
BETWEEN_UPDATES, BETWEEN_LINES = 0.2, 10.0  # seconds, on a terminal and in a log
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0  # seconds


def silent(line: str) -> None:
    """Discard a line of text."""


def duration(seconds: float) -> str:
    """Format a time (at least 0): seconds up to two minutes, minutes up to two hours, hours up to two days, days up to two
    years, then years.

    >>> [duration(seconds) for seconds in (0.01, 0.26, 9.6, 90, 720, 9_000, 130_000, 300_000, 134_686_800)]
    ['0 s', '0.3 s', '10 s', '90 s', '12 min', '2.5 h', '36 h', '3.5 days', '4.3 years']
    """
    if seconds < 0.95:
        return f"{seconds:.1f} s" if seconds >= 0.05 else "0 s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < 2 * DAY:
        return f"{seconds / HOUR:.1f} h" if seconds < 10 * HOUR else f"{seconds / HOUR:.0f} h"
    days = seconds / DAY
    if days < 730:
        return f"{days:.1f} days" if days < 10 else f"{days:.0f} days"
    return f"{days / 365:,.1f} years" if days < 3650 else f"{days / 365:,.0f} years"


class WorkProgress:
    """Progress display of a task, with the time left at the present rate.

    On a terminal (standard error) one line is updated, and cleared at the end. Otherwise `log` receives a line at most every
    ten seconds. Nothing is shown in the first two seconds.

    Args:
        what: name of the task in the line.
        units: name of the counted items.
        log: function that receives a line.
        clock: function that returns the time in seconds; replaced in tests.

    >>> now = iter([0.0, 1.0, 12.0, 13.0])
    >>> progress = WorkProgress("reading", "traces", print, clock=lambda: next(now), terminal=False)
    >>> for done in (1, 25, 50):
    ...     progress(done, 100)
    kernelpoint: reading: 25 of 100 traces, about 36 s left
    """

    def __init__(
        self,
        what: str,
        units: str,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
        terminal: bool | None = None,
    ) -> None:
        self._what, self._units, self._log, self._clock = what, units, log, clock
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._begun = clock()
        self._said_at: float | None = None

    def __call__(self, done: int, total: int, share: float | None = None, note: str = "") -> None:
        """Report progress. `share` is the share of the work done, if units differ in cost; `note` is an intermediate result."""
        now = self._clock()
        if done >= total:
            self._end()
            return
        since = now - (self._begun if self._said_at is None else self._said_at)
        least = SILENT if self._said_at is None else BETWEEN_UPDATES if self._terminal else BETWEEN_LINES
        if since < least:
            return
        self._said_at = now
        part = done / total if share is None else share
        time_left = f", about {duration((now - self._begun) * (1 / part - 1))} left" if part > 0 else ""
        text = f"{self._what}: {done:,} of {total:,} {self._units}{time_left}" + (f"; {note}" if note else "")
        if self._terminal:
            show_line(f"kernelpoint: {text}")
        else:
            self._log(f"kernelpoint: {text}")

    def _end(self) -> None:
        if self._terminal and self._said_at is not None:
            show_line("")


@contextlib.contextmanager
def elapsed_time(what: str, log: Log, least: float = SILENT) -> Iterator[None]:
    """Context manager that shows the elapsed time of its block.

    On a terminal one line changes every second. Otherwise `log` receives a line every ten seconds.

    Args:
        what: name of the task in the line.
        log: function that receives a line.
        least: seconds after which the display begins.

    >>> with elapsed_time("drawing", print):
    ...     pass
    """
    over, terminal, begun = threading.Event(), sys.stderr.isatty(), time.monotonic()

    def show() -> None:
        wait = least
        while not over.wait(wait):
            text = f"kernelpoint: {what}: {duration(int(time.monotonic() - begun))} so far"
            wait = 1.0 if terminal else BETWEEN_LINES
            (show_line if terminal else log)(text)
        if terminal and wait != least:
            show_line("")

    thread = threading.Thread(target=show, name="kernelpoint progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
