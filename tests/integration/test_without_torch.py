"""Running needs no torch, and policy kernelpoint no scikit-learn: it works where they are not installed."""

import os
import subprocess
import sys

import pytest
from command_line import PROCESS

TORCH = ("torch", "torch_geometric")
SKLEARN = ("sklearn", "scipy")


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Makes packages look not installed, in every Python that is started: also in the one inside the host."""

    def without(*names: str) -> None:
        folder = tmp_path / "blocked"
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')")
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        monkeypatch.setenv("PYTHONPATH", path)

    return without


def kernelpoint(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([*PROCESS, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def test_blocked_packages_are_blocked(without):
    without(*TORCH)
    done = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, timeout=60)
    assert "No module named 'torch'" in done.stderr


@pytest.mark.parametrize("model", ["auto", "off"])
def test_a_run_of_policy_kernelpoint_predicts_or_embeds_without_torch_and_scikit_learn(bench, without, model):
    without(*TORCH, *SKLEARN)
    done = bench.run(f"policy: kernelpoint\nerror_budget: {{relative_error: 0.05}}\nfast_model: {model}")
    assert done.returncode == 0, done.stderr
    assert not bench.report().ended().degraded


def test_gcl_makes_its_plan_without_torch(bench, without):
    without(*TORCH)
    done = bench.run("policy: gcl")
    assert done.returncode == 0, done.stderr
    assert bench.report().ended().simulated < 200


def test_doctor_plan_and_demo_work_without_torch(without, tmp_path, monkeypatch, solver_traces):
    without(*TORCH, "vl_convert")
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    for command in (
        ("doctor",),
        ("plan", solver_traces, "-o", tmp_path / "run.kpplan"),
        ("demo", "-o", tmp_path / "demo", "--launches", 100),
    ):
        done = kernelpoint(*command)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000


def test_training_says_what_it_needs(without, tmp_path, solver_traces):
    without(*TORCH)
    done = kernelpoint("lab", "train", solver_traces, "-o", tmp_path / "e.safetensors")
    assert done.returncode == 1
    assert "the package torch is not installed, in KernelPoint's folder: pip install '.[train]'" in done.stderr
    assert "Traceback" not in done.stderr
