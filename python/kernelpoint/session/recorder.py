"""Output of a run: journal records, failures, progress lines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelpoint.errors import SessionError
from kernelpoint.journal import DegradedRecord, JournalWriter, Record
from kernelpoint.session.progress import Progress


class Recorder:
    """Writes the records of a run and keeps its failures; while a journal is replayed it writes and says nothing.

    Args:
        journal: open for writing; log: takes one line of text for the user.
        stops_at_errors: the key `on_error: abort`.

    Attributes:
        degraded: the failures so far, one sentence each.
        progress: lines for the user.
    """

    def __init__(self, journal: JournalWriter, log: Callable[[str], None], stops_at_errors: bool) -> None:
        self.degraded: list[str] = []
        self.progress = Progress(log)
        self._journal = journal
        self._stops_at_errors = stops_at_errors
        self._replaying = False
        self._deferred: Record | None = None
        self._closed = ""

    @property
    def path(self) -> Path:
        """The journal's file."""
        return self._journal.path

    @property
    def is_replaying(self) -> bool:
        """True if what is done now was done, and written, before."""
        return self._replaying

    @contextlib.contextmanager
    def replaying(self) -> Iterator[None]:
        """The time in which a journal is replayed."""
        self._replaying = True
        try:
            with self.progress.muted():
                yield
        finally:
            self._replaying = False

    def require_open(self) -> None:
        """Raises SessionError once the run cannot go on."""
        if self._closed:
            raise SessionError(self._closed)

    def write(self, record: Record) -> None:
        """Append a record to the journal.

        Raises:
            SessionError: it cannot be written; the run is closed from now on.
        """
        if self._replaying:
            return
        try:
            if self._deferred is not None:
                self._journal.write(self._deferred)
                self._deferred = None
            self._journal.write(record)
        except Exception as error:
            raise self._close(f"the run cannot go on: {error}") from error

    def defer(self, record: Record) -> None:
        """Append a record before the next one, and not at all where none follows."""
        self._deferred = record

    @property
    def has_deferred(self) -> bool:
        """True if nothing was written since a record was deferred."""
        return self._deferred is not None

    def degrade(self, reason: str, everything: bool = False) -> None:
        """Note a failure, which the summary repeats; the first one is said at once.

        Args:
            everything: all launches that are left are simulated because of it.

        Raises:
            SessionError: `on_error: abort`; the run is closed from now on.
        """
        if self._replaying:
            return
        if self._stops_at_errors:
            raise self._close(f"{reason}; on_error: abort")
        if reason in self.degraded:  # said by the process that was killed
            return
        if not self.degraded:
            self.progress.say(f"degraded: {reason}")
        self.degraded.append(reason)
        self.write(DegradedRecord(reason, everything))

    def _close(self, reason: str) -> SessionError:
        self._closed = reason
        self._journal.close()
        return SessionError(reason)
