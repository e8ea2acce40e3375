"""Launches stopped before their end in the embedded host, from the configuration to the summary."""

import re

import pytest
from embedded_host import run_host
from workloads import synthesised

from kernelpoint.fast_model.configuration import SHIPPED
from kernelpoint.journal import load_run

LAUNCHES = 4


@pytest.fixture(scope="module")
def large_launches(tmp_path_factory):
    """Four launches of 512 CTAs, and a GPU that holds 8 of them at a time: 64 waves."""
    folder = tmp_path_factory.mktemp("large")
    synthesised(folder / "traces", "axpy", LAUNCHES, n=131072)
    text = (SHIPPED / "v100.yaml").read_text()
    (folder / "small.yaml").write_text(re.sub(r"^sms: 80$", "sms: 1", text, flags=re.MULTILINE))
    return folder


@pytest.fixture
def simulate(large_launches, tmp_path):
    def run(yaml):
        done = run_host(large_launches / "traces", tmp_path, yaml, "-config", large_launches / "small.yaml")
        assert done.returncode == 0, done.stderr
        return dict(re.findall(r"^(\w+) = (\S+)", done.stdout, re.MULTILINE))

    return run


def summary_of(tmp_path):
    return load_run(tmp_path / "run.kpjournal").content()


def test_pka_saves_cycles_and_states_no_bound(simulate, tmp_path):
    full = float(simulate(None)["gpu_tot_sim_cycle"])
    lines = simulate("policy: {name: pka, project: true}")
    summary = summary_of(tmp_path)
    assert summary["projected"] > 0 and lines["kernelpoint_bound"] == "none"
    assert summary["estimate"] == pytest.approx(full, rel=0.15) and summary["half_width"] is None
