"""Folders on file systems that refuse locks, as NFS without its lock service: commands go on without a cache, or say why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelpoint.cli.host import program
from kernelpoint.workload.plan import Plan

COMPILER = os.environ.get("CC", "cc")
COMMAND = [sys.executable, "-c", "from kernelpoint.cli import main; main()"]


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """A library to preload, under which every lock is refused."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"no C compiler ({COMPILER})")
    library = tmp_path_factory.mktemp("layer") / "no_locks.so"
    source = Path(__file__).with_name("no_locks.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-Wall", "-Wextra", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def without_locks(layer, tmp_path):
    """Run a command whose locks are all refused; SQLite would wait for a minute on each."""
    environment = {**os.environ, "LD_PRELOAD": str(layer), "KERNELPOINT_CACHE": str(tmp_path / "cache")}

    def run(*command: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50
        )

    return run


def test_a_plan_is_made_without_a_cache_and_says_why(without_locks, traces, tmp_path):
    done = without_locks(*COMMAND, "plan", traces, "-o", "run.kpplan", "--gpu", "v100", "--policy", "random")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "(its file system refuses locks: No locks available); nothing read in this run is remembered" in said
    assert Plan.load(tmp_path / "run.kpplan", np.zeros(12)).design.strata.tolist() == 12 * [0]


def test_a_run_is_refused_with_the_reason_before_anything_is_simulated(without_locks, traces, tmp_path):
    if not program().exists():
        pytest.skip("the embedded host is not built; run `make build`")
    (tmp_path / "kernelpoint.yaml").write_text("version: 1\npolicy: random\njournal: run.kpjournal\n")
    done = without_locks(
        program(), "-trace", traces, "-config", "v100", "-kernel_sampling", "kernelpoint.yaml", "-results", "r.csv"
    )
    assert done.returncode != 0
    assert "run.kpjournal cannot be locked: No locks available; name one on another file system" in done.stderr
    assert not (tmp_path / "run.kpjournal").exists() and not (tmp_path / "r.csv").exists()


def test_a_report_is_read_without_locks(without_locks, traces, tmp_path):
    (tmp_path / "kernelpoint.yaml").write_text("version: 1\npolicy: random\njournal: run.kpjournal\n")
    run = [program(), "-trace", traces, "-config", "v100", "-kernel_sampling", "kernelpoint.yaml"]
    if not program().exists():
        pytest.skip("the embedded host is not built; run `make build`")
    subprocess.run(list(map(str, run)), cwd=tmp_path, check=True, capture_output=True, timeout=120)
    done = without_locks(*COMMAND, "status", "run.kpjournal")
    assert done.returncode == 0 and "ended" in done.stdout, done.stderr
