"""FIFOs, devices, links and folders in the place of files that commands write; programs without standard streams."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from command_line import PROCESS
from embedded_host import host_command
from in_time import in_time
from miniatures import accelsim_checkout
from samples import CENSUS, MACSIM_CENSUS

from kernelpoint.cli.host import program
from kernelpoint.errors import KernelPointError
from kernelpoint.files import replacing, write_output
from kernelpoint.journal import load_run
from kernelpoint.patching import SourceTree, load_description

COMMANDS = {
    "select": ["select", "stats_ctx_0x5d0", "-o", "out"],
    "select for MacSim": ["select", "kernel_names.txt", "-o", "out"],
    "convert": ["file", "convert", "LIST", "-o", "out"],
    "join": ["select", "--join", "FOLDER", "-o", "out"],
    "plan": ["plan", "LIST", "-o", "out/run.kpplan", "--policy", "random"],
    "cluster": ["plan", "--clusters", "LIST", "-o", "out/clusters.csv", "--policy", "random"],
    "synth": ["lab", "synth", "iterative-solver", "-o", "out", "--launches", "3", "--set", "rows=256", "--force"],
    "init": ["file", "init", "-o", "out/kernelpoint.yaml"],
    "compare": ["compare", "-w", "truth=results.csv", "--policies", "random", "--seeds", "2", "-o", "out"],
}


def prepared(command, traces):
    with open("stats_ctx_0x5d0", "w") as file:
        file.write(CENSUS)
    with open("results.csv", "w") as file:
        file.write("launch_index,trace,kernel_name,cycles,instructions\n")
        file.writelines(f"{i},kernel-{i % 3}.traceg,k{i % 3},{5000 + 7 * i},{900 + i % 3}\n" for i in range(30))
    with open("kernel_names.txt", "w") as file:
        file.writelines(MACSIM_CENSUS.format(i, i % 4) for i in range(40))
    for folder in ("out", "alone"):
        os.makedirs(folder)
    shutil.copy(traces.parent / "kernel-1.traceg", "alone")
    with open("alone/kernelslist.g", "w") as file:
        file.write("kernel-1.traceg\n")
    names = {"LIST": str(traces), "FOLDER": os.path.abspath("alone")}
    return [names.get(part, part) for part in COMMANDS[command]]


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@pytest.mark.parametrize("kind", ["FIFO", "/dev/full", "folder", "loop"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_finds_something_else_in_the_place_of_its_file_ends(here, traces, kernelpoint, command, kind):
    arguments = prepared(command, traces)
    code, text = kernelpoint(*arguments)
    assert code == 0, text
    whole = here / "whole"
    (here / "out").rename(whole)
    places = [path.relative_to(whole) for path in files_of(whole)]
    assert places
    for place in places[:6]:
        shutil.rmtree(here / "out", ignore_errors=True)
        shutil.copytree(whole, here / "out", symlinks=True)
        path = here / "out" / place
        path.unlink()
        if kind == "FIFO":
            os.mkfifo(path)
        elif kind == "folder":
            (path / "kept").mkdir(parents=True)
        else:
            path.symlink_to(path.name if kind == "loop" else kind)
        code, text = kernelpoint(*arguments)
        assert code or not path.is_fifo() or command == "convert", f"{place}: nothing was said, and nothing written"
        assert kind != "folder" or (path / "kept").is_dir(), f"{place}: what another made is gone"


@pytest.mark.parametrize("kind", ["FIFO", "socket in a folder that is none"])
def test_the_embedded_hosts_results_do_not_wait_for_somebody_who_reads_them(here, traces, kind):
    place = here / "results.csv"
    if kind == "FIFO":
        os.mkfifo(place)
    else:
        place = here / "none" / "results.csv"
    command = [program(), "-trace", traces, "-config", "v100", "-results", place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(place) in done.stderr and "cannot be written" in done.stderr


def test_what_stands_beside_a_file_that_is_replaced_is_not_opened(here):
    beside = here / f".made.{crc32(socket.gethostname().encode()):08x}-{os.getpid()}.part"
    os.mkfifo(beside)
    with in_time(), replacing(here / "made") as file:
        file.write(b"whole")
    assert (here / "made").read_bytes() == b"whole" and not beside.exists()
    (here / "precious").write_bytes(b"kept")
    beside.symlink_to(here / "precious")
    with replacing(here / "made") as file:
        file.write(b"again")
    assert (here / "precious").read_bytes() == b"kept"


@pytest.mark.parametrize("name", ["/etc/precious", "../precious", "src/../../precious"])
def test_taking_a_patch_out_removes_nothing_outside_the_checkout(tmp_path, name):
    checkout = accelsim_checkout(tmp_path / "checkout", "main_layout")
    description = load_description("accelsim")
    listing = checkout / description.copies.into / "FILES"
    listing.parent.mkdir()
    listing.write_text(f"{name}\n")
    (tmp_path / "precious").write_text("kept")
    with pytest.raises(KernelPointError, match="outside the checkout"):
        SourceTree(checkout, description).revert()
    assert (tmp_path / "precious").exists()


CLOSED = [(0,), (1, 2), (0, 1, 2)]


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


def test_the_journal_and_results_of_the_embedded_host_are_whole(traces, tmp_path):
    results = []
    for streams in [(), (0, 1, 2)]:
        (folder := tmp_path / str(streams)).mkdir()
        results.append(results_of_host(streams, traces, folder))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["file", "convert", "TRACES", "-o", "macsim"], "macsim/kernel_config.txt"),
        (["plan", "TRACES", "-o", "run.kpplan", "--gpu", "v100"], "run.kpplan"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_a_command_writes_is_whole(traces, tmp_path, arguments, written):
    content = {}
    for streams in [(), (0, 1, 2)]:
        (folder := tmp_path / str(streams)).mkdir()
        done = without(streams, [*PROCESS, *(str(traces) if part == "TRACES" else part for part in arguments)], folder)
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


def test_an_output_is_whole_or_as_it_was_and_keeps_its_mode(tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("before")
    page.chmod(0o600)
    write_output(page, "after")
    assert page.read_text() == "after" and page.stat().st_mode & 0o777 == 0o600

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernelpoint.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_output(page, "half a page")
    assert page.read_text() == "after" and [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_an_output_through_a_link_is_written_to_its_target(tmp_path):
    (tmp_path / "page.html").write_text("before")
    (tmp_path / "link").symlink_to("page.html")
    write_output(tmp_path / "link", "after")
    assert (tmp_path / "page.html").read_text() == "after" and (tmp_path / "link").is_symlink()
