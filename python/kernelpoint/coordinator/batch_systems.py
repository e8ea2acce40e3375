"""Workers as jobs of a batch system, through dask-jobqueue and its own configuration."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelpoint.config import read_yaml
from kernelpoint.errors import ConfigError
from kernelpoint.extras import needs_extra
from kernelpoint.files import write_output
from kernelpoint.progress import Log

# Batch system in a file of dask-jobqueue -> class, and the program that lists its jobs.
BATCH_SYSTEMS = {
    "slurm": ("SLURMCluster", "squeue"),
    "pbs": ("PBSCluster", "qstat"),
    "sge": ("SGECluster", "qstat"),
    "htcondor": ("HTCondorCluster", "condor_q"),
    "lsf": ("LSFCluster", "bjobs"),
    "oar": ("OARCluster", "oarstat"),
    "moab": ("MoabCluster", "showq"),
}
SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
SECONDS_TO_SUBMIT = 60.0
LOOPBACK = "127.0.0.1:0"  # this machine only, any free port


def dashboard_options() -> dict[str, Any]:
    """Options for Dask's dashboard, which is off unless the environment variable KERNELPOINT_DASHBOARD has an address."""
    address = os.environ.get("KERNELPOINT_DASHBOARD")
    return {"dashboard": bool(address), "dashboard_address": address or LOOPBACK}


def stop_pages(*servers: Any) -> None:
    """Close the HTTP servers of Dask's schedulers and workers, which Dask opens even without a dashboard."""
    for server in servers:
        with contextlib.suppress(AttributeError):
            server.http_server.stop()


def batch_cluster(path: str, workers: int, say: Log) -> Any:
    """Make a Dask cluster and submit a batch job for each worker.

    Args:
        path: configuration file of dask-jobqueue.
        workers: number of workers.
        say: function that receives lines for the user.

    Raises:
        ConfigError: the file is refused, or no job can be submitted; the message quotes the batch system.
    """
    cluster, failures = made_cluster(path)
    try:
        cluster.scale(n=workers)
        deadline = time.monotonic() + SECONDS_TO_SUBMIT
        while time.monotonic() < deadline:
            submitted = sum(getattr(job, "job_id", None) is not None for job in list(cluster._created))
            if submitted + len(failures) >= len(cluster.worker_spec):
                break
            time.sleep(0.05)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        close(cluster)
        raise ConfigError(f"--cluster {path}: {error}") from None
    if not failures:
        return cluster
    text = str(failures[0])  # behind the words that dask-jobqueue adds
    of_system = text.partition("stderr:\n")[2].strip() or " ".join(text.split())
    message = f"{len(failures)} of {len(cluster.worker_spec)} jobs cannot be submitted; the first: {of_system}"
    if len(failures) < len(cluster.worker_spec):
        say(message)
        return cluster
    close(cluster)
    raise ConfigError(f"--cluster {path}: {message}")


def close(cluster: Any) -> None:
    """Close a Dask cluster, even if some of its processes no longer answer."""
    with contextlib.suppress(Exception):
        cluster.close(timeout=5)
    with contextlib.suppress(AttributeError, OSError):  # a cluster of this machine has none
        cluster.private_folder.cleanup()


def made_cluster(path: str) -> tuple[Any, list[Exception]]:
    """Make a Dask cluster without batch jobs. Returns the cluster, and a list to which errors of later job submissions are
    added.

    Raises:
        ConfigError: the file cannot be read, or its options are refused.
    """
    system, options = read_cluster_file(path)
    with needs_extra("--cluster FILE"):
        import cryptography  # noqa: F401  # distributed makes the certificates with it
        import dask
        import dask_jobqueue
    settings = dask.config.merge(*dask.config.defaults, dask.config.collect())  # not those of a cluster made before
    options = dask.config.merge(settings["jobqueue"][system], options)
    dask.config.set({f"jobqueue.{system}": options})
    plain = getattr(dask_jobqueue, BATCH_SYSTEMS[system][0])
    failures: list[Exception] = []
    try:
        folder = _private_folder(options.get("shared-temp-directory"))
        cluster = _secured(plain, folder.name, failures)(
            security=_certificates(Path(folder.name)),
            scheduler_options={**dashboard_options(), **_scheduler_options(options)},
            worker_extra_args=[
                "--no-dashboard",
                "--dashboard-address",
                LOOPBACK,
                *options.get("worker-extra-args", []),
            ],
            silence_logs=logging.CRITICAL,
        )
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        raise ConfigError(f"--cluster {path}: {error}") from None
    cluster.private_folder = folder
    if not dashboard_options()["dashboard"]:
        stop_pages(cluster.scheduler)
    return cluster, failures


def _private_folder(parent: str | None) -> tempfile.TemporaryDirectory[str]:
    """A folder of mode 0700 for certificates and job scripts, which workers on other machines read."""
    parent = os.path.abspath(os.path.expanduser(os.path.expandvars(parent or os.curdir)))
    try:
        return tempfile.TemporaryDirectory(prefix=".kernelpoint-", dir=parent)
    except OSError as error:
        raise ValueError(
            f"cannot make a folder for certificates in {parent}: {error.strerror}; name a folder that all machines share with "
            "`shared-temp-directory:`"
        ) from None


def _certificates(folder: Path) -> Any:
    """Certificates of this run alone, in files: only holders of their key may connect to scheduler and workers."""
    from distributed.security import Security

    made = Security.temporary()
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for path, text in ((certificate, made.tls_worker_cert), (key, made.tls_worker_key)):
        path.touch(mode=0o600)
        write_output(path, text)
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_cert": str(certificate) for role in roles} | {f"tls_{role}_key": str(key) for role in roles}
    return Security(require_encryption=True, tls_ca_file=str(certificate), **files)


def _scheduler_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of the scheduler in a file, which cannot take the encryption away."""
    scheduler = dict(options.get("scheduler-options") or {})
    if fixed := {"protocol", "security"} & set(scheduler):
        name = min(fixed)
        raise ValueError(
            f"scheduler-options: {name}: got {scheduler[name]!r}; remove this option: KernelPoint always uses tls:// "
            "connections with certificates that it makes"
        )
    return scheduler


def read_cluster_file(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Read the name of the batch system, and its options, from a configuration file of dask-jobqueue.

    Raises:
        ConfigError: the file cannot be read, or does not describe exactly one batch system.
    """
    try:
        content = read_yaml(path, "--cluster")
    except ConfigError as error:
        raise ConfigError(f"{error}; --cluster needs a file, or an address that begins with {', '.join(SCHEMES)}") from None
    sections = content.get("jobqueue") if isinstance(content, dict) else None
    systems = {name: sections[name] for name in sections if name in BATCH_SYSTEMS} if isinstance(sections, dict) else {}
    if len(systems) != 1 or not isinstance(next(iter(systems.values())), dict):
        raise ConfigError(
            f"--cluster {path}: expected `jobqueue:` with the options of one of {', '.join(BATCH_SYSTEMS)}, in the "
            "format of dask-jobqueue"
        )
    return next(iter(systems.items()))


def _secured(plain: Any, folder: str, failures: list[Exception]) -> Any:
    """A cluster class whose job scripts lie in a private folder, and which keeps why its jobs cannot be submitted.

    Dask writes job scripts to a name in /tmp that another user could have taken, and forgets the failures.
    """

    class Job(plain.job_cls):
        async def start(self) -> None:
            try:
                await super().start()
            except Exception as error:
                failures.append(error)
                raise

        @contextlib.contextmanager
        def job_file(self) -> Iterator[str]:
            path = Path(folder) / f"{self.name}.sh"
            write_output(path, self.job_script())
            yield str(path)

    return type(plain.__name__, (plain,), {"job_cls": type(plain.job_cls.__name__, (Job,), {})})
