"""Traces that cannot be opened once and are well again: the next run reads them."""

import errno
import shutil
from pathlib import Path

import pytest
import yaml
from embedded_host import run_host

import kernelpoint as kp

LAYER = "failing_open.c"


KEYS = {"error_budget": {"relative_error": 0.05}, "resume": "never"}


def simulated(traces: Path, folder: Path, policy: str) -> int:
    """The number of launches that a new run simulates."""
    return kp.simulate(traces, folder / "run.kpjournal", policy=policy, **KEYS).ended().simulated


@pytest.fixture(scope="module")
def longer(traces, tmp_path_factory):
    """120 launches of three kernels."""
    folder = tmp_path_factory.mktemp("longer")
    for number in range(1, 4):
        shutil.copy(traces.with_name(f"kernel-{number}.traceg"), folder)
    (folder / "kernelslist.g").write_text("".join(f"kernel-{1 + i % 3}.traceg\n" for i in range(120)))
    return folder / "kernelslist.g"


def test_a_trace_that_could_not_be_opened_once_is_read_by_the_next_run(layer, longer, tmp_path, monkeypatch):
    usual = simulated(longer, tmp_path, "kernelpoint")
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    failing = {"LD_PRELOAD": str(layer), "FAILING_OPEN": "kernel-2.traceg", "FAILING_ERRNO": str(errno.EIO)}
    done = run_host(longer, tmp_path, yaml.safe_dump({"policy": "kernelpoint", **KEYS}), environment=failing)
    assert f"the next run tries them again. The first: {longer.parent}/kernel-2.traceg: cannot be opened" in done.stderr
    assert simulated(longer, tmp_path, "kernelpoint") == usual < 120


def test_a_damaged_trace_stays_damaged_in_the_kept_plan(longer, tmp_path, monkeypatch):
    for path in longer.parent.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "kernel-2.traceg").write_text("garbage\n")
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    simulated(tmp_path / "kernelslist.g", tmp_path, "gcl")
    kept = list((tmp_path / "cache" / "plans").iterdir())
    assert len(kept) == 1 and "without" not in kept[0].name
