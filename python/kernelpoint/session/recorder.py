"""Output of a run: journal records, failures, progress lines; and the journal's records when a run resumes."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path

from kernelpoint.errors import JournalError, SessionError
from kernelpoint.estimation import ErrorBudget, Look
from kernelpoint.journal import DegradedRecord, JournalWriter, Record
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.session.verdict import EXACT, width_text


class Recorder:
    """Writer of a run's journal, and reader of the records that a resumed run starts from.

    While records of an earlier process are left, nothing is written and nothing printed.

    Args:
        journal: journal open for writing; None: records are discarded.
        log: takes one line of text for the user.
        stops_at_errors: the key `on_error: abort`.

    Attributes:
        degraded: sentences, one for each failure so far.
        deferred: a record that is written together with the next one; if none follows, it is not written.
        progress: lines for the user.
    """

    def __init__(self, journal: JournalWriter | None, log: Log, stops_at_errors: bool) -> None:
        self.degraded: list[str] = []
        self.progress = Progress(log)
        self._journal = journal
        self._stops_at_errors = stops_at_errors
        self._past: deque[Record] = deque()
        self._line = 1  # of the journal, that was taken last
        self.deferred: Record | None = None
        self._closed = ""

    @property
    def path(self) -> Path:
        """Path of the journal."""
        return self._journal.path if self._journal is not None else Path()

    # ---- the journal of an earlier process --------------------------------------------------------------------------

    def replay(self, records: Iterable[Record]) -> None:
        """Set the records of an earlier process, to be applied before this process continues."""
        self._past.extend(records)
        self.progress.is_muted = True

    @property
    def is_replaying(self) -> bool:
        """True while records of an earlier process remain."""
        return bool(self._past)

    @property
    def head(self) -> Record | None:
        """Next record of an earlier process; None if none remains."""
        return self._past[0] if self._past else None

    def pop(self) -> Record:
        """Take the next record of an earlier process."""
        self._line += 1
        record = self._past.popleft()
        self.progress.is_muted = bool(self._past)
        return record

    def misplaced(self) -> JournalError:
        """Error for a journal whose next record is out of place."""
        kind = self._past[0].type
        return JournalError(f"{self.path}:{self._line + 1}: a record {kind!r} where none can be")

    def damaged(self, error: Exception) -> JournalError:
        """Error for a journal whose last record read is damaged."""
        return JournalError(f"{self.path}:{self._line}: {error}")

    # ---- output -----------------------------------------------------------------------------------------------------

    def require_open(self) -> None:
        """Raise SessionError if the run can no longer continue."""
        if self._closed:
            raise SessionError(self._closed)

    def write(self, record: Record) -> None:
        """Append a record to the journal.

        Raises:
            SessionError: it cannot be written; the run is closed from now on.
        """
        if self.is_replaying or self._journal is None:
            return
        try:
            if self.deferred is not None:
                self._journal.write(self.deferred)
                self.deferred = None
            self._journal.write(record)
        except Exception as error:
            raise self._close(f"the run cannot go on: {error}") from error

    def degrade(self, reason: str, everything: bool = False) -> None:
        """Note a failure for the summary; the first one is also printed at once.

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
        if self._journal is not None:
            self._journal.close()
        return SessionError(reason)


def describe(error: Exception) -> str:
    """Format an error for the journal on one line: type, message and source line.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     print(describe(error))
    ZeroDivisionError: division by zero (<module>, line 2)
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"


# ---- lines for the user -----------------------------------------------------------------------------------------------


class Progress:
    """Printer of a run's progress, one line for each event.

    Args:
        log: takes one line.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._launches = self._wanted = 0
        self._so_far = ""
        self.is_muted = False  # True while a journal is replayed, whose lines were printed when it was written
        self.counts_results = True  # False: the coordinator of a run prints them
        self._work: WorkProgress | None = None  # of the pass

    def say_plainly(self, line: str) -> None:
        """Print a line unchanged."""
        if not self.is_muted:
            self._log(line)

    def say(self, *texts: str) -> None:
        """Print each text on a line that begins with the plugin's name."""
        for text in texts:
            self.say_plainly(f"kernelpoint: {text}")

    def pass_begins(self, pass_index: int, wanted: int, launches: int) -> None:
        """Print that a pass over `launches` launches begins and will simulate `wanted` of them."""
        self._launches, self._wanted = launches, wanted
        self._work = WorkProgress(f"pass {pass_index}", "launches", self.say_plainly, terminal=False)
        self.say(f"pass {pass_index}: {wanted:,} of {self._launches:,} launches to simulate")

    def completed(self, simulated: int, remaining: int) -> None:
        """Print now and then how many launches are simulated."""
        if self._work is not None and self.counts_results:
            note = f"{simulated:,} of {self._launches:,} in all{self._so_far}"
            self._work(self._wanted - remaining, self._wanted, note=note)

    def looked(
        self,
        look: Look,
        pass_index: int,
        budget: ErrorBudget,
        ranges: Sequence[tuple[str, float, float]] = (),
        is_withdrawn: bool = False,
    ) -> None:
        """Print the bound at the end of a pass for each target. ranges: name, largest relative half-width and error of each
        target on ranges; is_withdrawn: the run states no bound.
        """
        estimates = {**look.estimates, **look.ratios}
        targets = [(name, estimates[name], error) for name, error in budget.targets.items() if name in estimates]
        texts = [
            f"{name} {total.estimate:.6g} {_bound(nan if is_withdrawn else total.relative_half_width, error)}"
            for name, total, error in targets
        ]
        texts += [f"{name} {_bound(nan if is_withdrawn else width, error)}" for name, width, error in ranges]
        if not texts:
            return
        self._so_far = f"; so far {texts[0]}"
        place = f"; sampling error {'within' if look.met else 'beyond'} the error budget"
        if is_withdrawn or all(text.endswith(EXACT) for text in texts):
            place = ""
        elif look.goes_on:
            place = f"; within the error budget, but the run goes on: {look.goes_on}"
        self.say(f"pass {pass_index}: {', '.join(texts)}{place}")


def _bound(width: float, error: float) -> str:
    if width == 0.0:
        return EXACT
    return f"+- {width_text(width, error)} %" if width == width else "no bound stated"
