"""A simulator outside the tree: one folder of its own, and the suite of all hosts runs on it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "small_simulator" / "host.py"


@pytest.mark.skipif(not FILE.is_file(), reason="the examples are not beside the tests")
def test_the_suite_runs_on_a_host_that_a_file_outside_the_tests_defines():
    suite = Path(__file__).with_name("test_conformance.py")
    command = [sys.executable, "-m", "pytest", "-q", str(suite), "-k", "small and simulator", "-rs"]
    environment = {**os.environ, "KERNELPOINT_HOSTS": str(FILE)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    if "are needed to build this host" in done.stdout:
        pytest.skip("gcc, g++ and make are needed to build this host")
    assert done.returncode == 0, done.stdout
    told = re.search(r"(\d+) passed, 3 skipped", done.stdout)  # what needs several processes or launches in flight
    assert told is not None and int(told[1]) > 20, done.stdout
