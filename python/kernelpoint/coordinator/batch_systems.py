"""Workers as jobs of a batch system, through dask-jobqueue and its own configuration."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelpoint.config import read_yaml
from kernelpoint.errors import ConfigError
from kernelpoint.extras import needs_extra

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


def batch_cluster(path: str, workers: int, say: Callable[[str], None]) -> Any:
    """A Dask cluster with jobs submitted for so many workers.

    Raises:
        ConfigError: the file is refused, or no job can be submitted; with the batch system's own words.
    """
    cluster, failures = made_cluster(path)
    try:
        cluster.scale(n=workers)
        deadline = time.monotonic() + SECONDS_TO_SUBMIT
        while time.monotonic() < deadline and _is_submitting(cluster, failures):
            time.sleep(0.05)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        close(cluster)
        raise ConfigError(f"--cluster {path}: {error}") from None
    if not failures:
        return cluster
    told = f"{len(failures)} of {len(cluster.worker_spec)} jobs cannot be submitted; the first: {_words(failures[0])}"
    if len(failures) < len(cluster.worker_spec):
        say(told)
        return cluster
    close(cluster)
    raise ConfigError(f"--cluster {path}: {told}")


def close(cluster: Any) -> None:
    """End a Dask cluster, with whatever it has lost."""
    with contextlib.suppress(Exception):
        cluster.close(timeout=5)


def made_cluster(path: str) -> tuple[Any, list[Exception]]:
    """A cluster without jobs, and the list that why jobs could not be submitted goes to.

    Raises:
        ConfigError: the file cannot be read, or its options are refused.
    """
    system, options = read_cluster_file(path)
    with needs_extra("--cluster FILE"):
        import dask
        import dask_jobqueue
    settings = dask.config.merge(*dask.config.defaults, dask.config.collect())  # not those of a cluster made before
    dask.config.set({f"jobqueue.{system}": {**settings["jobqueue"][system], **options}})
    plain = getattr(dask_jobqueue, BATCH_SYSTEMS[system][0])
    failures: list[Exception] = []
    try:
        return _telling(plain, failures)(silence_logs=logging.CRITICAL), failures
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        raise ConfigError(f"--cluster {path}: {error}") from None


def read_cluster_file(path: str | Path) -> tuple[str, dict[str, Any]]:
    """The batch system that a file of dask-jobqueue's configuration is about, and its options.

    Raises:
        ConfigError: the file cannot be read, or is about none or several.
    """
    try:
        content = read_yaml(path, "--cluster")
    except ConfigError as error:
        raise ConfigError(f"{error}; allowed: a file, or an address that begins with {', '.join(SCHEMES)}") from None
    sections = content.get("jobqueue") if isinstance(content, dict) else None
    known = {name: sections[name] for name in sections if name in BATCH_SYSTEMS} if isinstance(sections, dict) else {}
    if len(known) != 1 or not isinstance(next(iter(known.values())), dict):
        raise ConfigError(
            f"--cluster {path}: expected `jobqueue:` with the options of one of {', '.join(BATCH_SYSTEMS)}, as dask-jobqueue "
            "reads them"
        )
    return next(iter(known.items()))


def _telling(plain: Any, failures: list[Exception]) -> Any:
    """A cluster class that keeps why its jobs cannot be submitted, where dask-jobqueue forgets it."""

    async def start(self: Any) -> None:
        try:
            await plain.job_cls.start(self)
        except Exception as error:
            failures.append(error)
            raise

    return type(plain.__name__, (plain,), {"job_cls": type(plain.job_cls.__name__, (plain.job_cls,), {"start": start})})


def _is_submitting(cluster: Any, failures: list[Exception]) -> bool:
    known = sum(getattr(job, "job_id", None) is not None for job in list(cluster._created))
    return known + len(failures) < len(cluster.worker_spec)


def _words(error: Exception) -> str:
    """Words of the batch system in a report of dask-jobqueue."""
    said = str(error).partition("stderr:\n")[2].strip()
    return said or " ".join(str(error).split())
