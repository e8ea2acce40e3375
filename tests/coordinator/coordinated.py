"""The embedded host at work, alone or for a coordinator."""

import shutil
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
        self._alone: dict[str, bytes] = {}

    def command(self, yaml: str = BUDGET, gpu: str = "v100") -> list[str]:
        self.config.write_text(f"version: 1\n{yaml}\njournal: {self.journal}\n")
        return [str(program()), "-trace", str(self.traces / "kernelslist.g"), "-config", gpu]

    def sampled(self, yaml: str = BUDGET) -> list[str]:
        """The command of one process."""
        return [*self.command(yaml), "-kernel_sampling", str(self.config)]

    def alone(self, yaml: str = BUDGET) -> bytes:
        """The journal of one process, which is made once."""
        if yaml not in self._alone:
            subprocess.run(self.sampled(yaml), cwd=self.folder, capture_output=True, timeout=120, check=True)
            self._alone[yaml] = self.take()
        return self._alone[yaml]

    def clear(self) -> None:
        """Make the folder ready for another run."""
        self.said.clear()
        for path in self.folder.glob(f"{self.journal.name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def take(self) -> bytes:
        content = self.journal.read_bytes()
        self.journal.unlink()
        return content

    def spread(self, yaml: str = BUDGET, workers: int = 2, cluster: str | None = None, **more) -> int:
        from kernelpoint.coordinator.dask_pool import open_pool
        from kernelpoint.coordinator.run import run

        return run(
            self.command(yaml, **more),
            str(self.config),
            lambda memory: open_pool(workers, cluster, memory, self.said.append),
            self.said.append,
        )
