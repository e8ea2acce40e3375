"""The journal file: append-only, one writer, readable after any kill."""

import json

import pytest

from kernelpoint.errors import JournalError
from kernelpoint.session.journal import Journal, read_journal

RUN = {
    "type": "run",
    "version": 1,
    "launches": [9],
    "config": {"policy": "random", "seed": 0, "error_budget": {}, "warmup": {"launches": 0}},
    "hashes": {},
}


def written(path, *records):
    journal = Journal(path, resume=True)
    for record in records:
        journal.write(record)
    journal.close()


def test_what_was_written_is_read_back(tmp_path):
    path = tmp_path / "run.kpjournal"
    written(path, RUN, {"type": "degraded", "reason": "α\n"})
    assert read_journal(path) == [RUN, {"type": "degraded", "reason": "α\n"}]


def test_a_record_is_on_disk_before_write_returns(tmp_path):
    path = tmp_path / "run.kpjournal"
    journal = Journal(path, resume=True)
    journal.write(RUN)
    assert read_journal(path) == [RUN]
    journal.close()


def test_a_last_line_torn_at_any_byte_is_cut_and_the_file_goes_on(tmp_path):
    path = tmp_path / "run.kpjournal"
    written(path, RUN, {"type": "result", "launch": 1})
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        journal = Journal(path, resume=True)
        assert journal.records == [RUN]
        journal.write({"type": "resume"})
        journal.close()
        assert read_journal(path) == [RUN, {"type": "resume"}]


@pytest.mark.parametrize("damage", [b"garbage\n", b"[1]\n", b'{"no":"type"}\n', b"\x00\x01\n", b"\n"])
def test_damage_anywhere_else_is_an_error_with_its_line(tmp_path, damage):
    path = tmp_path / "run.kpjournal"
    written(path, RUN, {"type": "resume"})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    with pytest.raises(JournalError, match=r"run\.kpjournal:2: expected a journal record"):
        Journal(path, resume=True)


def test_a_journal_of_another_format_version_is_refused(tmp_path):
    path = tmp_path / "run.kpjournal"
    path.write_text('{"type":"run","version":99}\n')
    with pytest.raises(JournalError, match="expected a run record of version 1, got 'run', version 99"):
        read_journal(path)


def test_a_second_writer_is_refused(tmp_path):
    journal = Journal(tmp_path / "run.kpjournal", resume=True)
    with pytest.raises(JournalError, match="in use by another run"):
        Journal(tmp_path / "run.kpjournal", resume=True)
    journal.close()
    Journal(tmp_path / "run.kpjournal", resume=True).close()


def test_beginning_anew_keeps_the_old_journals(tmp_path):
    path = tmp_path / "run.kpjournal"
    for number in range(3):
        journal = Journal(path, resume=False)
        journal.write({**RUN, "number": number})
        journal.close()
    kept = [read_journal(tmp_path / f"run.kpjournal{suffix}")[0]["number"] for suffix in (".1", ".2", "")]
    assert kept == [0, 1, 2]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(JournalError, match="No such file or directory"):
        Journal(tmp_path / "absent" / "run.kpjournal", resume=True)


def test_a_fork_of_the_writer_cannot_write(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "run.kpjournal", resume=True)
    monkeypatch.setattr("kernelpoint.session.journal.os.getpid", lambda: 0)
    with pytest.raises(JournalError, match="a fork of it cannot go on"):
        journal.write(RUN)


RESULT = {"type": "result", "process": 0, "launch": 3, "pass": 0, "counters": {"cycles": 5.0}}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**RESULT, "launch": None}, "a result record whose 'launch' is None"),
        ({**RESULT, "launch": 9}, "launch 9 of process 0; the run has"),
        ({**RESULT, "process": 1}, "launch 3 of process 1; the run has"),
        ({**RESULT, "counters": {"cycles": "many"}}, "a result record whose 'counters' is {'cycles': 'many'}"),
        ({**RESULT, "counters": {"cycles": float("nan")}}, "a result record whose 'counters' is {'cycles': nan}"),
        ({"type": "result", "process": 0, "launch": 3}, "a result record without 'counters'"),
        ({"type": "summary", "launches": 9}, "a summary record without 'simulated'"),
        ({"type": "dream"}, "a record of unknown type 'dream'"),
        ({"type": ["run"]}, "a record of unknown type"),
        ({"type": "look", "estimates": {"cycles": {}}, "ratios": {}}, "a look record whose 'estimates'"),
    ],
)
def test_a_record_that_lacks_what_readers_need_is_an_error_with_its_line(tmp_path, record, message):
    path = tmp_path / "run.kpjournal"
    path.write_text("".join(json.dumps(r) + "\n" for r in (RUN, RESULT, record)))
    with pytest.raises(JournalError) as error:
        read_journal(path)
    assert f"{path}:3: {message}" in str(error.value)
