"""The executing simulator in the conformance suite, with KERNELPOINT_HOSTS=examples/executing_simulator/host.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hosts import INCLUDE, LAUNCHES, HostUnderTest, Run, printed


class ExecutingSimulator(HostUnderTest):
    """One process, one launch at a time; launches that are not simulated run functionally."""

    name = "executing simulator"
    can = frozenset({"execute"})

    def __init__(self, plugin: Path, build: Path) -> None:
        super().__init__(plugin, build)
        self.program = build / "simulator"
        source = Path(__file__).with_name("simulator.cc")
        options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
        subprocess.run(["g++", *options, str(source), "-o", str(self.program), "-ldl"], check=True, timeout=300)

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        config, launches = folder / "script.txt", folder / "list"
        config.write_text(script)
        lines = ["broken" if i == broken else f"{i} {(i + 1) % LAUNCHES}" for i in range(LAUNCHES)]
        launches.write_text("".join(f"{line}\n" for line in lines))
        command = [str(self.program), str(config), str(launches)]
        code, out, err, log = self._execute(command, config, folder)
        return Run(code, out, err, log, printed(out, ""))
