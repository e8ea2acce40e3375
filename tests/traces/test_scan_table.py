"""Scanning whole workloads, the cache that makes the second scan cheap, and what it must notice."""

import dataclasses
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trace_writer import cta, small_trace, write

from kernelpoint import _native
from kernelpoint.admission.simulable import TraceIntegrity
from kernelpoint.encoder.embed import round_embeddings
from kernelpoint.errors import PlanError
from kernelpoint.program import fingerprint
from kernelpoint.traces import ArtefactCache, fields_of, scan_launches, scan_trace
from kernelpoint.traces.replay import Footprints
from kernelpoint.traces.scan import CONTENT, SCAN

EXIT = "0020 ffffffff 0 EXIT 0 0"


def write_workload(folder, count=6):
    """Launch i has 1 + i % 3 instructions; kernels alternate."""
    folder.mkdir(exist_ok=True)
    paths = []
    for i in range(count):
        text = small_trace(cta([EXIT] * (1 + i % 3)), **{"kernel name": f"k{i % 2}", "kernel id": str(i)})
        paths.append(folder / f"kernel-{i}.traceg")
        paths[-1].write_text(text)
    return [str(path) for path in paths]


@pytest.fixture
def paths(tmp_path):
    return write_workload(tmp_path / "workload")


@pytest.fixture
def messages():
    return []


@pytest.fixture
def cache(tmp_path, messages):
    return ArtefactCache(tmp_path / "own", log=messages.append)


def never_read(*arguments):
    raise AssertionError("a cached trace was read again")


def as_lists(table):
    contents = table.contents
    columns = [table.stream_ids, table.label, table.names.numbers]
    columns += [contents.records[name][table.content] for name in ("counts", "by_unit")]
    labels = table.labels.shapes.tolist(), table.labels.names.distinct
    return [c.tolist() for c in columns], contents.stream_hashes(), *labels, table.errors


def stream_hash(table, launch):
    stream = int(table.stream_ids[launch])
    return table.contents.stream_hashes()[stream] if stream >= 0 else None


def shape(table, launch):
    sizes = tuple(table.grid[launch].tolist()), tuple(table.block[launch].tolist())
    return table.names[launch], *sizes, int(table.shared_memory[launch]), int(table.registers[launch])


def test_rows_are_what_single_scans_give(paths, cache):
    table = scan_launches(paths, cache)
    for i, path in enumerate(paths):
        scan = scan_trace(path)
        assert stream_hash(table, i) == scan.stream
        fields = fields_of(scan.header)
        names = ("kernel_name", "grid", "block", "shared_memory", "registers")
        assert shape(table, i) == tuple(fields[name] for name in names)
        for name in ("instructions", "thread_instructions", "ctas", "warps", "sectors", "bytes", "shared_accesses"):
            assert table.count(name)[i] == getattr(scan.work, name)
        assert table.contents.records["by_unit"][table.content[i]].tolist() == list(scan.work.by_unit)
    assert table.stream_ids.tolist() == [0, 1, 2, 0, 1, 2]
    assert table.names.numbers.tolist() == [0, 1, 0, 1, 0, 1]
    assert table.first_launches.tolist() == [0, 1, 2]


@pytest.mark.parametrize("launches", [6, 2100])
def test_a_second_scan_reads_no_trace_and_says_the_same(tmp_path, cache, monkeypatch, launches):
    paths = write_workload(tmp_path / "again", launches)
    first = scan_launches(paths, cache)
    monkeypatch.setattr(_native, "scan_many", never_read)
    assert as_lists(scan_launches(paths, cache)) == as_lists(first)
    assert as_lists(scan_launches(paths[::-1], cache))[2] == first.labels.shapes[::-1].tolist()


def test_the_result_does_not_depend_on_the_number_of_threads(paths, tmp_path):
    tables = [scan_launches(paths, ArtefactCache(tmp_path / f"threads-{n}"), threads=n) for n in (1, 2, 5)]
    assert as_lists(tables[0]) == as_lists(tables[1]) == as_lists(tables[2])


def test_a_launch_that_occurs_twice_is_read_once(paths, cache):
    shown = []
    table = scan_launches([paths[1], paths[0], paths[1]], cache, progress=lambda done, total: shown.append((done, total)))
    assert shown[-1] == (2, 2)
    assert table.stream_ids.tolist() == [0, 1, 0]


def test_broken_launches_are_reported_and_the_others_scanned(paths, cache):
    with open(paths[2], "w") as file:
        file.write("#")
    missing = paths[0] + "x"
    table = scan_launches([paths[0], paths[2], missing, paths[1], paths[2]], cache)
    assert sorted(table.errors) == [1, 2, 4]
    assert table.errors[1].startswith(f"{paths[2]}:1: expected the header line '-kernel name")
    assert "cannot be opened" in table.errors[2]
    assert table.stream_ids.tolist() == [0, -1, -1, 1, -1]
    assert table.names.numbers.tolist() == [0, -1, -1, 1, -1]
    assert table.count("instructions").tolist() == [1, 0, 0, 2, 0]
    assert stream_hash(table, 1) is None


def test_a_workload_of_broken_launches_gives_a_table_of_errors(cache):
    table = scan_launches(["a.traceg", "b.traceg"], cache)
    assert sorted(table.errors) == [0, 1]
    assert len(table.contents.of_streams) == len(table.labels.shapes) == len(table.first_launches) == 0


def test_an_interrupted_scan_goes_on_where_it_stopped(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(sys.modules["kernelpoint.traces.scan"], "CHUNK", 2)
    paths = write_workload(tmp_path / "interrupted")

    def interrupt(done, total):
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan_launches(paths, cache, progress=interrupt)
    shown = []
    table = scan_launches(paths, cache, progress=lambda done, total: shown.append((done, total)))
    assert shown[-1] == (4, 4)
    assert table.count("instructions").tolist() == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("sound", [0, 4096])
def test_a_damaged_cache_is_moved_aside_when_that_shows_and_said(paths, cache, messages, tmp_path, sound):
    table = scan_launches(paths, cache)
    cache.close()
    data = cache.path.read_bytes()
    cache.path.write_bytes(data[:sound] + bytes(len(data) - sound))
    again = ArtefactCache(tmp_path / "own", log=messages.append)
    assert as_lists(scan_launches(paths, again)) == as_lists(table)
    assert len(messages) == 1
    assert "is damaged; it was moved to" in messages[0]
    assert list((tmp_path / "own").glob("artefacts.sqlite.damaged-*"))


def test_a_cache_that_cannot_be_written_is_done_without_and_said(paths, tmp_path, messages):
    (tmp_path / "file").write_text("")
    cache = ArtefactCache(tmp_path / "file" / "folder", log=messages.append)
    assert scan_launches(paths, cache).count("instructions").tolist() == [1, 2, 3, 1, 2, 3]
    ArtefactCache(cache.path.parent, log=messages.append)  # says no more
    assert len(messages) == 1 and "nothing read from now on is remembered" in messages[0]


def test_the_cache_lies_where_the_environment_says(paths, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "elsewhere"))
    scan_launches(paths)
    assert (tmp_path / "elsewhere" / "artefacts.sqlite").exists()


def test_several_processes_share_one_cache(tmp_path):
    folders = [tmp_path / f"part-{i}" for i in range(4)]
    for folder in folders:
        write_workload(folder, 200)
    code = (
        "import sys; from pathlib import Path; from kernelpoint.traces import ArtefactCache, scan_launches, read_trace_list\n"
        "said = []; cache = ArtefactCache(sys.argv[1], log=said.append)\n"
        "for folder in sys.argv[2:]: scan_launches(read_trace_list(folder).traces, cache)\n"
        "sys.exit('; '.join(said))"
    )
    orders = [folders, folders[::-1], folders[2:] + folders[:2]]
    processes = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "shared", *order], stderr=subprocess.PIPE) for order in orders
    ]
    assert [process.communicate(timeout=120)[1].strip() for process in processes] == [b"", b"", b""]
    with sqlite3.connect(tmp_path / "shared" / "artefacts.sqlite") as file:
        kept = dict(file.execute("SELECT kind, count(*) FROM artefacts GROUP BY kind"))
    assert kept == {CONTENT: 800, SCAN: 6}, "every file is known, and each distinct trace once"


def test_artefacts_come_back_only_under_their_kind_and_key(cache):
    cache.put("a", {"1": b"one", "2": b"two"})
    cache.put("b", {"1": b"another"})
    assert cache.get("a", ["2", "3", "1"]) == [b"two", None, b"one"]
    assert cache.get("b", ["1", "2"]) == [b"another", None]
    assert (cache.kinds(""), cache.kinds("b"), cache.kinds("c")) == (["a", "b"], ["b"], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_an_embedding_that_cannot_be_kept_is_refused(value):
    with pytest.raises(PlanError, match="finite numbers up to 65504"):
        round_embeddings(np.array([[value]], dtype=np.float32))


def test_equal_traces_are_parsed_once_and_named_each_by_its_own_path(tmp_path, cache, monkeypatch):
    texts = [small_trace(cta([EXIT] * 3), **{"kernel id": str(number)}) for number in range(3)]
    texts += [text.replace("insts = 3", "insts = 4") for text in texts]
    paths = []
    for number, text in enumerate(texts):
        (tmp_path / f"kernel-{number}.traceg").write_text(text)
        paths.append(str(tmp_path / f"kernel-{number}.traceg"))
    parsed, scan_many = [], _native.scan_many

    def counted(*given):
        contents, scans = scan_many(*given)
        parsed.extend(scan for scan in scans if scan is not None)
        return contents, scans

    monkeypatch.setattr(_native, "scan_many", counted)
    table = scan_launches(paths, cache, threads=1)
    assert len(parsed) == 2, "they differ in the tracer's number only"
    assert table.count("instructions").tolist() == [3, 3, 3, 0, 0, 0] and table.content.tolist() == [0, 0, 0, 1, 1, 1]
    assert [table.errors[launch].split(":")[0] for launch in (3, 4, 5)] == paths[3:]


def test_a_part_of_a_table_is_what_scanning_that_part_gives(paths, cache):
    whole, alone = dataclasses.replace(scan_launches(paths, cache), counts=(2, 3, 1)), scan_launches(paths[2:5], cache)
    table = dataclasses.replace(whole, embeddings=np.arange(3)[:, None]).part(1)
    assert table.count("instructions").tolist() == alone.count("instructions").tolist()
    assert [stream_hash(table, i) for i in range(3)] == [stream_hash(alone, i) for i in range(3)]
    assert [shape(table, i) for i in range(3)] == [shape(alone, i) for i in range(3)]
    hashes = whole.contents.stream_hashes()
    assert table.contents.stream_hashes() == [hashes[k] for k in table.embeddings[:, 0]]
    assert table.stream_ids.max() + 1 == len(table.contents.of_streams) == 3


def test_fields_that_are_left_out_are_said_once_for_all_traces(tmp_path):
    store = "0000 3 0 STG.E.SYS 2 R2 R4 4 1 0x7f0000001000 4 0 STORE_DATA I32 1 REG0:T0:0x1 T1:0x2 "
    lines = [store, "0020 ffffffff 0 EXIT 0 0 0"]
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name, small_trace(cta(lines), version=5, **{"kernel name": name})))
    said = []
    scan_launches(paths, ArtefactCache(tmp_path / "own"), log=said.append)
    assert said == ["the STORE_DATA fields of 2 instructions were left out: nothing here uses them"]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "kernel-1.traceg"
    path.write_text(small_trace(cta(["0000 ffffffff 0 EXIT 0 0"])))
    return path


def rewrite(path: Path) -> None:
    """Another content of the same size and time."""
    status, text = path.stat(), path.read_text()
    path.write_text(text.replace("ffffffff 0 EXIT", "0000ffff 0 EXIT"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (status.st_size, status.st_mtime_ns) and path.read_text() != text


def replace(path: Path) -> None:
    """The same by another file in its place."""
    beside = path.with_name("beside")
    beside.write_bytes(path.read_bytes())
    os.utime(beside, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    rewrite(beside)
    beside.rename(path)


@pytest.mark.parametrize("change", [rewrite, replace])
def test_a_scan_reads_the_new_content(trace, tmp_path, change):
    def instructions() -> int:
        return int(scan_launches([str(trace)], cache=ArtefactCache(tmp_path / "cache")).count("thread_instructions")[0])

    before = instructions()
    change(trace)
    assert (before, instructions()) == (32, 16)


@pytest.mark.parametrize("change", [rewrite, replace])
def test_footprints_plans_and_predictions_of_the_old_content_are_not_found(trace, tmp_path, change):
    def store() -> Footprints:
        return Footprints((80, 32, 64, 65536, 98304), ArtefactCache(tmp_path / "cache"), [str(trace)])

    saved = store()
    saved.save(str(trace), b"packed")
    saved.flush()
    before = fingerprint([1], [str(trace)])
    assert store().load(str(trace)) == b"packed"
    change(trace)
    assert store().load(str(trace)) is None
    after = fingerprint([1], [str(trace)])
    assert after.files != before.files
    assert after.launches == before.launches, "a copy of the traces, which has their sizes and times, is the same run"


def test_a_trace_that_was_read_whole_is_read_again(trace):
    whole = TraceIntegrity()
    assert whole.problem(str(trace)) == ""
    status = trace.stat()
    trace.write_text("x" * status.st_size)
    os.utime(trace, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert whole.problem(str(trace)) != ""
