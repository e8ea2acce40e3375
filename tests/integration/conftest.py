"""The whole product at work: synthesised traces, the embedded host, the plugin, a session, its journal."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from caches import new_cache
from embedded_host import host_command, run_host
from workloads import synthesised

from kernelpoint.journal import Run, load_run


@dataclass
class Bench:
    """A folder with a list of traces and the means to simulate it."""

    folder: Path
    list_path: Path
    shared: SharedRuns

    @property
    def journal(self) -> Path:
        return self.folder / "run.kpjournal"

    def command(self, yaml: str | None, *options: str) -> list[str]:
        return host_command(self.list_path, self.folder, yaml, *options)

    def run(self, yaml: str | None, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return run_host(self.list_path, self.folder, yaml, environment=environment)

    def had(self, yaml: str | None) -> subprocess.CompletedProcess:
        """A run of that configuration over the whole list, made once for all tests: its output, and a copy of its journal."""
        done, journal = self.shared.get(self, yaml)
        if yaml is not None:
            shutil.copy(journal, self.journal)
        return done

    def report(self) -> Run:
        return load_run(self.journal)


@dataclass
class SharedRuns:
    """Runs that several tests look at, by configuration: output and journal of each."""

    folder: Path
    made: dict[str | None, tuple[subprocess.CompletedProcess, Path]]

    def get(self, bench: Bench, yaml: str | None) -> tuple[subprocess.CompletedProcess, Path]:
        if yaml not in self.made:
            separate = Bench(self.folder / str(len(self.made)), bench.list_path, self)
            separate.folder.mkdir()
            self.made[yaml] = separate.run(yaml, {"KERNELPOINT_CACHE": str(separate.folder / "cache")}), separate.journal
        return self.made[yaml]


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory) -> SharedRuns:
    return SharedRuns(tmp_path_factory.mktemp("runs"), {})


@pytest.fixture(scope="session")
def solver_traces(tmp_path_factory) -> Path:
    """A small iterative solver of 200 launches, written once."""
    return synthesised(tmp_path_factory.mktemp("solver") / "traces", "iterative-solver", 200, rows=1024).parent


@pytest.fixture
def bench(tmp_path, solver_traces, shared_runs, monkeypatch) -> Bench:
    """The solver, with a cache of its own."""
    monkeypatch.setenv("KERNELPOINT_CACHE", new_cache(tmp_path / "cache"))
    return Bench(tmp_path, solver_traces / "kernelslist.g", shared_runs)
