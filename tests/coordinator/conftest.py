import os
import sys

import pytest
from coordinated import Bench
from gpu import Gpu
from workloads import synthesised

SBATCH = """#!/bin/sh
for script; do :; done
cp "$script" {folder}/job.sh
setsid {python_path} sh {folder}/job.sh >{folder}/worker.log 2>&1 </dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job; do :; done
kill -- -"$job"
"""


@pytest.fixture
def gpu(tmp_path):
    """A GPU with 200 launches."""
    return Gpu(tmp_path)


@pytest.fixture(scope="session")
def traces(tmp_path_factory):
    """A small iterative solver of 120 launches, written once."""
    return synthesised(tmp_path_factory.mktemp("solver") / "traces", "iterative-solver", 120, rows=1024).parent


@pytest.fixture
def bench(tmp_path, traces, monkeypatch):
    """The solver, with a cache of its own."""
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, traces)


@pytest.fixture
def slurm_here(tmp_path, monkeypatch):
    """Function that gives a file of a Slurm whose jobs run on this machine, with further options."""
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        text = script.format(folder=tmp_path, python_path=f"env PYTHONPATH={os.pathsep.join(filter(None, sys.path))}")
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    def make(options: str = "interface: lo") -> str:
        path = tmp_path / "cluster.yaml"
        path.write_text(f"jobqueue: {{slurm: {{cores: 1, memory: 1GB, processes: 1, {options}}}}}")
        return str(path)

    return make
