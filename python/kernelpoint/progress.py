"""Progress of work that takes more than a moment: one line that changes on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

SILENT = 2.0  # seconds; work that is done by then says nothing
BETWEEN_UPDATES, BETWEEN_LINES = 0.2, 10.0  # seconds, on a terminal and in a log


class WorkProgress:
    """Tells how far a piece of work is and how long it will still take, at the rate so far.

    On a terminal (standard error) one line is written again and again, and cleared at the end; elsewhere `log` gets a line
    at most every ten seconds. Nothing is said in the first two seconds.

    Args:
        what: the work, as the line names it.
        units: what is counted.
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
        """So many are done of so many; that is `share` of the work, where units differ. note: what is known by now."""
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
        left = f", about {(now - self._begun) * (1 / part - 1):,.0f} s left" if part > 0 else ""
        text = f"{self._what}: {done:,} of {total:,} {self._units}{left}" + (f"; {note}" if note else "")
        if self._terminal:
            sys.stderr.write(f"\r\033[Kkernelpoint: {text}")
            sys.stderr.flush()
        else:
            self._log(f"kernelpoint: {text}")

    def _end(self) -> None:
        if self._terminal and self._said_at is not None:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


@contextlib.contextmanager
def telling(what: str, log: Callable[[str], None], silent: float = SILENT) -> Iterator[None]:
    """Tell how long the work in the block takes so far: work whose parts cannot be counted.

    Nothing is said in the first `silent` seconds. On a terminal one line changes every second, elsewhere `log` gets a line
    every ten seconds.

    >>> with telling("drawing", print):
    ...     pass
    """
    over, terminal, begun = threading.Event(), sys.stderr.isatty(), time.monotonic()

    def tell() -> None:
        wait = silent
        while not over.wait(wait):
            text, wait = f"kernelpoint: {what}: {time.monotonic() - begun:,.0f} s so far", BETWEEN_LINES
            if terminal:
                sys.stderr.write(f"\r\033[K{text}")
                sys.stderr.flush()
                wait = 1.0
            else:
                log(text)
        if terminal and wait != silent:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    teller = threading.Thread(target=tell, name="kernelpoint progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
