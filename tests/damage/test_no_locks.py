"""Folders on file systems that refuse locks, as NFS without its lock service: commands go on without a cache, or say why."""

import os
import subprocess
import sys

import numpy as np
import pytest
from embedded_host import host_command, run_host

from kernelpoint.planning.plan import Plan

COMMAND = [sys.executable, "-c", "from kernelpoint.cli import main; main()"]


LAYER = "no_locks.c"


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
    done = without_locks(*host_command(traces, tmp_path, "policy: random", "-results", "r.csv"))
    assert done.returncode != 0
    assert "run.kpjournal cannot be locked: No locks available; name one on another file system" in done.stderr
    assert not (tmp_path / "run.kpjournal").exists() and not (tmp_path / "r.csv").exists()


def test_a_report_is_read_without_locks(without_locks, traces, tmp_path):
    run_host(traces, tmp_path, "policy: random", check=True)
    done = without_locks(*COMMAND, "status", "run.kpjournal")
    assert done.returncode == 0 and "ended" in done.stdout, done.stderr
