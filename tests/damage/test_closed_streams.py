"""Programs that are started without standard input, output or error: no message lands in a file of theirs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from embedded_host import host_command

from kernelpoint.journal import load_run

CLOSED = [(0,), (1, 2), (0, 1, 2)]
COMMAND = [sys.executable, "-c", "from kernelpoint.cli import main; main()"]


def without(streams: tuple[int, ...], command: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Run a command in a folder, some standard streams closed."""
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: [os.close(stream) for stream in streams] and None,
    )


def results_of_host(streams: tuple[int, ...], traces: Path, folder: Path) -> tuple[Any, Any, bytes]:
    command = host_command(traces, folder, "policy: random", "-results", "results.csv")
    done = without(streams, command, folder)
    assert done.returncode == 0, done.stderr
    run = load_run(folder / "run.kpjournal")
    return run.ended(), run.results, (folder / "results.csv").read_bytes()


@pytest.fixture(scope="module")
def usual(traces, tmp_path_factory):
    return results_of_host((), traces, tmp_path_factory.mktemp("open"))


@pytest.mark.parametrize("closed", CLOSED, ids=str)
def test_the_journal_and_results_of_the_embedded_host_are_whole(traces, tmp_path, usual, closed):
    assert results_of_host(closed, traces, tmp_path) == usual


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["convert", "TRACES", "-o", "macsim"], "macsim/kernel_config.txt"),
        (["plan", "TRACES", "-o", "run.kpplan", "--gpu", "v100"], "run.kpplan"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_a_command_writes_is_whole(traces, tmp_path, arguments, written):
    content = {}
    for streams in [(), (0, 1, 2)]:
        (folder := tmp_path / str(streams)).mkdir()
        done = without(streams, [*COMMAND, *(str(traces) if part == "TRACES" else part for part in arguments)], folder)
        assert done.returncode == 0, done.stderr
        content[streams] = (folder / written).read_bytes()
    assert set(content.values()) == {content[()]}


KEEPS_A_JOURNAL = """
import os
from kernelpoint import _native, files
from kernelpoint.journal import DegradedRecord, JournalWriter, RunRecord
run = RunRecord(kernelpoint="0", config={}, bound="none", estimate="mean", launches=[9], hashes={})
writer = JournalWriter("run.kpjournal", resume=True)
with files.replacing("replaced") as replaced, files.open_output("output") as output, files.open_output_bytes("bytes") as data:
    writer.write(run)
    for stream in range(3):
        try:
            os.write(stream, b"a message")
        except OSError:
            pass
    writer.write(DegradedRecord(reason="none"))
writer.close()
"""


@pytest.mark.parametrize("closed", CLOSED, ids=str)
def test_a_file_that_the_library_opens_never_takes_the_place_of_a_stream(tmp_path, closed):
    done = without(closed, [sys.executable, "-c", KEEPS_A_JOURNAL], tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(load_run(tmp_path / "run.kpjournal").records) == 2
    assert [(tmp_path / name).read_bytes() for name in ("replaced", "output", "bytes")] == [b""] * 3
