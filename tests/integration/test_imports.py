"""Parts of the package import no library that they do not need: start-up and memory of every run depend on it."""

import subprocess
import sys

import pytest

DESIGNS = """
from kernelpoint.policies.conformance import make
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.workload import Available, Need
for name in POLICIES.names():
    if Need.EMBEDDINGS not in load_policy(name).inputs(Available()):
        policy, population = make(name)
        policy.design(population)
"""
# Part -> code, modules that it leaves out
PARTS = {
    "the package": ("import kernelpoint", "numpy torch yaml pydantic"),
    "traces": ("import kernelpoint.traces", "torch scipy sklearn typer rich pydantic yaml"),
    "a run of one process": (
        "import kernelpoint.session.boundary; from kernelpoint.policies.registry import load_policy; load_policy('random')",
        "dask distributed tornado torch sklearn scipy typer rich pandas vl_convert pydantic importlib.metadata kernelpoint_lab "
        "kernelpoint.coordinator kernelpoint.session.worker",
    ),
    "the help of plan": ("from kernelpoint.cli import command; command('plan')", "numpy pydantic rich kernelpoint.estimation"),
    "clusters by thresholds": (
        "import numpy; from kernelpoint.clustering import threshold_clusters; threshold_clusters(numpy.eye(3), 0.25)",
        "sklearn scipy torch",
    ),
    "designs without embeddings": (DESIGNS, "torch"),
    "the look-up of a distribution": ("import kernelpoint.cli.doctor as d; d._distribution('torch')", "torch numpy"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_nothing_that_it_does_not_need(part):
    code, left_out = PARTS[part]
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    imported = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert "kernelpoint" in imported and not set(left_out.split()) & set(imported)
