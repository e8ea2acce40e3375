"""Progress of work that takes more than a moment: one line that changes on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from kernelpoint.terminal import show_line

SILENT = 2.0  # seconds; work that is done by then says nothing
BETWEEN_UPDATES, BETWEEN_LINES = 0.2, 10.0  # seconds, on a terminal and in a log
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0  # seconds


def duration(seconds: float) -> str:
    """A time, at least 0, in the unit that people use: seconds up to two minutes, minutes up to two hours, hours up to two
    days, days up to two years, years beyond.

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
    """Progress of a piece of work, with the time left at the rate so far.

    On a terminal (standard error) one line is written again and again, and cleared at the end; elsewhere `log` gets a line
    at most every ten seconds. Nothing is said in the first two seconds.

    Args:
        what: the work, as the line names it.
        units: name of the counted things.
        log: takes one line.
        clock: seconds, for tests.

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
        log: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        terminal: bool | None = None,
    ) -> None:
        self._what, self._units, self._log, self._clock = what, units, log, clock
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._begun = clock()
        self._said_at: float | None = None

    def __call__(self, done: int, total: int, share: float | None = None, note: str = "") -> None:
        """Report progress. share: of the work, where units differ; note: an intermediate result."""
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
        left = f", about {duration((now - self._begun) * (1 / part - 1))} left" if part > 0 else ""
        text = f"{self._what}: {done:,} of {total:,} {self._units}{left}" + (f"; {note}" if note else "")
        if self._terminal:
            show_line(f"kernelpoint: {text}")
        else:
            self._log(f"kernelpoint: {text}")

    def _end(self) -> None:
        if self._terminal and self._said_at is not None:
            show_line("")


class _Told:
    """Completed share of the work in a block of `telling`, if known."""

    def __init__(self, expected: float | None) -> None:
        self.expected = expected
        self.share: Callable[[], float] | None = None

    def left(self, seconds: float) -> str:
        """Time left after so many seconds, for a line; empty where nothing is known."""
        if self.share is not None:
            try:
                share = self.share()
            except ValueError:  # a file that is closed by now
                return ""
            return f", about {duration(seconds * (1.0 / share - 1.0))} left" if 0.01 < share < 0.99 else ""
        left = (self.expected or 0.0) - seconds
        return f", about {duration(left)} left" if left > 0.0 else ""


_TOLD: ContextVar[_Told | None] = ContextVar("told", default=None)


def follow(share: Callable[[], float]) -> None:
    """Let `telling`, where this is called inside such a block, say the time left: `share()` of its work is done, 0 to 1.

    `share` is called from another thread; where it raises ValueError nothing is said.
    """
    if (told := _TOLD.get()) is not None:
        told.share = share


@contextlib.contextmanager
def telling(
    what: str, log: Callable[[str], None], silent: float = SILENT, expected: float | None = None
) -> Iterator[None]:
    """Show the time that the work in the block has taken, and the time left where it is known.

    It is known where the work calls `follow`, or where about `expected` seconds in all are known beforehand. Nothing is said
    in the first `silent` seconds. On a terminal one line changes every second, elsewhere `log` gets a line every ten seconds.

    >>> with telling("drawing", print):
    ...     pass
    """
    over, terminal, begun, told = threading.Event(), sys.stderr.isatty(), time.monotonic(), _Told(expected)

    def tell() -> None:
        wait = silent
        while not over.wait(wait):
            seconds = time.monotonic() - begun
            text, wait = f"kernelpoint: {what}: {duration(int(seconds))} so far{told.left(seconds)}", BETWEEN_LINES
            if terminal:
                show_line(text)
                wait = 1.0
            else:
                log(text)
        if terminal and wait != silent:
            show_line("")

    teller = threading.Thread(target=tell, name="kernelpoint progress", daemon=True)
    teller.start()
    outer = _TOLD.set(told)
    try:
        yield
    finally:
        _TOLD.reset(outer)
        over.set()
        teller.join()
