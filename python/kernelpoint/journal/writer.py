"""The one writer of a journal file."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from pathlib import Path

from kernelpoint.errors import JournalError
from kernelpoint.files import open_to_append, read_to_hole, replacing, sync_folder
from kernelpoint.journal.lines import BEGIN, FIRST, check_begin, checksum_of, seal
from kernelpoint.journal.reader import parse
from kernelpoint.journal.records import LookRecord, PopulationRecord, Record, RunRecord, SummaryRecord, text_of

SYNC_SECONDS = 1.0
_SYNCED = frozenset((RunRecord, PopulationRecord, LookRecord, SummaryRecord))


class JournalWriter:
    """Writer of a journal: it locks the file and appends records. Opening changes nothing; the first record does.

    When `write` returns, the operating system has the record, so it survives the end of the process. Data are forced to the
    disk once a second, and at the end of each pass (round of sampling) and of the run. A power loss costs the records of at
    most one second, and their launches are simulated again.

    Args:
        path: path of the journal, which is made if it is missing.
        resume: True to append to the records in the file; False to rename an existing file and begin a new one.

    Raises:
        JournalError: another process has locked the file, or the file cannot be written, is no journal, or is damaged.

    Attributes:
        records: records in the file when it was opened; empty for a new run.
    """

    def __init__(self, path: str | Path, resume: bool) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        self._owner = os.getpid()
        self._resume = resume
        self._begun = False
        self._alone = False  # no other run holds the file
        self._synced = 0.0
        self._before = FIRST  # checksum of the last line
        self._closed = ""
        try:
            self._made = not self.path.exists()
            self._file = open_to_append(self.path)
        except OSError as error:
            raise JournalError(f"cannot write the journal {path}: {error.strerror}; name another with `journal:`") from None
        try:
            self._lock()
            self._end = self._take_over()
        except BaseException:
            self.close()
            raise

    def write(self, record: Record) -> None:
        """Append one record.

        Raises:
            JournalError: this write or an earlier one failed, or the journal is closed.
            ValueError: a number in the record is not finite; nothing is written.
        """
        line = seal(text_of(record), self._before)
        if self._closed:
            raise JournalError(self._closed)
        if os.getpid() != self._owner:
            raise JournalError(
                f"the journal {self.path} can be written only by the process that opened it, {self._owner}, not by a fork; "
                "open the session after the fork"
            )
        try:
            if not self._begun:
                self._begin()
            if os.write(self._file.fileno(), line) != len(line):
                raise OSError(0, "the disk took only part of a record")
            self._before = checksum_of(line[:-1])
            is_step = type(record) in _SYNCED
            if is_step or time.monotonic() - self._synced >= SYNC_SECONDS:
                os.fdatasync(self._file.fileno())
                self._synced = time.monotonic()
            if is_step:
                self._check_place()
        except OSError as error:
            self._fail(f"cannot write to the journal {self.path}: {error.strerror}")

    def close(self) -> None:
        """Close the journal and release its lock. A file that this writer created and left empty is removed."""
        self._closed = self._closed or f"the journal {self.path} is closed"
        if not self._file.closed:
            if self._made and self._alone and not self._begun and os.getpid() == self._owner:
                self.path.unlink(missing_ok=True)
            self._file.close()

    def _fail(self, reason: str) -> None:
        """Close the journal after a failed write, because no record may follow an incomplete one."""
        self._closed = f"{reason}; the run is closed, and complete records before it stay in the journal"
        self._file.close()
        raise JournalError(self._closed)

    def _check_place(self) -> None:
        """Fail where the file was removed, or another stands in its place; all that was written is kept beside it."""
        opened = os.fstat(self._file.fileno())
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self.path), opened):
                return
        self._file.seek(0)
        with replacing(kept := self._free_name()) as copy:
            shutil.copyfileobj(self._file, copy)
        self._fail(f"the journal {self.path} was removed or replaced while the run went on; it is kept as {kept}")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.fstat(self._file.fileno()).st_ino == self.path.stat().st_ino
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.ENOENT):
                self._alone = True
                raise JournalError(
                    f"the journal {self.path} cannot be locked: {error.strerror}; name one on another file system "
                    "with `journal:`"
                ) from None
            same = False
        if not same:  # also where another process set the file aside between opening and locking it
            raise JournalError(f"the journal {self.path} is in use by another run; wait for that, or name another `journal:`")
        self._alone = True

    def _take_over(self) -> int:
        """Read the existing records and return the offset of the next one."""
        try:
            data = read_to_hole(self._file)
        except OSError as error:
            raise JournalError(f"cannot read the journal {self.path}: {error.strerror}; name another with `journal:`") from None
        if self._resume:
            self.records, end = parse(data, str(self.path))
            self._before = checksum_of(data[: end - 1]) if end else FIRST
            return end
        if not data.startswith(BEGIN):  # a journal of whichever version may be set aside
            check_begin(data, str(self.path))
        return len(data)

    def _begin(self) -> None:
        """Prepare the file for the next record: cut an incomplete last line, or keep another run's journal
        under the first free number and begin an empty one in its place.
        """
        if self._resume:
            self._file.truncate(self._end)
        elif self._end:
            self.path.rename(self._free_name())
            old, self._file = self._file, open_to_append(self.path)
            self._lock()
            old.close()
        self._begun = True
        sync_folder(self.path)

    def _free_name(self) -> Path:
        """Path with the first unused number appended."""
        number = 1
        while (free := self.path.with_name(f"{self.path.name}.{number}")).exists():
            number += 1
        return free
