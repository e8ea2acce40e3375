"""A simulator outside the tree: one folder of its own, and the suite of all hosts runs on it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SKIPPED = {
    "small": 9,
    "executing": 9,
}  # tests that need what the simulator lacks: several processes, stops, descriptions, execution


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not beside the tests")
@pytest.mark.parametrize("simulator", SKIPPED)
def test_the_suite_runs_on_a_host_that_a_file_outside_the_tests_defines(simulator):
    suite = Path(__file__).with_name("test_conformance.py")
    command = [sys.executable, "-m", "pytest", "-q", str(suite), "-k", f"{simulator} and simulator", "-rs"]
    environment = {**os.environ, "KERNELPOINT_HOSTS": str(EXAMPLES / f"{simulator}_simulator" / "host.py")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    if "are needed to build this host" in done.stdout:
        pytest.skip("gcc, g++ and make are needed to build this host")
    assert done.returncode == 0, done.stdout
    passed = re.search(rf"(\d+) passed, {SKIPPED[simulator]} skipped", done.stdout)
    assert passed is not None and int(passed[1]) > 20, done.stdout
