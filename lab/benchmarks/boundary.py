"""Costs of the boundary between a simulator and Python: a decision, and opening a session.

python lab/benchmarks/boundary.py [--calls 100000]

A decision through the plugin (C to Python and back, with a session that decides nothing) stands beside a plain function
call and beside a message to a separate Python process, all measured in the same run. Opening is measured against the
bare process: in processor seconds, children included, and in resident memory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

import kernelpoint

ROOT = Path(__file__).parents[2]
PACKAGE = Path(kernelpoint.__file__).parent
SESSION = """
class Session:
    def on_launch(self, process, index, trace_path, kernel_name, grid, block, registers, shared_memory):
        return index % 2, 0, 0

def open(config_path, info, log):
    exec(__import__("pathlib").Path(config_path).read_text())
    return Session()
"""
SIDECAR = """
import socket, struct
link = socket.socket(fileno=0)
while message := link.recv(64):
    size, process, index = struct.unpack_from("IIQ", message)
    link.sendall(struct.pack("IIII", 16, index % 2, 0, 0))
"""


def compile_program(folder: Path) -> Path:
    program = folder / "boundary_cost"
    source = ROOT / "lab" / "benchmarks" / "boundary_cost.cc"
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O3", f"-I{ROOT / 'plugin' / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(program), "-ldl"], check=True)
    return program


def install_trivial(folder: Path) -> Path:
    """The plugin in a package whose session decides nothing; returns the plugin."""
    package = folder / "kernelpoint"
    (package / "session").mkdir(parents=True)
    shutil.copytree(PACKAGE / "lib", package / "lib")
    for name in ("__init__.py", "errors.py", "session/embedded.py"):
        shutil.copy(PACKAGE / name, package / name)
    (package / "session" / "__init__.py").touch()
    (package / "session" / "boundary.py").write_text(SESSION)
    return package / "lib" / "libkernelpoint.so"


def figures(program: Path, *arguments: object) -> list[list[float]]:
    done = subprocess.run([str(program), *map(str, arguments)], check=True, capture_output=True, text=True)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def decisions(program: Path, folder: Path, plugin: Path, calls: int) -> Table:
    nothing = written(folder / "nothing.py", "")
    sidecar = written(folder / "sidecar.py", SIDECAR)
    ways = {
        "function call": figures(program, "function", calls * 100),
        "plugin (kp_on_launch)": figures(program, "plugin", calls, plugin, nothing),
        "message to a process": figures(program, "socket", max(1, calls // 10), sys.executable, sidecar),
    }
    medians = {
        name: [statistics.median(column) * 1e6 for column in zip(*rows, strict=True)] for name, rows in ways.items()
    }
    table = Table("a decision", "wall us", "own cpu us", "wall / plugin", title=f"{calls:,} decisions, median of 5")
    for name, (wall, cpu) in medians.items():
        ratio = wall / medians["plugin (kp_on_launch)"][0]
        table.add_row(name, f"{wall:.4f}", f"{cpu:.4f}", f"{ratio:.4f}")
    return table


def openings(program: Path, folder: Path, plugin: Path) -> Table:
    real = written(folder / "run.yaml", f"version: 1\npolicy: all\nresume: never\njournal: {folder}/run.kpjournal\n")
    cases = {
        "bare interpreter": (plugin, written(folder / "none.py", "")),
        "with numpy": (plugin, written(folder / "numpy_.py", "import numpy")),
        "with torch": (plugin, written(folder / "torch_.py", "import torch")),
        "real session, policy all": (PACKAGE / "lib" / "libkernelpoint.so", real),
    }
    table = Table("opening a session", "cpu s", "MiB", title="Over the bare process, median of 5")
    loaded = []
    for name, (library, config) in cases.items():
        runs = [figures(program, "open", library, config) for _ in range(5)]
        loaded += [run[0] for run in runs]
        table.add_row(
            name, *(f"{statistics.median(column):.3f}" for column in zip(*(run[1] for run in runs), strict=True))
        )
    table.add_row("plugin loaded, not opened", *(f"{statistics.median(c):.3f}" for c in zip(*loaded, strict=True)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000, help="decisions a round")
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, plugin = compile_program(folder), install_trivial(folder / "installed")
        console = Console()
        console.print(decisions(program, folder, plugin, calls))
        console.print(openings(program, folder, plugin))


if __name__ == "__main__":
    main()
