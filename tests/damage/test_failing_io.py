"""Every write, sync, rename, truncation and opening fails in turn; the power fails at each; then the run is started again.

STRIDE=1 python -m pytest tests/damage/test_failing_io.py     every operation
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STRIDE = os.environ.get("STRIDE")


LAYER = "failing_io.c"


# Kind of run -> every how many operations the suite lets one fail.
RUNS = {"sample": 13, "left out": 23, "validation": 67, "selection": 41, "workers": 73}
SIMULATORS = 90  # the same of a run whose simulators are processes under Dask


@pytest.fixture
def outcomes(layer, tmp_path, record_property):
    """Function that lets operations of a run fail, and returns how often each outcome came."""

    def count(what: str, stride: int, run: str = "sample") -> dict[str, int]:
        done = subprocess.run(
            [sys.executable, HERE / "run_with_failing_io.py", what, STRIDE or str(stride), run],
            capture_output=True, text=True, timeout=1200,
            env={**os.environ, "LD_PRELOAD": str(layer), "TMPDIR": str(tmp_path), "KERNELPOINT_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        numbers = json.loads(done.stdout.splitlines()[-1])
        record_property("tried", sum(number for outcome, number in numbers.items() if outcome != "operations"))
        return numbers

    return count


@pytest.mark.parametrize("run", [*RUNS, pytest.param("simulators", marks=pytest.mark.slow)])
def test_a_run_whose_file_operations_fail_says_so_and_is_resumed_to_the_same_result(outcomes, run):
    if run == "simulators":
        pytest.importorskip("distributed", reason="kernelpoint[cluster] is not installed")
    counts = outcomes("journal", RUNS.get(run, SIMULATORS), run)
    operations = counts.pop("operations")
    assert operations > 40
    assert set(counts) <= {"stopped, then the full result", "completed, then the full result"}, counts
    # With simulators also outcomes of an earlier process are read; those that cannot be read are simulated again.
    assert counts["stopped, then the full result"] > (0.4 if run == "simulators" else 0.9) * sum(counts.values())


@pytest.mark.parametrize("run", RUNS)  # the outcomes of simulators lie in folders
def test_a_run_that_loses_power_is_resumed_to_the_same_result(outcomes, run):
    counts = outcomes("power", RUNS[run], run)
    assert counts.pop("operations") > 40
    assert all(outcome.endswith(" left, then the full result") for outcome in counts), counts
    assert len(counts) >= 2


def test_a_plan_that_could_not_be_written_is_the_old_or_the_new_one(outcomes):
    counts = outcomes("plan", 1)
    assert set(counts) <= {"refused, old plan found", "refused, new plan found", "saved, new plan found"}, counts
    assert counts["refused, old plan found"] > 0


def test_a_cache_whose_file_operations_fail_gives_what_was_put_there_or_nothing(outcomes):
    assert set(outcomes("cache", 5)) <= {"all found later", "some made anew"}
