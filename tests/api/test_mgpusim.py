"""The example of MGPUSim: a sampled run states a bound on the total error that contains the cycles of the full run."""

import os
import re
import subprocess

import pytest

HOST = os.environ.get("KERNELPOINT_MGPUSIM")  # examples/hosts/mgpusim/host.go, built
pytestmark = pytest.mark.skipif(not HOST, reason="KERNELPOINT_MGPUSIM names no host of MGPUSim")


def test_the_bound_of_a_sampled_run_contains_the_cycles_of_the_full_run(tmp_path):
    config = tmp_path / "kernelpoint.yaml"
    config.write_text("version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.01, confidence: 0.95}\n")

    def run(mode):
        command = [HOST, mode, "pagerank", "100"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3000, check=True)

    total = int(re.search(r"full run: 100 launches, (\d+) cycles", run("full").stdout)[1])
    sampled = run(str(config))
    simulated, estimate, half_width = map(int, re.search(r"(\d+) of 100 .* (\d+) \+- (\d+)", sampled.stdout).groups())
    assert simulated < 40 and "total within" in sampled.stderr
    assert abs(estimate - total) <= half_width
