"""The embedded host at work, alone or for a coordinator."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kernelpoint.cli.host import program

BUDGET = "policy: random\nerror_budget: {relative_error: 0.02}\nfast_model: off"


class Bench:
    """A folder with a configuration, and the means to simulate the solver alone or spread over workers."""

    def __init__(self, folder: Path, traces: Path) -> None:
        self.folder, self.traces = folder, traces
        self.journal = folder / "run.kpjournal"
        self.config = folder / "kernelpoint.yaml"
        self.said: list[str] = []

    def command(self, yaml: str = BUDGET, gpu: str = "v100") -> list[str]:
        self.config.write_text(f"version: 1\n{yaml}\njournal: {self.journal}\n")
        return [str(program()), "-trace", str(self.traces / "kernelslist.g"), "-config", gpu]

    def alone(self, yaml: str = BUDGET) -> bytes:
        command = [*self.command(yaml), "-kernel_sampling", str(self.config)]
        subprocess.run(command, cwd=self.folder, capture_output=True, timeout=120, check=True)
        return self.take()

    def take(self) -> bytes:
        content = self.journal.read_bytes()
        self.journal.unlink()
        return content

    def spread(self, yaml: str = BUDGET, workers: int = 2, cluster: str | None = None, **more) -> int:
        from kernelpoint.coordinator.engine import open_engine
        from kernelpoint.coordinator.run import run

        return run(
            self.command(yaml, **more),
            str(self.config),
            lambda memory: open_engine(workers, cluster, memory, self.said.append),
            self.said.append,
        )
