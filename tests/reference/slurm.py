"""A Slurm of our own on this machine: one controller, one node with four slots, in a folder; started and stopped here."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
CONFIGURATION = """
ClusterName=kernelpoint
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser={user}
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
CLUSTER = """
jobqueue:
  slurm:
    name: kernelpoint
    cores: 1
    memory: 1GB
    processes: 1
    interface: lo
    walltime: "00:30:00"
    job-directives-skip: ["--mem"]
    local-directory: {folder}/local
    log-directory: {folder}/logs
"""


def missing() -> str:
    """Programs of Slurm that are not installed; empty where all are."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    return ", ".join(name for name in PROGRAMS if shutil.which(name, path=path) is None)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Path]:
    """A Slurm while it runs; dask-jobqueue's file for it."""
    for name in ("state", "spool", "logs"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    names = {"host": socket.gethostname().split(".")[0], "user": getpass.getuser(), "folder": folder}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**names, controller=_free_port(), node=_free_port()))
    (folder / "cluster.yaml").write_text(CLUSTER.format(folder=folder))
    files = {"key-file": key, "socket": folder / "munge.sock", "pid-file": folder / "munged.pid"}
    files |= {"log-file": folder / "munged.log", "seed-file": folder / "munged.seed"}
    with _environment({"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin"}):
        try:
            _call("munged", "--force", *(f"--{name}={path}" for name, path in files.items()))
            _call("slurmctld")
            _call("slurmd")
            _wait(lambda: "idle" in _call("sinfo", "--noheader", "--format=%T"))
            yield folder / "cluster.yaml"
            _call("scancel", "--user", names["user"])
            _wait(lambda: not _call("squeue", "--noheader"))
        finally:
            for name in ("slurmd", "slurmctld", "munged"):
                with contextlib.suppress(OSError, ValueError):
                    os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGTERM)


def running_jobs() -> list[str]:
    """Numbers of the jobs that run."""
    return _call("squeue", "--noheader", "--states=R", "--format=%i").split()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _call(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def _wait(ready, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError("Slurm did not come so far")
        time.sleep(0.2)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
