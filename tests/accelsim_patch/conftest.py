"""A miniature simulator with Accel-Sim's names, patched and built, and a plugin whose decisions stand in a script."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled import built_once
from miniatures import LAYOUTS, accelsim_checkout
from trace_writer import cta, small_trace

from kernelpoint.patching import SourceTree, load_description

GRID = {0: 4, 1: 40, 2: 4, 3: 300, 4: 4, 5: 8}  # CTAs of each launch


FLAGS = "-Wall -Wextra -O0"
SANITISED = f"{FLAGS} -g1 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error"


def build(checkout: Path, flags: str = SANITISED) -> Path:
    """The program of a checkout, built with its own Makefile."""

    def make() -> Path:
        command = ["make", "-C", str(checkout / "gpu-simulator"), f"EXTRA={flags}"]
        subprocess.run(command, check=True, timeout=600, capture_output=True)
        return checkout / "gpu-simulator" / "bin" / "accel-sim.out"

    return built_once("accelsim-miniature", checkout, flags.split(), make)


def trace_of(name: str, number: int, ctas: int) -> str:
    """A whole trace, whose two warps a CTA do nothing but end."""
    body = "".join(cta(*2 * [["0000 ffffffff 0 EXIT 0 0"]], index=f"{index},0,0") for index in range(ctas))
    return small_trace(body, f"({ctas},1,1)", **{"kernel name": name, "kernel id": str(number)})


def write_workload(folder: Path, copies: bool = True) -> Path:
    """Six launches of three kernels with a copy before every other one; launch 3 is the large one."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for launch, ctas in GRID.items():
        if copies and launch % 2 == 0:
            lines.append(f"MemcpyHtoD,0x{launch}000,{256 * (launch + 1)}")
        lines.append(f"kernel-{launch + 1}.traceg")
        (folder / f"kernel-{launch + 1}.traceg").write_text(trace_of(f"work{launch % 3}", launch + 1, ctas))
    (folder / "kernelslist.g").write_text("\n".join(lines) + "\n")
    return folder / "kernelslist.g"


@dataclass
class Run:
    """Output of one run of the simulator."""

    code: int
    out: str
    err: str
    log: list[str]

    def values(self, key: str) -> list[str]:
        """Every value printed as `key = value`, in order."""
        return [line.split("=", 1)[1].strip() for line in self.out.splitlines() if line.startswith(f"{key} =")]

    def lines(self, start: str) -> list[str]:
        """Every line of output that begins so."""
        return [line for line in self.out.splitlines() if line.startswith(start)]

    def calls(self, name: str) -> list[list[str]]:
        """The plugin's log of one kind of call, split into words; the one process that there is is left out."""
        return [line.replace(" 0:", " ", 1).split() for line in self.log if line.startswith(f"{name} ")]


@dataclass
class Simulator:
    """A built simulator and the plugin that it loads."""

    program: Path
    plugin: Path

    def run(self, list_path: Path, script: str | None = None, *options: str, plugin: str | None = None) -> Run:
        """Run over a list; with a script, sampled by the scripted plugin."""
        script_path = list_path.with_name("script.txt")
        arguments = [str(self.program), "-trace", str(list_path), *options]
        if script is not None:
            script_path.write_text(script)
            arguments += ["-kernel_sampling", str(script_path)]
        asan = "detect_leaks=0:handle_sigill=2"
        environment = {**os.environ, "KERNELPOINT_PLUGIN": plugin or str(self.plugin), "ASAN_OPTIONS": asan}
        done = subprocess.run(
            arguments,
            cwd=list_path.parent,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
        )
        log = Path(f"{script_path}.log")
        return Run(done.returncode, done.stdout, done.stderr, log.read_text().splitlines() if log.exists() else [])


@pytest.fixture(scope="session", params=LAYOUTS)
def simulator(request, tmp_path_factory, scripted_plugin) -> Simulator:
    """The miniature simulator in each layout, patched and built; the first one under ASan and UBSan."""
    checkout = accelsim_checkout(tmp_path_factory.mktemp(request.param), request.param)
    SourceTree(checkout, load_description("accelsim")).apply()
    return Simulator(build(checkout, SANITISED if request.param == LAYOUTS[0] else FLAGS), scripted_plugin)


@pytest.fixture
def workload(tmp_path) -> Path:
    """The list of a fresh workload."""
    return write_workload(tmp_path / "workload")
