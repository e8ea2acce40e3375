"""A sampled run in the real Accel-Sim, killed at random moments and gone on with: the same launches, the same estimate to
the last digit, labels that say which launches were simulated. Needs what test_accelsim.py needs; KERNELPOINT_ACCELSIM_KILLS
sets the number of kills.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kernelpoint
from kernelpoint.journal import SummaryRecord, load_run

from .test_accelsim import PROGRAM, start, values

pytestmark = pytest.mark.skipif(not PROGRAM, reason="KERNELPOINT_ACCELSIM names no patched accel-sim.out")

KILLS = int(os.environ.get("KERNELPOINT_ACCELSIM_KILLS", "60"))
LAUNCHES = 90  # the shortest list with validation launches
PLUGIN = Path(kernelpoint.__file__).parent / "lib" / "libkernelpoint.so"
SAMPLED = ("-kernel_sampling", "kernelpoint.yaml", "-kernel_sampling_rows", "1")
SMALL = ("-gpgpu_n_clusters", "8", "-gpgpu_kernel_launch_latency", "200")  # a GPU that is soon simulated
CONFIGURATION = """version: 1
policy: kernelpoint
error_budget: {relative_error: 0.02}
journal: run.kpjournal
"""


@pytest.fixture(scope="module")
def workload(tmp_path_factory) -> Path:
    """A synthesised list of small launches of several kernels, with a configuration beside it."""
    folder = tmp_path_factory.mktemp("workload")
    command = [sys.executable, "-c", "from kernelpoint.cli import main; main()", "lab", "synth"]
    for number, size in enumerate((1024, 2048, 4096)):
        made = folder / str(number)
        subprocess.run([*command, "axpy", "--set", f"n={size}", "-o", str(made)], check=True, capture_output=True)
        shutil.move(made / "kernel-1.traceg", folder / f"kernel-{number}.traceg")
    chance = random.Random(1)
    (folder / "kernelslist.g").write_text(
        "".join(f"kernel-{chance.randrange(3)}.traceg\n" for _ in range(LAUNCHES)), newline="\n"
    )
    (folder / "kernelpoint.yaml").write_text(CONFIGURATION)
    return folder


def begin(workload: Path, folder: Path) -> subprocess.Popen:
    """A run in a folder of its own, begun or gone on with."""
    folder.mkdir(exist_ok=True)
    for path in workload.iterdir():
        if path.is_file() and not (folder / path.name).exists():
            shutil.copy(path, folder / path.name)
    return start(PROGRAM, folder / "kernelslist.g", *SMALL, *SAMPLED, plugin=PLUGIN)


def outcome(folder: Path) -> tuple[dict[int, dict[str, float]], SummaryRecord]:
    """Results by launch, and the summary, of a run that is over."""
    run = load_run(folder / "run.kpjournal")
    return {record.launch: record.counters for record in run.results.values()}, list(run.of(SummaryRecord))[-1]


def labels(folder: Path) -> dict[int, str]:
    """By launch that the last process did not simulate itself: 1 if it is called estimated."""
    others = (folder / "out.txt").read_text().split("kernelpoint: launches that")[1].split("kernelpoint: the whole run")[0]
    launches = [int(uid) - 1 for uid in values(others, "kernel_launch_uid")[::2]]  # its own, then the number of rows
    return dict(zip(launches, values(others, "kernelpoint_estimated"), strict=True))


def totals(folder: Path) -> list[str]:
    """The lines on the whole run, but for the time saved."""
    text = (folder / "out.txt").read_text().split("kernel_name = kernelpoint_total")[2]
    return [line for line in text.splitlines() if "saved_seconds" not in line and "simulation_time" not in line]


def rows_of(folder: Path) -> tuple[int, int]:
    """The sum of the rows of cycles, and the total."""
    text = (folder / "out.txt").read_text()
    return sum(map(int, values(text, "gpu_sim_cycle"))), int(values(text, "gpu_tot_sim_cycle")[-1])


def ends(process: subprocess.Popen, seconds: float) -> bool:
    """True if it ends by itself in that time, well."""
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    assert code == 0
    return True


def test_kills_at_random_moments_change_neither_results_nor_estimate(workload, tmp_path):
    whole, chance, kills = tmp_path / "whole", random.Random(2), 0
    assert begin(workload, whole).wait(timeout=600) == 0
    began = time.monotonic()  # a second run, with everything cached, for its length
    assert begin(workload, tmp_path / "again").wait(timeout=600) == 0
    length = time.monotonic() - began
    expected = outcome(whole)
    assert outcome(tmp_path / "again") == expected
    rows, total = rows_of(whole)
    assert rows == total
    while kills < KILLS:
        folder = tmp_path / f"killed-after-{kills}"
        while (process := begin(workload, folder)) and kills < KILLS and not ends(process, chance.uniform(0.0, length)):
            process.kill()
            kills += 1
        assert process.wait(timeout=600) == 0
        assert outcome(folder) == expected, folder.name
        assert totals(folder) == totals(whole), folder.name
        called = labels(folder)
        assert called == {launch: "0" if launch in expected[0] else "1" for launch in called}, folder.name
        assert called.keys() | expected[0].keys() == set(range(LAUNCHES))
