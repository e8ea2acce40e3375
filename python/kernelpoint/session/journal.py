"""The journal of a run: JSON Lines, append-only, one writer, flushed per record.

Records, in the order in which a run writes them (`type` says which):

- `run`: resolved configuration, versions, host, hashes; units, total covariate and cluster of each stratum; once, first.
- `pass`: a pass begins; its number and the sample size of each stratum.
- `decision`: a launch was decided: process, launch, pass, action, stratum, u, and the threshold or the take-all reason; of
  a launch to simulate, the covariate x where the design has one.
- `result`: a launch is complete: cycles, instructions, counters.
- `warmup`: a launch was simulated only to warm the machine up; its counters are not used.
- `abort`: a launch could not be simulated, and why.
- `degraded`: a decision failed and the launch, or the rest of the run, is simulated instead; and why.
- `look`: a pass ended: estimates and whether the budget is met.
- `seen`: inside a first pass over launches not known beforehand: what holds for those seen so far.
- `population`: such a pass ended: number of launches, hashes, strata as in `run`, and those of the launches simulated so far.
- `resume`: a new process took the run over.
- `summary`: the run ended.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from pathlib import Path
from typing import Any

from kernelpoint.errors import JournalError
from kernelpoint.session.journal_fields import check_records

FORMAT_VERSION = 1
Record = dict[str, Any]
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Journal:
    """The one writer of a journal file.

    Args:
        path: the file; made where it is missing.
        resume: read what is there and append; otherwise an existing file is kept under a numbered name and a new one begins.

    Raises:
        JournalError: another process holds the file, it cannot be written, or it is damaged anywhere but in a torn last line.

    Attributes:
        records: what the file held when it was opened; empty for a new run.
    """

    def __init__(self, path: str | Path, resume: bool) -> None:
        self.path = Path(path)
        self._owner = os.getpid()
        try:
            self._file = self._open()
        except OSError as error:
            raise JournalError(f"cannot write the journal {path}: {error.strerror}") from None
        self._lock()
        if not resume and self._file.seek(0, os.SEEK_END):
            self._set_aside()
        self.records, end = parse_journal(self._read(), str(self.path))
        self._file.truncate(end)

    def write(self, record: Record) -> None:
        """Append one record; it is with the operating system when this returns.

        Raises:
            JournalError: the disk refused it.
        """
        self.write_line(_encode(record))

    def write_line(self, line: str) -> None:
        """Append one record that is already JSON."""
        if os.getpid() != self._owner:
            raise JournalError(
                f"the journal {self.path} belongs to process {self._owner}; a fork of it cannot go on with the run"
            )
        try:
            data = line.encode() + b"\n"
            if self._file.write(data) != len(data):
                raise OSError(0, "the disk took only part of a record")
        except OSError as error:
            raise JournalError(f"cannot write to the journal {self.path}: {error.strerror}") from None

    def close(self) -> None:
        """Release the file; the lock goes with it."""
        self._file.close()

    def _open(self) -> io.FileIO:
        return io.FileIO(self.path, "a+")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(
                f"the journal {self.path} is in use by another run; name another with `journal:`"
            ) from None

    def _set_aside(self) -> None:
        """Keep the old journal under the first free number and begin an empty one in its place."""
        number = 1
        while (kept := self.path.with_name(f"{self.path.name}.{number}")).exists():
            number += 1
        self.path.rename(kept)
        self._file.close()
        self._file = self._open()
        self._lock()

    def _read(self) -> bytes:
        self._file.seek(0)
        return self._file.readall() or b""


def read_journal(path: str | Path) -> list[Record]:
    """The records of a journal, for reports; does not lock, so a running run can be looked at.

    Raises:
        JournalError: the file is missing, empty or damaged, or a record lacks what readers need.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise JournalError(f"cannot read the journal {path}: {error.strerror}") from None
    records, _ = parse_journal(data, str(path))
    if not records:
        raise JournalError(f"{path}: the journal holds no record")
    check_records(records, str(path))
    return records


def read_first_record(path: str | Path) -> Record:
    """The run record of a journal; empty where the run was killed before it was whole."""
    try:
        with Path(path).open("rb") as file:
            records, _ = parse_journal(file.readline(), str(path))
    except OSError as error:
        raise JournalError(f"cannot read the journal {path}: {error.strerror}") from None
    return records[0] if records else {}


def frozen_record(records: list[Record]) -> Record:
    """What a run drew from: `launches` of each process, file of the `plan` or None, `hashes`, `strata`.

    They stand in the first record, or, where nobody knew the launches beforehand, in that of the end of the first pass.

    >>> run = {"type": "run", "launches": [0], "hashes": {"simulator_config": "a"}}
    >>> frozen_record([run, {"type": "population", "launches": [7], "plan": None, "hashes": {"list": "b"}}])["launches"]
    [7]
    """
    found = next((r for r in records if r["type"] == "population"), {})
    return {**records[0], **found, "hashes": {**records[0].get("hashes", {}), **found.get("hashes", {})}}


def parse_journal(data: bytes, name: str) -> tuple[list[Record], int]:
    """The records of journal bytes, and where the last whole record ends.

    A last line without its newline was torn by a kill and is left out.

    >>> parse_journal(b'{"type":"run","version":1}\\n{"type":"resu', "x")
    ([{'type': 'run', 'version': 1}], 27)
    """
    end = data.rfind(b"\n") + 1
    records: list[Record] = []
    for number, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or "type" not in record:
            raise JournalError(f"{name}:{number}: expected a journal record, got {line[:60]!r}")
        records.append(record)
    if records and (records[0]["type"] != "run" or records[0].get("version") != FORMAT_VERSION):
        got = f"{records[0]['type']!r}, version {records[0].get('version')!r}"
        raise JournalError(f"{name}:1: expected a run record of version {FORMAT_VERSION}, got {got}")
    return records, end
