"""Nothing listens beyond this machine unless it is asked to, and nobody without the run's certificates is answered."""

import contextlib
import os
import stat
import urllib.request

import pytest

from kernelpoint.errors import ConfigError

pytest.importorskip("dask_jobqueue", reason="kernelpoint[cluster] is not installed")
pytest.importorskip("cryptography", reason="kernelpoint[cluster] is not installed")

import dask
import distributed
import psutil
from distributed.security import Security

from kernelpoint.coordinator import dask_pool
from kernelpoint.coordinator.batch_systems import close, made_cluster


def listening(process: psutil.Process) -> set[str]:
    """Addresses on which a process and its descendants listen."""
    processes = [process, *process.children(recursive=True)]
    return {c.laddr.ip for each in processes for c in each.net_connections("inet") if c.status == psutil.CONN_LISTEN}


def who_works(_: int) -> tuple[int, str]:
    return os.getpid(), distributed.get_worker().address


def listening_here() -> set[tuple[str, int]]:
    return {c.laddr for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN}


def test_workers_of_this_machine_listen_nowhere():
    said: list[str] = []
    before = listening_here()
    with contextlib.closing(dask_pool.open_pool(3, None, 0, said.append)) as pool:
        assert listening_here() == before and pool.dashboard == "" and said == ["3 workers"]


def test_a_dashboard_that_is_asked_for_answers_and_the_run_says_who_can_read_it(monkeypatch):
    monkeypatch.setenv("KERNELPOINT_DASHBOARD", "127.0.0.1:0")
    said: list[str] = []
    before = listening_here()
    with contextlib.closing(dask_pool.open_pool(3, None, 0, said.append)) as pool:
        assert {address.ip for address in listening_here() - before} == {"127.0.0.1"}
        assert said[0] == f"3 workers; Dask's dashboard: {pool.dashboard}"
        assert said[1].startswith("warning: Dask's dashboard asks for no password and checks no Host header")
        with urllib.request.urlopen(pool.dashboard, timeout=10) as page:
            assert b"Dask" in page.read()


def test_a_dashboard_that_does_not_answer_is_not_said(monkeypatch):
    monkeypatch.setenv("KERNELPOINT_DASHBOARD", "127.0.0.1:0")
    said: list[str] = []
    without_health = dask.config.set({"distributed.scheduler.http.routes": ["distributed.http.statics"]})
    with without_health, contextlib.closing(dask_pool.open_pool(1, None, 0, said.append)) as pool:
        assert pool.dashboard == "" and said[-1] == "1 worker"


def test_jobs_of_a_batch_system_work_over_connections_with_certificates_that_only_this_user_can_read(slurm_here, tmp_path):
    with contextlib.closing(dask_pool.open_pool(1, slurm_here(), 0, print)) as pool:
        (pid, address) = next(pool.map(who_works, [0]))
        assert pool._where.startswith("tls://127.0.0.1:") and address.startswith("tls://127.0.0.1:")
        assert listening(psutil.Process(pid).parent()) == {"127.0.0.1"}
        (folder,) = tmp_path.glob(".kernelpoint-*")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.glob("*.pem")]}
        assert modes == {folder.name: 0o700, "certificate.pem": 0o600, "key.pem": 0o600}
        assert str(folder) in (tmp_path / "job.sh").read_text()
    assert not folder.exists()


@pytest.mark.parametrize(("scheme", "refusal"), [("tcp", "reset by peer|Timed out"), ("tls", "does not match")])
def test_whoever_has_not_the_certificates_of_the_run_runs_nothing(slurm_here, scheme, refusal):
    cluster, _ = made_cluster(slurm_here())
    try:
        address = cluster.scheduler_address.replace("tls://", f"{scheme}://")
        with pytest.raises(OSError, match=refusal):
            distributed.Client(address, timeout=2, security=Security.temporary() if scheme == "tls" else None)
    finally:
        close(cluster)


def test_a_batch_system_has_no_dashboard_unless_it_is_asked_for(slurm_here, tmp_path, monkeypatch):
    with contextlib.closing(dask_pool.open_pool(1, slurm_here("queue: all"), 0, print)) as pool:
        assert pool.dashboard == ""
        assert "--no-dashboard --dashboard-address 127.0.0.1:0" in (tmp_path / "job.sh").read_text()
    monkeypatch.setenv("KERNELPOINT_DASHBOARD", "127.0.0.1:0")
    with contextlib.closing(dask_pool.open_pool(1, slurm_here("queue: all"), 0, print)) as pool:
        assert pool.dashboard.startswith("http://127.0.0.1:")


def test_a_file_cannot_take_the_encryption_away(slurm_here):
    with pytest.raises(ConfigError, match=r"scheduler-options: protocol: got 'tcp://'; remove this option"):
        made_cluster(slurm_here('scheduler-options: {protocol: "tcp://"}'))


def test_a_shared_folder_that_cannot_be_written_is_one_message(slurm_here, tmp_path):
    with pytest.raises(ConfigError, match=r"certificates in /dev/null: Not a directory; name a folder .*shared-temp"):
        made_cluster(slurm_here("shared-temp-directory: /dev/null"))
    close(made_cluster(slurm_here(f"shared_temp_directory: {tmp_path}"))[0])


def test_a_scheduler_without_certificates_is_warned_of():
    said: list[str] = []
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", dashboard_address=None, worker_dashboard_address="127.0.0.1:0"
    ) as cluster:
        dask_pool.open_pool(1, cluster.scheduler_address, 0, said.append).close()
    assert said[0].startswith(f"warning: {cluster.scheduler_address} has no encryption and no password")


def test_a_scheduler_with_certificates_that_nobody_named_is_one_message():
    with pytest.raises(ConfigError, match=r"--cluster tls://127.0.0.1:1: .*distributed\.comm\.tls"):
        dask_pool.open_pool(1, "tls://127.0.0.1:1", 0, print)
