"""A real Slurm: a run through dask-jobqueue, one job of which is ended by scancel."""

import subprocess
import threading
import time

import pytest
import slurm
from coordinated import BUDGET

from kernelpoint.cli.host import program
from kernelpoint.coordinator.task import folder_of

pytest.importorskip("dask_jobqueue", reason="kernelpoint[cluster] is not installed")
pytest.importorskip("cryptography", reason="kernelpoint[cluster] is not installed")
if absent := slurm.missing():
    pytest.skip(f"Slurm is not installed: no {absent}", allow_module_level=True)
if not program().exists():
    pytest.skip("the embedded host is not built; run `make build`", allow_module_level=True)


def test_a_run_through_slurm_that_loses_a_job_is_that_of_one_process(bench, tmp_path_factory):
    alone = bench.alone(BUDGET)
    ended = []

    def end_a_job():
        deadline = time.monotonic() + 120
        while not ended and time.monotonic() < deadline:
            time.sleep(0.2)
            if list(folder_of(bench.journal).glob("*/*.jsonl")) and (jobs := slurm.running_jobs()):
                subprocess.run(["scancel", jobs[-1]], check=True)
                ended.append(jobs[-1])

    with slurm.running(tmp_path_factory.mktemp("slurm")) as cluster:
        thread = threading.Thread(target=end_a_job)
        thread.start()
        assert bench.spread(BUDGET, 3, str(cluster)) == 0
        thread.join()
    assert ended and bench.take() == alone
