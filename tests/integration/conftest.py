"""The whole product at work: synthesised traces, the embedded host, the plugin, a session, its journal."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelpoint.cli.host import program
from kernelpoint.journal import Run, load_run


@dataclass
class Bench:
    """A folder with a list of traces and the means to simulate it."""

    folder: Path
    list_path: Path

    @property
    def journal(self) -> Path:
        return self.folder / "run.kpjournal"

    def command(self, yaml: str | None, *options: str) -> list[str]:
        command = [str(program()), "-trace", str(self.list_path), "-config", "v100", *options]
        if yaml is None:
            return command
        config = self.folder / "kernelpoint.yaml"
        config.write_text(f"version: 1\n{yaml}\njournal: {self.journal}\n")
        return [*command, "-kernel_sampling", str(config)]

    def run(self, yaml: str | None, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(yaml, *options), cwd=self.folder, capture_output=True, text=True, timeout=120
        )

    def report(self) -> Run:
        return load_run(self.journal)


@pytest.fixture(scope="session")
def solver_traces(tmp_path_factory) -> Path:
    """A small iterative solver of 200 launches, written once."""
    from kernelpoint.cli import synth

    folder = tmp_path_factory.mktemp("solver") / "traces"
    synth.synth("iterative-solver", folder, launches=200)
    return folder


@pytest.fixture
def bench(tmp_path, solver_traces, monkeypatch) -> Bench:
    """The solver, with a cache of its own."""
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    if not program().exists():
        pytest.skip("the embedded host is not built; run `make build`")
    return Bench(tmp_path, solver_traces / "kernelslist.g")
