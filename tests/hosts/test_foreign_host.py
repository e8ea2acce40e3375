"""Simulators outside the tree: each has one folder of its own, and the suite of all hosts runs on it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOSTS = [ROOT / "examples" / f"{name}_simulator" / "host.py" for name in ("small", "executing")]
SKIPPED = 18  # for each of the two hosts, nine tests are of features that it does not have, such as several processes


@pytest.mark.skipif(not HOSTS[0].exists(), reason="the examples are not beside the tests")
def test_the_suite_runs_on_hosts_that_files_outside_the_tests_define():
    suite = Path(__file__).with_name("test_conformance.py")
    command = [sys.executable, "-m", "pytest", "-q", str(suite), "-k", "(small or executing) and simulator", "-rs"]
    environment = {**os.environ, "KERNELPOINT_HOSTS": os.pathsep.join(map(str, HOSTS))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    if "are needed to build this host" in done.stdout:
        pytest.skip("gcc, g++ and make are needed to build this host")
    assert done.returncode == 0, done.stdout
    passed = re.search(rf"(\d+) passed, {SKIPPED} skipped", done.stdout)
    assert passed is not None and int(passed[1]) > 40, done.stdout
