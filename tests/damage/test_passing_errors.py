"""Traces that cannot be opened once and are well again: the next run reads them."""

import errno
import shutil
from pathlib import Path

import pytest
from embedded_host import run_host

from kernelpoint.journal import load_run

LAYER = "failing_open.c"


def run(traces: Path, folder: Path, policy: str, layer: Path | None = None) -> tuple[int, str]:
    """Run once: the number of simulated launches, and the printed text. With the layer, opening kernel-2.traceg fails."""
    folder.mkdir(exist_ok=True)
    yaml = f"policy: {policy}\nerror_budget: {{relative_error: 0.05}}\nresume: never"
    environment = {"KERNELPOINT_CACHE": str(folder / "cache")}
    if layer is not None:
        environment |= {"LD_PRELOAD": str(layer), "FAILING_OPEN": "kernel-2.traceg", "FAILING_ERRNO": str(errno.EIO)}
    done = run_host(traces, folder, yaml, environment=environment)
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


def test_a_trace_that_could_not_be_opened_once_is_read_by_the_next_run(layer, longer, tmp_path):
    usual, _ = run(longer, tmp_path / "usual", "kernelpoint")
    _, said = run(longer, tmp_path / "failing", "kernelpoint", layer)
    assert f"the next run tries them again. The first: {longer.parent}/kernel-2.traceg: cannot be opened" in said
    again, _ = run(longer, tmp_path / "failing", "kernelpoint")
    assert again == usual < 120


def test_a_damaged_trace_stays_damaged_in_the_kept_plan(longer, tmp_path):
    for path in longer.parent.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "kernel-2.traceg").write_text("garbage\n")
    run(tmp_path / "kernelslist.g", tmp_path / "run", "gcl")
    kept = list((tmp_path / "run" / "cache" / "plans").iterdir())
    assert len(kept) == 1 and "without" not in kept[0].name
