"""The one reader of journals: bytes to records, with all checks that do not depend on the use of a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from kernelpoint.errors import JournalError, damaged_journal, shown
from kernelpoint.files import open_regular, read_to_hole
from kernelpoint.journal.lines import split_lines
from kernelpoint.journal.records import Outcome, PopulationRecord, Record, RunRecord, SummaryRecord
from kernelpoint.typed import Mismatch, loads, reader

KINDS = {kind.__dataclass_fields__["type"].default: kind for kind in get_args(Record)}


def read_records(path: str | Path) -> list[Record]:
    """Read the records of a journal. No lock is taken, so the journal of a run in progress can be read.

    Raises:
        JournalError: the file is missing, empty, no journal, of another version, or damaged; the message has the line.

    >>> read_records("none.kpjournal")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.JournalError: cannot read the journal none.kpjournal: No such file or directory; name the journal ...
    """
    try:
        with open_regular(path) as file:
            data = read_to_hole(file)
    except OSError as error:
        raise JournalError(
            f"cannot read the journal {path}: {error.strerror}; name the journal (.kpjournal) of a run"
        ) from None
    records, _ = parse(data, str(path))
    if not records:
        raise JournalError(f"{path}: the journal is empty, because its run ended before its first record; start the run again")
    return records


def parse(data: bytes, name: str) -> tuple[list[Record], int]:
    """Parse the bytes of a journal.

    Returns:
        The records, and the length in bytes of the file up to the end of the last complete record.

    Raises:
        JournalError: the bytes are no journal, of another version, or damaged; the message has the line.
    """
    lines, end = split_lines(data, name)
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(record_of(loads(line)))
        except ValueError as error:
            raise damaged_journal(f"{name}:{number}", _complaint(error, line)) from None
    _check(records, name)
    return records, end


def record_of(content: Any) -> Record:
    """Make a record from the parsed JSON of its line.

    Raises:
        Mismatch: the type of record is unknown, or a field is missing, unknown or of the wrong type.

    >>> record_of({"type": "resume", "results": 3})
    ResumeRecord(results=3, type='resume')
    """
    kind = content.get("type") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise Mismatch("expected a record of a known type", content)
    try:
        return cast(Record, reader(KINDS[kind])(content))
    except Mismatch as error:
        raise error.within(kind) from None


def _complaint(error: ValueError, line: bytes) -> str:
    """Message on what is wrong with a record."""
    if not isinstance(error, Mismatch) or not error.place:
        return f"expected a record of a known type, got {line[:60]!r}"
    kind, *place = error.place
    field = ".".join(place)
    if error.is_missing:
        return f"a record {kind!r} without {shown(field)}"
    return f"a record {kind!r} whose {shown(field)} is {shown(error.value)[:60]}: {error}"


def _check(records: Sequence[Any], name: str) -> None:
    """Raise an error for records that do not go together: the first record, and no other, begins a run; launches lie in the
    list, where its length is known; all results report the same counters, cycles among them, and each launch has one; a summary
    names a counter that it states, and that the results have or are a ratio of.
    """
    counts: list[int] = []
    counters: list[str] = []
    seen: set[tuple[int, int]] = set()
    for line, record in enumerate(records, start=1):
        place = f"{name}:{line}"
        if isinstance(record, RunRecord) != (line == 1):
            raise damaged_journal(
                place, f"a {record.type!r} record stands in line {line}; allowed: a run record in line 1, and nowhere else"
            )
        if isinstance(record, RunRecord | PopulationRecord):
            counts = record.launches if any(record.launches) else []
        process, launch = getattr(record, "process", 0), getattr(record, "launch", 0)
        if counts and (process >= len(counts) or launch >= max(counts[process], 1)):
            what = f"it names launch {launch} of process {process}, which the run does not have (the processes have {counts})"
            raise damaged_journal(place, what)
        if isinstance(record, Outcome) and record.is_result:
            names = list(record.counters)
            counters = counters or names
            if names != counters or "cycles" not in counters:
                raise damaged_journal(
                    place, f"the result in this line has the counters {str(names)[:200]}, an earlier one {str(counters)[:200]}"
                )
            if (process, launch) in seen:
                raise damaged_journal(place, f"it has a second result of launch {launch} of process {process}")
            seen.add((process, launch))
        elif isinstance(record, SummaryRecord):
            stated = {**record.counters, **record.ratios}
            allowed = [key for key in stated if not counters or key in counters or key in record.ratios]
            if stated and record.counter not in allowed:
                raise damaged_journal(
                    place, f"its summary is of counter {shown(record.counter)}, which no result has ({shown(allowed)})"
                )
