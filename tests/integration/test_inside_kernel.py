"""Launches stopped inside the embedded host, from the configuration to the summary."""

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


def test_cta_saves_cycles_and_its_bound_holds(simulate, tmp_path):
    full = float(simulate(None)["gpu_tot_sim_cycle"])
    lines = simulate("policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}")
    summary = summary_of(tmp_path)
    assert summary["projected"] == int(lines["kernelpoint_projected"]) > 0
    assert 0 < summary["half_width"] <= 0.05 * summary["estimate"]
    assert abs(summary["estimate"] - full) <= summary["half_width"]
    assert summary["cycle_speedup"] > 1.05


def test_pka_saves_cycles_and_states_no_bound(simulate, tmp_path):
    full = float(simulate(None)["gpu_tot_sim_cycle"])
    lines = simulate("policy: all\nintra_kernel: pka")
    summary = summary_of(tmp_path)
    assert summary["projected"] > 0 and lines["kernelpoint_bound"] == "none"
    assert summary["estimate"] == pytest.approx(full, rel=0.15) and summary["half_width"] is None


def test_the_projection_is_nearer_than_scaling_by_ctas(simulate, tmp_path):
    full = float(simulate(None)["gpu_tot_sim_cycle"])
    simulate("policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}")
    stops = [r.projection for r in load_run(tmp_path / "run.kpjournal").results.values()]
    scaled = sum(stop.simulated_cycles * stop.of / stop.ctas for stop in stops)
    assert abs(summary_of(tmp_path)["estimate"] - full) < 0.5 * abs(scaled - full)


class TestTwoSms:
    """A GPU cut to two SMs, and launches of 256 CTAs: 16 waves, which `cta` without a model never stopped."""

    YAML = "policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}"

    @pytest.fixture(scope="class")
    @staticmethod
    def large_launches(tmp_path_factory):
        folder = tmp_path_factory.mktemp("two")
        synthesised(folder / "traces", "axpy", LAUNCHES, n=65536)
        text = (SHIPPED / "v100.yaml").read_text()
        (folder / "small.yaml").write_text(re.sub(r"^sms: 80$", "sms: 2", text, flags=re.MULTILINE))
        other = re.sub(r"^dram_latency: 220\b", "dram_latency: 260", text, flags=re.MULTILINE)
        (folder / "model.yaml").write_text(re.sub(r"^sms: 80$", "sms: 2", other, flags=re.MULTILINE))
        return folder

    def test_half_of_the_ctas_are_saved_and_the_bound_holds(self, simulate, large_launches, tmp_path):
        full = float(simulate(None)["gpu_tot_sim_cycle"])
        simulate(f"{self.YAML}\nfast_model: {large_launches / 'model.yaml'}")
        stops = [record.projection for record in load_run(tmp_path / "run.kpjournal").results.values()]
        assert all(stop is not None and stop.ctas <= stop.of / 2 for stop in stops)
        summary = summary_of(tmp_path)
        assert abs(summary["estimate"] - full) <= summary["half_width"] <= 0.05 * summary["estimate"]

    def test_a_method_that_stopped_nothing_says_so(self, simulate, tmp_path):
        simulate(self.YAML.replace("0.05", "0.0001"))
        assert f"intra_kernel: cta had no effect: none of the {LAUNCHES} simulated" in " ".join(
            summary_of(tmp_path)["warnings"]
        )
