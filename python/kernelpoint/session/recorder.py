"""Output of a run: journal records, failures, progress lines; and the records of the journal that a run goes on with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, cast

from kernelpoint.errors import SessionError
from kernelpoint.journal import (
    AbortRecord,
    DegradedRecord,
    FurtherValidationsRecord,
    JournalWriter,
    LookRecord,
    PassRecord,
    PopulationRecord,
    Record,
    ResultRecord,
    ValidationRecord,
)
from kernelpoint.session.progress import Progress

# Records of a journal: outcomes of launches, and steps of the loop. All others are incidents in between.
OUTCOMES = (ResultRecord, ValidationRecord, AbortRecord)
STEPS = (PassRecord, LookRecord, FurtherValidationsRecord, PopulationRecord)
Step = TypeVar("Step", PassRecord, LookRecord, FurtherValidationsRecord, PopulationRecord)


class Recorder:
    """Writes the records of a run and keeps its failures. While it repeats the journal of an earlier process, it writes
    and prints nothing.

    Args:
        journal: open for writing.
        log: takes one line of text for the user.
        stops_at_errors: the key `on_error: abort`.

    Attributes:
        degraded: the failures so far, one sentence each.
        progress: lines for the user.
        recall: takes each record of the journal that is neither an outcome nor a step, and the last one of all.
        line: of the journal, that was taken last.
    """

    recall: Callable[[Record], None]

    def __init__(self, journal: JournalWriter, log: Callable[[str], None], stops_at_errors: bool) -> None:
        self.degraded: list[str] = []
        self.progress = Progress(log)
        self._journal = journal
        self._stops_at_errors = stops_at_errors
        self._past: deque[Record] = deque()
        self.line = 1
        self._deferred: Record | None = None
        self._closed = ""

    @property
    def path(self) -> Path:
        """The journal's file."""
        return self._journal.path

    # ---- the journal of an earlier process --------------------------------------------------------------------------

    def replay(self, records: Iterable[Record]) -> None:
        """Go through these records first; the last of them is where this process goes on."""
        self._past.extend(records)
        self.progress.is_muted = True

    @property
    def is_replaying(self) -> bool:
        """True if what is done now was done, and written, before."""
        return bool(self._past)

    @property
    def head(self) -> Record:
        """The record that comes next."""
        return self._past[0]

    def pop(self) -> Record:
        """Take the record that comes next."""
        self.line += 1
        record = self._past.popleft()
        self.progress.is_muted = bool(self._past)
        return record

    def recalled(self, step: type[Step]) -> Step | None:
        """The step that the journal contains at this place; None if there is none, or another."""
        if not self.awaits(step):
            return None
        return cast(Step, self.pop())

    def awaits(self, step: type[Step]) -> bool:
        """True if this step comes next in the journal."""
        while self._past and not isinstance(self.head, OUTCOMES + STEPS):
            self.recall(self.pop())
        return bool(self._past) and isinstance(self.head, step)

    # ---- output -----------------------------------------------------------------------------------------------------

    def require_open(self) -> None:
        """Raises SessionError once the run cannot go on."""
        if self._closed:
            raise SessionError(self._closed)

    def write(self, record: Record) -> None:
        """Append a record to the journal.

        Raises:
            SessionError: it cannot be written; the run is closed from now on.
        """
        if self.is_replaying:
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
        if self.is_replaying:
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
