"""A miniature simulator with MacSim's names, patched and built, and a plugin whose decisions stand in a script."""

import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled import built_once
from miniatures import macsim_checkout

from kernelpoint import _native
from kernelpoint.patching import SourceTree, load_description
from kernelpoint.simulators.macsim.cores import replayed_bytes
from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import Replay, StateInfo

WARPS = {0: 4, 2: 40, 3: 4, 7: 12, 12: 4, 13: 8}  # warps of each kernel, by the id in its folder's name
FLAGS = ("-O0", "-Wall", "-Wextra", "-Werror")
SANITISED = ("-g1", *FLAGS, "-fsanitize=address,undefined", "-fsanitize-undefined-trap-on-error")


def build(checkout: Path, flags: Sequence[str] = SANITISED) -> Path:
    """The program of a checkout; the link line's own libraries stand in SConscript."""

    def make() -> Path:
        environment = {**os.environ, "CXXFLAGS": " ".join(flags)}
        subprocess.run([sys.executable, checkout / "build.py"], check=True, timeout=600, env=environment)
        return checkout / "macsim"

    return built_once("macsim-miniature", checkout, flags, make)


OPCODES = {"load": 73, "generic store": 77, "store": 78, "local store": 79, "other": 32}  # LDG to STL, IADD3


def record(kind: str, pc: int, address: int = 0, branch: str = "", further: bool = False) -> bytes:
    """An instruction that loads or stores a line, or an "other" one; a conditional branch is "taken" or "not".

    A further line of the access before it is a record of its own, and then that is not taken by MacSim.
    """
    flow, mask = 2 if branch else 0, 0xFFFFFFFF if branch == "taken" else 0
    first = (OPCODES[kind], further, kind == "load", flow, 1, 1)
    return struct.pack("<6B8HBxII3Q8x", *first, *[0] * 8, 16, 0xFFFFFFFF, mask, pc, 0, address)


def records(kernel: int, warp: int) -> list[bytes]:
    """A warp that loads, adds and stores; each has a line of its own."""
    pc, line = kernel * 4096, (7 << 40) + kernel * 8192 + warp * 128
    return [record("load", pc, line), record("other", pc + 16), record("store", pc + 32, line)]


def write_launch(traces: Path, warps: dict[int, list[bytes]]) -> None:
    """The folder of a launch, from each warp's instructions."""
    traces.mkdir(parents=True)
    (traces / "trace.txt").write_text(f"nvbit\n14\n8\n{len(warps)}\n" + "".join(f"{w} 0\n" for w in warps))
    (traces / "trace_info.txt").write_text("".join(f"{w} {len(instructions)}\n" for w, instructions in warps.items()))
    for warp, instructions in warps.items():
        with gzip.open(traces / f"trace_{warp}.raw", "wb") as file:
            file.write(b"".join(instructions))


def write_list(folder: Path, kernels: list[int]) -> Path:
    """The kernel_config.txt of launches, by the ids in their folders' names."""
    lines = "".join(f"./Kernel{kernel}/trace.txt\n" for kernel in kernels)
    (folder / "kernel_config.txt").write_text("nvbit\n14\n-1\n" + lines)
    return folder / "kernel_config.txt"


def write_workload(folder: Path, kernels: dict[int, int] | list[int] = WARPS) -> Path:
    """Traces of kernels with gaps in their ids, and their kernel_config.txt; a list of ids may repeat them."""
    for kernel in dict.fromkeys(kernels):
        write_launch(folder / f"Kernel{kernel}", {warp: records(kernel, warp) for warp in range(WARPS[kernel])})
    return write_list(folder, list(kernels))


@dataclass
class Run:
    """Output of one run of the simulator."""

    code: int
    out: str
    err: str
    log: list[str]
    folder: Path

    def kernels(self) -> list[str]:
        """The kernels that were set up, as process:launch."""
        return re.findall(r"^kernel (\d+:\d+)", self.out, re.MULTILINE)

    def stats(self, name: str = "kernelpoint.stat.out") -> dict[str, tuple[float, float]]:
        """A statistics file: name -> (amount, third column)."""
        rows = [line.split() for line in (self.folder / name).read_text().splitlines() if line and line[0] != "#"]
        assert len({row[0] for row in rows}) == len(rows), "no name stands twice"
        return {row[0]: (float(row[1]), float(row[2])) for row in rows}

    def calls(self, name: str) -> list[list[str]]:
        """The plugin's log of one kind of call, split into words."""
        return [line.split() for line in self.log if line.startswith(f"{name} ")]


@dataclass
class Simulator:
    """A built simulator and the plugin that it loads."""

    program: Path
    plugin: Path

    def run(
        self,
        lists: list[Path] | Path,
        script: str | None = None,
        *options: str,
        limit: int | None = None,
        parameters: str | None = None,
    ) -> Run:
        """Run applications; with a script, sampled by the scripted plugin.

        `limit` is that of open files; `parameters` takes the option's place in params.in.
        """
        lists = lists if isinstance(lists, list) else [lists]
        folder = lists[0].parent.parent / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "trace_file_list").write_text("".join(f"{word}\n" for word in (len(lists), *lists)))
        command = [str(self.program), *options]
        if script is not None:
            (folder / "script.txt").write_text(script)
            command += ["--kernel_sampling=script.txt"] if parameters is None else []
        if parameters is not None:
            (folder / "params.in").write_text(parameters)
        if limit is not None:
            command = ["sh", "-c", f'ulimit -n {limit}; exec "$0" "$@"', *command]
        environment = {**os.environ, "KERNELPOINT_PLUGIN": str(self.plugin), "ASAN_OPTIONS": "detect_leaks=0:handle_sigill=2"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=60
        )
        log = folder / "script.txt.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return Run(done.returncode, done.stdout, done.stderr, lines, folder)


@pytest.fixture(scope="session")
def simulator(tmp_path_factory, scripted_plugin) -> Simulator:
    """The miniature simulator, patched and built under ASan and UBSan."""
    checkout = macsim_checkout(tmp_path_factory.mktemp("patched") / "checkout")
    SourceTree(checkout, load_description("macsim")).apply()
    return Simulator(build(checkout), scripted_plugin)


@pytest.fixture(scope="session")
def unpatched(tmp_path_factory, scripted_plugin) -> Simulator:
    """The miniature simulator as it is."""
    return Simulator(build(macsim_checkout(tmp_path_factory.mktemp("unpatched") / "checkout"), FLAGS), scripted_plugin)


@pytest.fixture
def warps() -> dict[int, int]:
    """The warps of each kernel, by the id in its folder's name."""
    return WARPS


@pytest.fixture
def shared_folders(tmp_path) -> Path:
    """Four launches of two kernels: equal launches share a folder."""
    return write_workload(tmp_path / "shared", [0, 2, 0, 0])


@pytest.fixture
def workload(tmp_path) -> Path:
    """A fresh workload of six kernels."""
    return write_workload(tmp_path / "workload")


@pytest.fixture
def two(tmp_path) -> list[Path]:
    """Two applications of three kernels each."""
    return [write_workload(tmp_path / "first", [0, 2, 3]), write_workload(tmp_path / "second", [7, 12, 13])]


@pytest.fixture
def instruction():
    """Makes the record of an instruction."""
    return record


@pytest.fixture
def launches_in(tmp_path):
    """Writes a list of launches, each a dict from warp to its instructions; equal ones share a folder."""

    def write(name: str, launches: list[dict[int, list[bytes]]]) -> Path:
        different = [launch for i, launch in enumerate(launches) if launch not in launches[:i]]
        for kernel, launch in enumerate(different):
            write_launch(tmp_path / name / f"Kernel{kernel}", launch)
        return write_list(tmp_path / name, [different.index(launch) for launch in launches])

    return write


@pytest.fixture
def wanted():
    """The line of a script that simulates these launches in a pass."""
    return lambda launches: "pass " + " ".join(f"0:{i}" for i in launches)


@pytest.fixture
def replaying(wanted):
    """A script that replays what every launch leaves, and simulates these launches, pass after pass."""

    def write(trace_list, *passes, residency=(4, 2, 8, 0, 0), predictor=(6, 2), predictors=True):
        kernels = [word.split("/")[1] for word in trace_list.read_text().split()[3:]]
        lines = ["replay"]
        for launch, kernel in enumerate(kernels):
            touches, _ = _native.footprint(str(trace_list.parent / kernel / "trace.txt"), residency, True)
            lines += [f"leaves {launch} {' '.join(str(value) for value in touch.tolist())}" for touch in touches]
        before = Replay(read_trace_list(trace_list), StateInfo(10000, residency, keeps_l1=True, predictor=predictor))
        for launch in range(len(kernels) if predictors else 0):
            lines.append(f"bytes {launch} {replayed_bytes(before.before(launch)).hex()}")
        return "\n".join([*lines, *map(wanted, passes)])

    return write
