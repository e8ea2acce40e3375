"""Traces whose content changes while size and time of modification are put back: nothing kept of the old content is used."""

import os
from pathlib import Path

import pytest
from trace_writer import cta, small_trace

from kernelpoint.session.trace_checks import TraceIntegrity
from kernelpoint.traces import ArtefactCache, scan_launches
from kernelpoint.traces.footprints import Footprints
from kernelpoint.workload.fingerprint import fingerprint
from kernelpoint.workload.host_info import HostInfo


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
        return int(scan_launches([str(trace)], cache=ArtefactCache(tmp_path / "cache")).thread_instructions[0])

    before = instructions()
    change(trace)
    assert (before, instructions()) == (32, 16)


@pytest.mark.parametrize("change", [rewrite, replace])
def test_footprints_plans_and_predictions_of_the_old_content_are_not_found(trace, tmp_path, change):
    def store() -> Footprints:
        return Footprints((80, 32, 64, 65536, 98304), ArtefactCache(tmp_path / "cache"))

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
    whole = TraceIntegrity(HostInfo("accelsim", needs_whole_traces=True))
    assert whole.problem(str(trace)) == ""
    status = trace.stat()
    trace.write_text("x" * status.st_size)
    os.utime(trace, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert whole.problem(str(trace)) != ""
