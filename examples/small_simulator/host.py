"""The small simulator in the conformance suite: KERNELPOINT_HOSTS=examples/small_simulator/host.py pytest tests/hosts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hosts import INCLUDE, LAUNCHES, HostUnderTest, Run, printed


class SmallSimulator(HostUnderTest):
    """One process, one launch at a time; it can stop inside a launch."""

    name = "small simulator"
    can = frozenset({"stop", "describe"})

    def __init__(self, plugin: Path, build: Path) -> None:
        super().__init__(plugin, build)
        self.program = build / "simulator"
        source = Path(__file__).with_name("simulator.cc")
        options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
        subprocess.run(["g++", *options, str(source), "-o", str(self.program), "-ldl"], check=True, timeout=300)

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        config, launches = folder / "script.txt", folder / "list"
        config.write_text(script)
        lines = ["broken" if i == broken else f"{3 + i} {20 + i} {i}" for i in range(LAUNCHES)]
        launches.write_text("".join(f"{line}\n" for line in lines))
        command = [str(self.program), str(config), str(launches)]
        code, out, err, log = self._execute(command, config, folder)
        return Run(code, out, err, log, printed(out, ""))
