"""FIFOs, devices and sockets in the place of files; texts that decompress without end; Ctrl-C."""

import lzma
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from simulated_host import SimulatedHost
from trace_writer import small_trace

from kernelpoint.cli.host import program
from kernelpoint.config import load_config
from kernelpoint.coordinator.batch_systems import read_cluster_file
from kernelpoint.coordinator.sweep import sweep_configs
from kernelpoint.encoder import read_checkpoint
from kernelpoint.errors import KernelPointError
from kernelpoint.fast_model import shipped
from kernelpoint.files import write_output
from kernelpoint.graphs import build_graph
from kernelpoint.planning.plan import Plan
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program
from kernelpoint.traces import read_header, read_trace_list, scan_trace

READERS = {
    "list": read_trace_list,
    "trace": scan_trace,
    "header": read_header,
    "graph": lambda path: build_graph(path, 1000),
    "tracez": lambda path: scan_trace(f"{path}.tracez"),
    "MacSim launch": lambda path: scan_trace(path.parent / "Kernel0" / "trace.txt"),
    "MacSim records": lambda path: scan_trace(path.parent / "Kernel1" / "trace.txt"),
    "profile": read_profile,
    "plan": lambda path: Plan.load(path, Program((1,))),
    "checkpoint": read_checkpoint,
    "configuration": load_config,
    "cluster": read_cluster_file,
    "sweep": lambda path: sweep_configs(["sim"], [f"{path}.yaml"]),
}


def make(kind, place):
    place.parent.mkdir(exist_ok=True)
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(place.parent)  # a socket's path is short
            listener.bind(place.name)
            os.chdir(here)
    else:
        place.symlink_to(kind)


@pytest.mark.parametrize("kind", ["FIFO", "socket", "/dev/zero", "/dev/tty"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, reader, kind):
    path = tmp_path / "named"
    for place in (path, tmp_path / "named.tracez", tmp_path / "named.yaml", tmp_path / "Kernel0" / "trace.txt"):
        make(kind, place)
    make(kind, tmp_path / "Kernel1" / "trace_0.raw")
    (tmp_path / "Kernel1" / "trace.txt").write_text("nvbit\n14\n1\n1\n0 0\n")
    (tmp_path / "Kernel1" / "trace_info.txt").write_text("0 1\n")
    with pytest.raises(KernelPointError) as caught:
        READERS[reader](path)
    message = str(caught.value)
    assert "\n" not in message and ("FIFO" in message or "socket" in message or "device" in message), message


@pytest.mark.parametrize("kind", ["FIFO", "/dev/zero"])
@pytest.mark.parametrize(
    "command",
    [
        ["plan", "PATH", "-o", "x.kpplan"],
        ["file", "inspect", "PATH"],
        ["report", "PATH"],
        ["compare", "-w", "profile=PATH"],
        ["file", "convert", "macsim", "PATH", "out"],
        ["plan", "--clusters", "PATH"],
        ["compare", "PATH", "PATH"],
        ["select", "PATH", "-o", "out"],
        ["select", "--join", "PATH", "-o", "out"],
        ["file", "pack", "PATH"],
        ["file", "status", "PATH"],
        ["run", "-c", "PATH", "--", "true"],
        ["run", "--cluster", "PATH", "--", "true"],
        ["lab", "train", "PATH"],
        ["patch", "accelsim", "PATH"],
        ["doctor", "--plugin", "PATH"],
        ["lab", "synth", "copy", "-o", "PATH"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_waits_for_what_is_no_file(here, refused, command, kind):
    make(kind, here / "named")
    refused(*(part.replace("PATH", str(here / "named")) for part in command))


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A finished run of three launches."""
    folder = tmp_path_factory.mktemp("run")
    host = SimulatedHost(np.full(3, 7), folder)
    host.run(host.open("policy: all"))
    return folder / "run.kpjournal"


@pytest.mark.parametrize("option", ["-o", "--csv", "--figures"])
@pytest.mark.parametrize("kind", ["FIFO", "socket"])
def test_no_output_waits_for_somebody_who_reads_it(tmp_path, refused, journal, option, kind):
    make(kind, tmp_path / "named")
    assert str(tmp_path / "named") in refused("report", journal, option, tmp_path / "named").replace("\n", "")


def test_an_output_may_be_what_somebody_reads(tmp_path):
    os.mkfifo(tmp_path / "named")
    reader = os.open(tmp_path / "named", os.O_RDONLY | os.O_NONBLOCK)
    write_output(tmp_path / "named", "a line\n")
    assert os.read(reader, 100) == b"a line\n"
    os.close(reader)


BOMB = int(os.environ.get("BOMB", "100"))  # times 16 MB
READ = """
import sys
from kernelpoint.traces import ArtefactCache, read_trace_list, read_header, scan_launches, scan_trace
from kernelpoint.graphs import build_graph
from kernelpoint.fast_model import predict, shipped
from kernelpoint.program import Program
import tempfile
path, program = sys.argv[2], Program((1,), traces=[sys.argv[2]])
sys.stdout.write("ready\\n"); sys.stdout.flush()
{
    "scan": lambda: scan_trace(path),
    "scan_launches": lambda: scan_launches([path], ArtefactCache(tempfile.mkdtemp())),
    "graph": lambda: build_graph(path, 1000),
    "list": lambda: read_trace_list(path).traces,
    "fast model": lambda: predict(program, shipped("v100"), print, ArtefactCache(tempfile.mkdtemp())),
}[sys.argv[1]]()
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A small file of text without end, as far as a test is concerned: a warp of 1.6 GB; BOMB=600 makes it 10 GB."""
    path = tmp_path_factory.mktemp("bomb") / "kernel-1.traceg.xz"
    beginning = small_trace("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 2147483648\n")
    lines = lzma.compress(b"0010 ffffffff 0 NOP 0 0\n" * 700_000, preset=0)
    path.write_bytes(lzma.compress(beginning.encode()) + BOMB * lines)
    assert path.stat().st_size < 10_000 * BOMB
    return path


@pytest.mark.parametrize("reader", ["scan", "scan_launches", "graph", "list", "fast model"])
def test_ctrl_c_ends_the_reading_of_a_text_that_does_not_end(endless, reader):
    command = [sys.executable, "-c", READ, reader, endless]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(0.3)  # it reads
            assert process.poll() is None, "the text ended before Ctrl-C: make it longer"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0 and "KeyboardInterrupt" in errors.splitlines()[-1]


def test_the_fast_models_configuration_may_be_shipped_or_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "gpu.yaml")
    assert shipped("v100").name == "v100"
    done = subprocess.run(
        [program(), "-trace", tmp_path, "-config", tmp_path / "gpu.yaml"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1 and "FIFO" in done.stderr
