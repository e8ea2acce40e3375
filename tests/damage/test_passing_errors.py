"""Traces that cannot be opened once and are well again: the next run reads them."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelpoint.cli.host import program
from kernelpoint.journal import load_run

HERE = Path(__file__).parent
COMPILER = os.environ.get("CC", "cc")
REASONS = (errno.EACCES, errno.EMFILE, errno.EIO, errno.ESTALE)


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """The layer as a library to preload."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"no C compiler ({COMPILER})")
    library = tmp_path_factory.mktemp("layer") / "failing_open.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", library, HERE / "failing_open.c", "-ldl"]
    subprocess.run(command, check=True, timeout=120)
    return library


def run(traces: Path, folder: Path, policy: str, reason: int = 0, layer: Path | None = None) -> tuple[int, str]:
    """Launches that a run simulates, and what it says; kernel-2.traceg cannot be opened where a reason is given."""
    folder.mkdir(exist_ok=True)
    text = (
        f"version: 1\npolicy: {policy}\nerror_budget: {{relative_error: 0.05}}\njournal: run.kpjournal\nresume: never\n"
    )
    (folder / "kernelpoint.yaml").write_text(text)
    environment = {**os.environ, "KERNELPOINT_CACHE": str(folder / "cache")}
    if layer is not None:
        environment |= {"LD_PRELOAD": str(layer), "FAILING_OPEN": "kernel-2.traceg", "FAILING_ERRNO": str(reason)}
    command = [program(), "-trace", traces, "-config", "v100", "-kernel_sampling", "kernelpoint.yaml"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, 3), done.stderr
    return load_run(folder / "run.kpjournal").ended().simulated, done.stderr


@pytest.fixture(scope="module")
def longer(traces, tmp_path_factory):
    """120 launches of three kernels."""
    folder = tmp_path_factory.mktemp("longer")
    for number in range(1, 4):
        shutil.copy(traces.with_name(f"kernel-{number}.traceg"), folder)
    (folder / "kernelslist.g").write_text("".join(f"kernel-{1 + i % 3}.traceg\n" for i in range(120)))
    return folder / "kernelslist.g"


@pytest.mark.parametrize("policy", ["kernelpoint", "gcl"])
@pytest.mark.parametrize("reason", REASONS, ids=lambda number: errno.errorcode[number])
def test_a_trace_that_could_not_be_opened_once_is_read_by_the_next_run(layer, longer, tmp_path, reason, policy):
    usual, _ = run(longer, tmp_path / "usual", policy)
    _, said = run(longer, tmp_path / "failing", policy, reason, layer)
    assert f"the next run tries them again. The first: {longer.parent}/kernel-2.traceg: cannot be opened" in said
    again, _ = run(longer, tmp_path / "failing", policy)
    assert again == usual < 120


def test_a_damaged_trace_stays_damaged_in_the_kept_plan(longer, tmp_path):
    for path in longer.parent.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "kernel-2.traceg").write_text("garbage\n")
    run(tmp_path / "kernelslist.g", tmp_path / "run", "gcl")
    kept = list((tmp_path / "run" / "cache" / "plans").iterdir())
    assert len(kept) == 1 and "without" not in kept[0].name
