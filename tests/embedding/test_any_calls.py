"""Any sequence of calls of the ABI gets a status that abi.h names; `CALLS=200000` tries more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernelpoint

PLUGIN = Path(kernelpoint.__file__).parent / "lib" / "libkernelpoint.so"
CALLS = os.environ.get("CALLS", "3000")


@pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not built here")
@pytest.mark.parametrize(("threads", "forks"), [(1, 0), (4, 0), (4, 20)])
def test_any_sequence_of_calls_gets_a_status_and_a_reason(tmp_path, threads, forks):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("any_calls.py"), PLUGIN, "20240721", CALLS, str(threads), str(forks)],
        capture_output=True, text=True, timeout=3000, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    children = {name: count for name, count in seen.items() if name.startswith("fork")}
    assert sum(seen.values()) >= int(CALLS) and children.keys() <= {"fork answered", "fork refused"}, children
    assert (sum(children.values()) > 0) == (forks > 0)
    for name in (
        "kp_open 0",
        "kp_open -1",
        "kp_open -2",
        "kp_on_launch 0",
        "kp_on_launch -1",
        "kp_on_complete 0",
        "kp_finish 0",
    ):
        assert seen[name] > 0, seen
