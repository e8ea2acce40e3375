"""`kernelpoint plan` from its options alone."""

import os
import sqlite3
from dataclasses import replace

import pytest
from command_line import run_command
from embedded_host import run_host
from workloads import synthesised

from kernelpoint import cli
from kernelpoint.fast_model.predict import PREDICTIONS
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    traces = synthesised(tmp_path / "traces", "axpy", 3)

    def run(*options):
        return run_command("plan", traces, "-o", tmp_path / "a.kpplan", *options)

    return run


def test_a_policy_that_lacks_its_profile_is_told_of_the_option(plan):
    done = plan("--policy", "stem")
    assert done.returncode == 1 and "--profile" in done.stderr and "`profile:`" not in done.stderr


def test_a_profile_can_be_named_on_the_command_line(plan, tmp_path):
    rows = "".join(f"{i},,,{1000 + i}\n" for i in range(3))
    (tmp_path / "times.csv").write_text("launch_index,trace,kernel_name,cycles\n" + rows)
    done = plan("--policy", "stem", "--profile", tmp_path / "times.csv")
    assert done.returncode == 0, done.stderr
    assert "3 launches" in done.stdout and (tmp_path / "a.kpplan").exists()


@pytest.mark.parametrize(("setting", "threads"), [(None, "1"), ("3", "3")])
def test_a_command_uses_one_thread_for_matrices_unless_told_otherwise(monkeypatch, setting, threads):
    monkeypatch.setattr("sys.argv", ["kernelpoint", "--version"])
    with monkeypatch.context() as patch:
        patch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        if setting:
            patch.setenv("OPENBLAS_NUM_THREADS", setting)
        cli.main()
        assert os.environ["OPENBLAS_NUM_THREADS"] == threads


class TestTheFastModel:
    """Its predictions, made while planning, are those of the run."""

    @pytest.fixture
    def config(self, tmp_path):
        path = tmp_path / "kp.yaml"
        path.write_text("version: 1\npolicy: kernelpoint\nprofile: model\n")
        return path

    def kept(self, tmp_path):
        with sqlite3.connect(tmp_path / "cache" / "artefacts.sqlite") as cache:
            return cache.execute("SELECT key, crc32 FROM artefacts WHERE kind = ?", (PREDICTIONS,)).fetchall()

    def run_host(self, tmp_path, config):
        return run_host(tmp_path / "traces" / "kernelslist.g", tmp_path, None, "-kernel_sampling", config)

    def test_a_run_finds_the_predictions_that_planning_kept(self, plan, tmp_path, config):
        done = plan("--config", config, "--gpu", "v100")
        assert done.returncode == 0, done.stderr
        assert "the fast model predicts with rtx (the host" in done.stderr  # not with the simulated v100
        made = self.kept(tmp_path)
        assert len(made) == 1
        config.write_text(config.read_text() + f"plan: {tmp_path / 'a.kpplan'}\n")
        run = self.run_host(tmp_path, config)
        assert run.returncode == 0, run.stderr
        assert "another simulated GPU" not in run.stderr
        assert self.kept(tmp_path) == made

    def test_a_plan_with_the_predictions_of_another_gpu_is_used_and_that_is_said(self, plan, tmp_path, config):
        config.write_text("version: 1\npolicy: random\n")
        assert plan("--config", config).returncode == 0
        path = tmp_path / "a.kpplan"
        made = Plan.load(path, Program((3,)))
        model = {"configuration": "some GPU", "config_hash": "12ab", "model_version": "1"}
        replace(made, origin={**made.origin, "fast_model": model}).save(path)
        config.write_text(config.read_text() + f"plan: {path}\n")
        run = self.run_host(tmp_path, config)
        assert run.returncode == 0, run.stderr
        assert "predictions are for another simulated GPU (some GPU, 12ab)" in run.stderr

    @pytest.mark.parametrize("gpu", ["no such file", ""])
    def test_a_gpu_that_cannot_be_read_is_refused(self, plan, tmp_path, config, gpu):
        done = plan("--config", config, "--gpu", gpu)
        assert done.returncode == 1
        assert "configuration" in done.stderr
        assert not (tmp_path / "a.kpplan").exists()
