"""Batch systems through dask-jobqueue: their files are read, their job scripts made, and what they refuse is said."""

import contextlib
import threading

import pytest

from kernelpoint.coordinator.batch_systems import BATCH_SYSTEMS, batch_cluster, close, made_cluster
from kernelpoint.errors import ConfigError, SetupError

pytest.importorskip("dask_jobqueue", reason="kernelpoint[cluster] is not installed")
pytest.importorskip("cryptography", reason="kernelpoint[cluster] is not installed")

from kernelpoint.coordinator import dask_pool
from kernelpoint.extras import needs_extra

COMMON = "cores: 2, memory: 3GB, processes: 2, interface: lo, job-script-prologue: [source env.sh]"
# Options of a system's own, and lines that its job script then has.
SCRIPTS = {
    "slurm": (
        'queue: gpu, walltime: "02:00:00", account: chips',
        ["#SBATCH -p gpu", "#SBATCH -A chips", "#SBATCH -t 02:00:00"],
    ),
    "pbs": (
        'queue: gpu, walltime: "02:00:00", account: chips',
        ["#PBS -q gpu", "#PBS -A chips", "#PBS -l walltime=02:00:00"],
    ),
    "sge": ('queue: gpu, walltime: "02:00:00", project: chips', ["#$ -q gpu", "#$ -P chips", "#$ -l h_rt=02:00:00"]),
    "lsf": ('queue: gpu, walltime: "02:00", project: chips', ["#BSUB -q gpu", '#BSUB -P "chips"', "#BSUB -W 02:00"]),
    "htcondor": ("disk: 4GB", ["RequestCpus = MY.DaskWorkerCores", "MY.DaskWorkerCores = 2", "source env.sh"]),
    "oar": (
        'queue: gpu, walltime: "02:00:00", project: chips',
        ["#OAR -q gpu", "#OAR --project chips", "walltime=02:00:00"],
    ),
    "moab": (
        'queue: gpu, walltime: "02:00:00", account: chips',
        ["#PBS -q gpu", "#PBS -A chips", "#PBS -l walltime=02:00:00"],
    ),
}


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_the_options_of_a_file_are_in_the_job_script(system, tmp_path):
    options, lines = SCRIPTS[system]
    path = tmp_path / "cluster.yaml"
    path.write_text(f"jobqueue: {{{system}: {{{COMMON}, {options}}}}}")
    cluster, _ = made_cluster(str(path))
    try:
        script = cluster.job_script()
    finally:
        close(cluster)
    assert all(line in script for line in [*lines, "source env.sh", "distributed.cli.dask_worker tls://127.0.0.1:"])
    assert all(option in script for option in ["--nworkers 2", "--nthreads 1"])


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Function that puts an sbatch before the machine's own and gives a cluster file."""
    program = tmp_path / "sbatch"

    def make(script: str) -> str:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        path = tmp_path / "cluster.yaml"
        path.write_text("jobqueue: {slurm: {cores: 1, memory: 1GB, processes: 1, interface: lo}}")
        return str(path)

    return make


def test_jobs_that_cannot_be_submitted_end_the_run_with_the_batch_systems_words(slurm):
    path = slurm("echo 'sbatch: error: invalid partition specified' >&2; exit 1")
    with pytest.raises(ConfigError, match=r"2 of 2 jobs cannot be submitted; .*sbatch: error: invalid partition"):
        batch_cluster(path, 2, print)


def test_jobs_some_of_which_cannot_be_submitted_are_said_and_the_others_used(slurm, tmp_path):
    said = []
    path = slurm(f"mkdir {tmp_path}/first 2>/dev/null && echo 'Submitted batch job 7' || {{ echo full >&2; exit 1; }}")
    cluster = batch_cluster(path, 2, said.append)
    close(cluster)
    assert said == ["1 of 2 jobs cannot be submitted; the first: full"]


def test_how_many_jobs_has_to_be_said(slurm):
    with pytest.raises(ConfigError, match=r"is missing; give --workers N"):
        dask_pool.open_pool(None, slurm("true"), 0, print)


def test_jobs_that_do_not_begin_are_said(slurm, monkeypatch):
    monkeypatch.setattr(dask_pool, "SECONDS_BETWEEN_LOOKS", 0.05)
    said, heard = [], threading.Event()

    def say(line):
        said.append(line)
        if "no worker" in line:
            heard.set()

    pool = dask_pool.open_pool(2, slurm("echo 'Submitted batch job 7'"), 0, say)
    with contextlib.closing(pool):
        assert heard.wait(60)
    assert said[-1].endswith("2 were asked for; squeue shows their jobs")


def test_no_worker_is_said_after_a_few_seconds_and_then_each_minute_and_when_some_came(monkeypatch):
    counts = iter([0, 0, 0, -1, 0, 2, 2, 0])
    clock = iter(range(0, 1000, 35))
    said: list[str] = []
    monkeypatch.setattr(dask_pool.time, "monotonic", lambda: next(clock))
    over, looks = threading.Event(), iter([False] * 8 + [True])
    over.wait = lambda seconds: next(looks)  # type: ignore[method-assign]
    dask_pool.report_lack_of_workers(lambda: next(counts), "start some", said.append, over)
    assert said == [
        "no worker is there since 35 s: start some",
        "no worker is there since 70 s: start some",
        "no worker is there since 175 s: start some",
        "2 workers are there",
        "no worker is there since 35 s: start some",
    ]


def test_every_module_that_a_run_on_many_processes_needs_is_said_to_come_with_its_extra():
    for module in ("dask", "distributed", "dask_jobqueue", "cryptography"):
        with pytest.raises(SetupError, match=r"\.\[cluster\]"), needs_extra("kernelpoint run"):
            raise ModuleNotFoundError(name=module)
