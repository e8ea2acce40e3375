"""Output of a run: journal records, failures and lines for the user; and the journal's records when a run resumes."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Sequence
from math import nan
from pathlib import Path

from kernelpoint.errors import JournalError, SessionError, damaged_journal
from kernelpoint.estimation import ErrorBudget, Look
from kernelpoint.journal import DegradedRecord, JournalWriter, Record
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.session.verdict import EXACT, width_text


class Recorder:
    """Writer of a run's journal (the file of its decisions and results), and reader of the records of a resumed run.

    While earlier records remain to be read, nothing is written or printed.

    Args:
        journal: journal open for writing; None: records are discarded.
        log: function that receives lines for the user.
        stops_at_errors: value of the configuration key `on_error: abort`: the first failure ends the run.

    Attributes:
        past: records of a resumed run's journal that are not applied yet, the next one first.
        degraded: one sentence for each failure so far.
        closed: message of the error that closed the run; empty while it is open.
        deferred: record that is written together with the next one, or never if no other follows.
        counts_results: False if no line is printed on the launches simulated so far, because the coordinator of a distributed
            run prints such lines.
    """

    def __init__(self, journal: JournalWriter | None, log: Log, stops_at_errors: bool) -> None:
        self.degraded: list[str] = []
        self.counts_results = True
        self._journal, self._log = journal, log
        self._stops_at_errors = stops_at_errors
        self.past: deque[Record] = deque()
        self._line = 1  # of the journal, that was taken last
        self.deferred: Record | None = None
        self.closed = ""
        self._launches = self._wanted = 0
        self._so_far = ""
        self._work: WorkProgress | None = None  # of the pass

    @property
    def path(self) -> Path:
        """Path of the journal."""
        return self._journal.path if self._journal is not None else Path()

    # ---- the journal of an earlier process --------------------------------------------------------------------------

    @property
    def is_resuming(self) -> bool:
        """True while records of a resumed run's journal remain to be applied."""
        return bool(self.past)

    def pop(self) -> Record:
        """Take and return the next record of a resumed run's journal."""
        self._line += 1
        return self.past.popleft()

    def misplaced(self) -> JournalError:
        """Error for a journal that has its next record in a wrong place."""
        return damaged_journal(f"{self.path}:{self._line + 1}", f"a record {self.past[0].type!r} where none can be")

    def damaged(self, error: Exception) -> JournalError:
        """Error for a journal with a damaged record: the one that was read last."""
        return damaged_journal(f"{self.path}:{self._line}", str(error))

    # ---- records ----------------------------------------------------------------------------------------------------

    def write(self, record: Record) -> None:
        """Append a record to the journal.

        Raises:
            SessionError: the record cannot be written. The run is closed: every later call fails.
        """
        if self.is_resuming or self._journal is None:
            return
        try:
            if self.deferred is not None:
                self._journal.write(self.deferred)
                self.deferred = None
            self._journal.write(record)
        except Exception as error:
            raise self._close(f"the run cannot go on: {error}") from error

    def degrade(self, reason: str, everything: bool = False) -> None:
        """Store a failure for the summary, and print the first one.

        Args:
            reason: sentence on the failure.
            everything: True if all remaining launches are simulated because of this failure.

        Raises:
            SessionError: the configuration has `on_error: abort`. The run is closed: every later call fails.
        """
        if self.is_resuming:
            return
        if self._stops_at_errors:
            raise self._close(f"{reason}; on_error: abort")
        if reason in self.degraded:  # said by the process that was killed
            return
        if not self.degraded:
            self.say(f"degraded: {reason}")
        self.degraded.append(reason)
        self.write(DegradedRecord(reason, everything))

    def _close(self, reason: str) -> SessionError:
        self.closed = reason
        if self._journal is not None:
            self._journal.close()
        return SessionError(reason)

    # ---- lines for the user -----------------------------------------------------------------------------------------

    def say_plainly(self, line: str) -> None:
        """Print a line as it is, without the plugin's name."""
        if not self.is_resuming:
            self._log(line)

    def say(self, *texts: str) -> None:
        """Print each text on a line that begins with the plugin's name."""
        for text in texts:
            self.say_plainly(f"kernelpoint: {text}")

    def pass_begins(self, pass_index: int, wanted: int, launches: int) -> None:
        """Print that a pass (round of sampling) begins: the number of launches to simulate (`wanted`) and of all launches
        (`launches`).
        """
        self._launches, self._wanted = launches, wanted
        self._work = WorkProgress(f"pass {pass_index}", "launches", self.say_plainly, terminal=False)
        self.say(f"pass {pass_index}: {wanted:,} of {self._launches:,} launches to simulate")

    def completed(self, simulated: int, remaining: int) -> None:
        """Print, at intervals, the number of launches that are simulated and that remain in this pass."""
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
        """Print the error bound of each target at the end of a pass (round of sampling).

        Args:
            look: estimates at the end of the pass.
            pass_index: index of the pass.
            budget: targets of the run.
            ranges: for each target on parts of the program: its name, largest relative half-width, and allowed relative error.
            is_withdrawn: True if the run states no bound because of defects of its input.
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
        place = f"; half-width {'within' if look.met else 'beyond'} the error budget"
        if is_withdrawn or all(text.endswith(EXACT) for text in texts):
            place = ""
        elif look.goes_on:
            place = f"; within the error budget, but the run goes on: {look.goes_on}"
        self.say(f"pass {pass_index}: {', '.join(texts)}{place}")


def _bound(width: float, error: float) -> str:
    if width == 0.0:
        return EXACT
    return f"+- {width_text(width, error)} %" if width == width else "no bound stated"


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
