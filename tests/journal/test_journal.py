"""The journal file: append-only, one writer, readable after any kill, and never anybody else's file."""

import errno
import fcntl
import json
import os
import random
import resource
import stat
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sealed_lines import journal_of

from kernelpoint.errors import JournalError
from kernelpoint.journal import (
    DecisionRecord,
    DegradedRecord,
    JournalWriter,
    LookRecord,
    Outcome,
    PassRecord,
    Record,
    ResumeRecord,
    RunRecord,
    read_records,
)
from kernelpoint.journal import writer as writing
from kernelpoint.journal.reader import parse
from kernelpoint.journal.records import text_of
from kernelpoint.session import boundary

RUN = RunRecord(kernelpoint="0.2.0", config={"policy": "random"}, bound="none", estimate="mean", launches=[9], hashes={})
DECIDED = DecisionRecord(0, 3, 0, "simulate", 1, u=0.25, threshold=0.5, stream="ab", prediction=7.0, x=1.5)
RESULT = Outcome(0, 3, 0, {"cycles": 5.0})
WHOLE = [RUN, PassRecord(0, 4, {"sizes": [4]}), DECIDED, RESULT, DegradedRecord("α\n")]


def written(path, *records, resume=True):
    journal = JournalWriter(path, resume=resume)
    for record in records:
        journal.write(record)
    journal.close()
    return path


def lines_of(*records):
    return journal_of(text_of(record).encode() for record in records)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.kpjournal"


# ---- lines --------------------------------------------------------------------------------------------------------------


def test_what_was_written_is_read_back(path):
    assert read_records(written(path, *WHOLE)) == WHOLE


def test_a_line_is_json_that_ends_with_its_checksum(path):
    last = json.loads(written(path, *WHOLE).read_text().splitlines()[-1])
    assert last["type"] == "degraded" and list(last)[-1] == "chain"


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_counters_keep_every_bit(counters):
    record = Outcome(0, 3, 0, {"cycles": 1.0, **counters})
    assert parse(lines_of(RUN, record), "x")[0][1] == record


def test_a_number_that_is_not_finite_is_refused_and_nothing_written(path):
    journal = JournalWriter(path, resume=True)
    journal.write(RUN)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.write(Outcome(0, 1, 0, {"cycles": float("inf")}))
    assert path.read_bytes() == before
    journal.close()


# ---- damage -------------------------------------------------------------------------------------------------------------


def torn(line):
    """Remains of the last line after a kill or a power loss: a beginning, and zeros or a newline behind it."""
    for length in range(len(line)):
        for tail in (b"", b"\n", b"\0" * 7, b"\0\n", b"\n\0\0\0", b"\n\n"):
            yield line[:length] + tail


def test_a_torn_last_line_is_cut_and_the_file_goes_on(path):
    *before, last = written(path, *WHOLE).read_bytes().splitlines(keepends=True)
    before = b"".join(before)
    for piece in torn(last[:-1]):
        records, end = parse(before + piece, "x")
        assert records == WHOLE[:-1] and end == len(before), piece
    path.write_bytes(before + last[:20] + b"\0\0\n")
    written(path, ResumeRecord(1))
    assert read_records(path) == [*WHOLE[:-1], ResumeRecord(1)]


def test_a_torn_first_line_is_no_run_yet(path):
    line = lines_of(RUN)
    for length in range(len(line)):
        path.write_bytes(line[:length])
        journal = JournalWriter(path, resume=True)
        assert journal.records == []
        journal.close()


def test_a_changed_byte_anywhere_is_an_error_with_its_line(path, record_property):
    data, tried = written(path, *WHOLE).read_bytes(), 0
    for place in range(len(data)):
        number = data[:place].count(b"\n") + 1
        for byte in {data[place] ^ bit for bit in (1, 4, 32)} | {0, 10, 255} - {data[place]}:
            changed = data[:place] + bytes([byte]) + data[place + 1 :]
            if byte in (0, 10) and place >= len(data) - 2:
                continue  # cannot be told from a torn line
            with pytest.raises(JournalError) as error:
                parse(changed, "run.kpjournal")
            assert f"run.kpjournal:{number}: " in str(error.value) or number == 1, changed
            tried += 1
    record_property("tried", tried)


def test_bytes_changed_at_random_never_pass_for_what_was_written(path, record_property):
    record_property("tried", 500)
    data = written(path, *WHOLE).read_bytes()
    chance = random.Random(3)
    for _ in range(500):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        try:
            records, _ = parse(bytes(changed), "x")
        except JournalError:
            continue
        assert records == WHOLE[: len(records)] and len(records) >= len(WHOLE) - 1


def changes(lines, others):
    """Lines deleted, doubled, swapped, and taken from another journal, and the number of the line that is wrong then."""
    for i in range(len(lines) - 1):
        yield [*lines[:i], *lines[i + 1 :]], i + 1
        yield [*lines[: i + 1], *lines[i:]], i + 2
        yield [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]], i + 1
        yield [*lines[:i], others[i], *lines[i + 1 :]], i + 2 if i == 0 else i + 1
        yield [*lines[: i + 1], *others[i + 1 :]], i + 2
    yield [*lines, lines[-1]], len(lines) + 1


def test_lines_that_are_deleted_doubled_swapped_or_foreign_are_an_error_with_their_line(tmp_path, record_property):
    others = [replace(RUN, kernelpoint="0.3.0"), *WHOLE[1:]]
    first, second = (written(tmp_path / name, *records) for name, records in (("first", WHOLE), ("second", others)))
    read = [path.read_bytes().splitlines(keepends=True) for path in (first, second)]
    cases = list(changes(*read))
    record_property("tried", len(cases))
    for lines, number in cases:
        with pytest.raises(JournalError) as error:
            parse(b"".join(lines), "run.kpjournal")
        message = str(error.value)
        assert f"run.kpjournal:{number}: " in message or (number == 1 and "is not a journal" in message), message


@pytest.mark.parametrize("damage", [b"garbage\n", b"[1]\n", b'{"no":"type"}\n', b"\x00\x01\n", b"\n"])
def test_a_strange_line_is_an_error_with_its_number(path, damage):
    lines = written(path, RUN, ResumeRecord(0)).read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    with pytest.raises(
        JournalError, match=r"run\.kpjournal:2: the journal is damaged in this line: the line does not have its checksum"
    ):
        JournalWriter(path, resume=True)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"launch": None}, "a record 'outcome' whose 'launch' is None"),
        ({"launch": -1}, "a record 'outcome' whose 'launch' is -1"),
        ({"launch": 9}, "names launch 9 of process 0, which the run does not have"),
        ({"process": 1}, "names launch 4 of process 1, which the run does not have"),
        ({"launch": 3}, "a second result of launch 3"),
        ({"counters": {"cycles": "many"}}, "a record 'outcome' whose 'counters.cycles' is 'many'"),
        ({"counters": {"cycles": float("nan")}}, "a record 'outcome' whose .counters.cycles. is nan"),
        ({"counters": {"reads": 1.0}}, r"the result in this line has the counters \['reads'\]"),
        ({"colour": 1}, "a record 'outcome' whose 'colour' is 1"),
        ({"type": "dream"}, "expected a record of a known type"),
        ({"type": ["run"]}, "expected a record of a known type"),
        ({"type": "run"}, "a record 'run' whose"),
    ],
)
def test_a_record_that_lacks_what_readers_need_is_an_error_with_its_line(path, record, message):
    whole = {"type": "outcome", "process": 0, "launch": 4, "pass_index": 0, "counters": {"cycles": 5.0}, **record}
    path.write_bytes(journal_of([text_of(RUN).encode(), text_of(RESULT).encode(), json.dumps(whole).encode()]))
    with pytest.raises(JournalError, match=message) as error:
        read_records(path)
    assert str(error.value).startswith(f"{path}:3: ")


# ---- files --------------------------------------------------------------------------------------------------------------


def test_a_journal_of_format_version_1_is_refused_by_name_and_left_alone(path):
    path.write_text('{"type":"run","version":1,"launches":[9]}\n{"type":"resu')
    before = path.read_bytes()
    for read in (read_records, lambda p: JournalWriter(p, resume=True)):
        with pytest.raises(JournalError, match="has format version 1, but this KernelPoint reads 5"):
            read(path)
    assert path.read_bytes() == before


def test_a_journal_of_format_version_1_may_be_set_aside(path):
    path.write_text('{"type":"run","version":1,"launches":[9]}\n')
    written(path, RUN, resume=False)
    assert path.with_name("run.kpjournal.1").read_text().startswith('{"type":"run","version":1') and read_records(path)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("content", [b"remember the milk", b"remember\nthe milk\n", b"\0" * 40, b"{}\n", b'{"type":"pass"}\n'])
def test_a_file_that_is_no_journal_is_never_written_to(tmp_path, content, resume):
    notes = tmp_path / "notes.txt"
    notes.write_bytes(content)
    with pytest.raises(JournalError, match=r"notes\.txt is not a journal .* not overwritten"):
        JournalWriter(notes, resume=resume)
    assert notes.read_bytes() == content and list(tmp_path.iterdir()) == [notes]


@pytest.mark.parametrize("use", [read_records, lambda p: JournalWriter(p, True), lambda p: JournalWriter(p, False)])
def test_neither_a_fifo_nor_a_device_nor_a_folder_is_opened(tmp_path, use):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "fifo", "/dev/null", "/dev/full", tmp_path / "folder"):
        with pytest.raises(JournalError, match="regular file"):
            use(place)
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


def test_a_second_writer_is_refused(path):
    journal = JournalWriter(path, resume=True)
    with pytest.raises(JournalError, match="in use by another run"):
        JournalWriter(path, resume=True)
    assert path.exists()
    journal.close()
    JournalWriter(path, resume=True).close()


def test_beginning_anew_keeps_the_old_journals(path):
    for number in range(3):
        written(path, RUN, ResumeRecord(number), resume=False)
    kept = [read_records(path.with_name(f"run.kpjournal{suffix}"))[1].results for suffix in (".1", ".2", "")]
    assert kept == [0, 1, 2]


def test_nothing_is_changed_before_the_first_record(path):
    for resume in (True, False):
        JournalWriter(path, resume=resume).close()
        assert not path.exists()
    torn_file = written(path, *WHOLE).read_bytes()[:-5]
    path.write_bytes(torn_file)
    for resume in (True, False):
        JournalWriter(path, resume=resume).close()
        assert path.read_bytes() == torn_file


@pytest.mark.parametrize(("name", "why"), [("absent/run.kpjournal", "No such file"), ("x" * 300, "File name too long")])
def test_a_path_where_no_file_can_be_is_refused(tmp_path, name, why):
    with pytest.raises(JournalError, match=f"cannot write the journal .*{why}"):
        JournalWriter(tmp_path / name, resume=True)


def test_a_file_that_cannot_be_read_is_refused():
    if not os.access("/proc/self/mem", os.W_OK):
        pytest.skip("needs /proc/self/mem, whose first page cannot be read")
    with pytest.raises(JournalError, match="cannot read the journal /proc/self/mem"):
        JournalWriter("/proc/self/mem", resume=True)


# ---- a disk that fails --------------------------------------------------------------------------------------------------


def test_a_record_is_with_the_system_before_write_returns(path):
    journal = JournalWriter(path, resume=True)
    journal.write(RUN)
    assert read_records(path) == [RUN]
    journal.close()


def test_a_fork_of_the_writer_cannot_write(path, monkeypatch):
    journal = JournalWriter(path, resume=True)
    monkeypatch.setattr(writing.os, "getpid", lambda: 0)
    with pytest.raises(JournalError, match="not by a fork"):
        journal.write(RUN)


def failing(call, after, how):
    """A system call that works `after` times and then fails, or does only part of what it should."""
    count = [0]

    def act(descriptor, *arguments):
        count[0] += 1
        if count[0] <= after:
            return call(descriptor, *arguments)
        if how == "part":
            return call(descriptor, arguments[0][: len(arguments[0]) // 2])
        raise OSError(how, os.strerror(how))

    return act


@pytest.mark.parametrize("name", ["write", "fdatasync"])
@pytest.mark.parametrize("how", [errno.ENOSPC, errno.EIO, "part"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_after_a_failed_write_the_journal_is_closed_and_says_so_and_what_came_before_is_whole(
    path, monkeypatch, name, how, after
):
    if name == "fdatasync" and how == "part":
        pytest.skip("a sync has no parts")
    monkeypatch.setattr(writing, "SYNC_SECONDS", 0.0)
    journal = JournalWriter(path, resume=True)
    with monkeypatch.context() as broken:
        broken.setattr(writing.os, name, failing(getattr(os, name), after, how))
        with pytest.raises(JournalError, match="cannot write to the journal"):
            for record in WHOLE:
                journal.write(record)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(JournalError, match="the run is closed"):
            journal.write(Outcome(0, 1, 0))
    assert path.read_bytes() == before
    again = JournalWriter(path, resume=True)
    assert again.records == WHOLE[: len(again.records)] and len(again.records) >= after
    again.close()


def test_data_is_synced_with_the_first_record_and_then_at_most_every_second(path, monkeypatch):
    synced, now = [], [100.0]
    monkeypatch.setattr(writing.os, "fdatasync", lambda descriptor: synced.append(path.stat().st_size))
    monkeypatch.setattr(writing.time, "monotonic", lambda: now[0])
    journal = JournalWriter(path, resume=True)
    journal.write(RUN)
    assert len(synced) == 1
    for step in range(10):
        now[0] = 100.0 + 0.3 * step
        journal.write(DegradedRecord("x"))
    assert len(synced) == 3  # at 101.2 and 102.4
    journal.close()


# ---- the document -------------------------------------------------------------------------------------------------------


def test_the_document_of_the_format_names_every_record_and_its_fields():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    text = page.split("### Records\n")[1].split("\n### ")[0]
    rows = {line.split("|")[1].strip(" `"): line for line in text.splitlines() if line.startswith("| `")}
    kinds = {kind.__dataclass_fields__["type"].default: kind for kind in get_args(Record)}
    assert rows.keys() == kinds.keys()
    for name, kind in kinds.items():
        if name not in ("summary", "population"):  # told by another row
            missing = [f.name for f in fields(kind) if f.name != "type" and f"`{f.name}`" not in rows[name]]
            assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_journal_that_is_removed_while_the_run_goes_on_is_told_at_the_next_look_and_kept(path, change):
    journal = JournalWriter(path, resume=True)
    for record in WHOLE:
        journal.write(record)
    content = path.read_bytes()
    path.unlink()
    if change == "replaced":
        path.write_text("another file")
    journal.write(ResumeRecord(1))
    look = LookRecord(pass_index=0, met=False, estimates={}, ratios={})
    with pytest.raises(JournalError, match=r"was removed or replaced while the run went on; it is kept as .*run\.kpjournal\.1"):
        journal.write(look)
    kept = path.with_name("run.kpjournal.1")
    assert kept.read_bytes().startswith(content) and read_records(kept) == [*WHOLE, ResumeRecord(1), look]
    with pytest.raises(JournalError, match="the run is closed"):
        journal.write(look)


def test_zeros_that_take_no_room_behind_a_journal_are_not_read(path):
    written(path, *WHOLE)
    os.truncate(path, 8 << 30)
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, limit[1]))
    try:
        assert read_records(path) == WHOLE
        JournalWriter(path, resume=True).close()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    with path.open("r+b") as file:
        file.seek(4 << 30)
        file.write(b"data")
    with pytest.raises(JournalError, match=r"it has a hole at byte .*, and data after it"):
        read_records(path)


def test_a_sparse_file_that_is_no_journal_is_refused_at_once(path):
    path.touch()
    os.truncate(path, 8 << 30)
    with pytest.raises(JournalError, match="the journal is empty"):
        read_records(path)


def test_a_file_system_without_locks_is_said_and_not_taken_for_another_run(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "k.yaml"
    path.write_text(f"version: 1\npolicy: random\njournal: {tmp_path}/run.kpjournal\n")
    with pytest.raises(JournalError, match=r"run\.kpjournal cannot be locked: No locks available; name one on another"):
        boundary.open(str(path), {"simulator": "test", "launch_counts": [6]}, lambda line: None)
