"""The engine that starts workers and hands out tasks: Dask, on this machine, on a batch system, or where its scheduler is."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from kernelpoint import __version__
from kernelpoint.coordinator.task import Batch, Report, Work, end_simulators, simulate
from kernelpoint.errors import ConfigError, KernelPointError, SessionError
from kernelpoint.extras import needs_extra

with needs_extra("kernelpoint run"):
    import dask
    import distributed

# Batch system in a file of dask-jobqueue -> class. Each takes its options from the section of its name.
BATCH_SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
    "lsf": "LSFCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}
SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
# A task may meet many dying workers: batch systems end jobs whenever they like. A launch that ends its simulator by itself is
# counted by the coordinator.
SETTINGS = {
    "distributed.scheduler.allowed-failures": 100,
    "distributed.scheduler.worker-saturation": 1.0,  # what no worker is free for stays ordered by cost
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.daemon": False,
    "distributed.comm.timeouts.connect": "20s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
}
MEMORY_MARGIN = 2.0  # Model: a simulator grows to at most that multiple of what it takes before its first launch
LEAST_MEMORY = 1 << 30  # bytes for a simulator


class Engine:
    """Workers, and the tasks that they have.

    Args:
        cluster: a Dask cluster that is ended with the run, or the address of a scheduler that is not.
        workers: how many are asked for.

    Attributes:
        workers: how many tasks can run at once, as far as is known.
    """

    def __init__(self, cluster: Any, workers: int) -> None:
        self._cluster = None if isinstance(cluster, str) else cluster
        self._where = cluster if isinstance(cluster, str) else cluster.scheduler_address
        try:
            self._client = distributed.Client(cluster, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(f"--cluster {self._where}: no scheduler answers there ({error})") from None
        self._done = distributed.as_completed(loop=self._client.loop)
        threads = sum(self._client.nthreads().values())
        self.workers = max(workers, threads)

    @property
    def dashboard(self) -> str:
        """Address of Dask's page on workers and tasks."""
        return str(self._client.dashboard_link)

    def begin(self, work: Work, batch: Batch, urgency: int) -> Any:
        """Hand out a batch; the most urgent of those that wait is begun first. Returns its handle."""
        with self._watched():
            future = self._client.submit(
                simulate, work, batch, priority=urgency, pure=False, key=f"simulate-{batch.name}-{os.urandom(4).hex()}"
            )
            self._done.add(future)
        return future

    def next_report(self) -> tuple[Any, Report]:
        """Wait for a batch to end: its handle and report.

        Raises:
            SessionError: the scheduler or too many workers are gone.
        """
        with self._watched():
            future = next(self._done)
            return future, future.result()

    def map(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """Result of a function for each piece, in their order (pool.Pool).

        Raises:
            SessionError: the scheduler or too many workers are gone, or a worker has another KernelPoint.
            KernelPointError: as the function.
        """
        with self._watched():
            waiting = deque(self._client.map(partial(_checked, __version__, function), pieces, pure=False))
        try:
            while waiting:
                with self._watched():
                    result = waiting[0].result()
                waiting.popleft()
                yield result
        finally:
            if waiting:
                self._client.cancel(list(waiting))

    def close(self) -> None:
        """End simulators and workers; a scheduler that was there before stays."""
        if self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.run(end_simulators)
        end_simulators()
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=5)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except KernelPointError:
            raise
        except Exception as error:
            if self._client.status == "running" and isinstance(error, distributed.KilledWorker):
                why = f"a task ended {error.last_worker.address if error.last_worker else 'its worker'} and those before it"
            elif isinstance(error, ImportError | AttributeError):
                why = f"a worker cannot load KernelPoint: {error}; install it there"
            else:
                why = f"Dask's scheduler at {self._where} is lost ({type(error).__name__}: {error})"
            raise SessionError(f"{why}; start the same command again to go on") from error


def _checked(kernelpoint: str, function: Callable[[Any], Any], piece: Any) -> Any:
    """A function on a worker, which has to have the coordinator's KernelPoint."""
    if kernelpoint != __version__:
        node = socket.gethostname()
        raise SessionError(f"{node}: KernelPoint {__version__} is installed here, {kernelpoint} where the plan is made")
    return function(piece)


def open_engine(workers: int | None, cluster: str | None, memory: int, say: Callable[[str], None]) -> Engine:
    """Start workers on this machine, on a batch system, or find those of a scheduler.

    Args:
        workers: how many; None: as many as cores and memory allow, or as the scheduler has.
        cluster: None; a file in dask-jobqueue's own configuration; or a scheduler's address.
        memory: bytes that a simulator takes before its first launch.
        say: told where the workers are.

    Raises:
        ConfigError: what is asked for cannot be had, and what can.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set(SETTINGS)
    if cluster is None:
        engine = Engine(_local(workers or fitting_workers(memory)), 1)
    elif cluster.startswith(SCHEMES):
        engine = Engine(cluster, workers or 1)
    else:
        engine = Engine(_batch_system(cluster, workers), workers or 1)
    say(f"{engine.workers} workers; Dask's dashboard: {engine.dashboard}")
    return engine


def fitting_workers(memory: int) -> int:
    """Simulators that cores and free memory of this machine allow."""
    import psutil  # a dependency of distributed

    cores = len(os.sched_getaffinity(0))
    each = max(LEAST_MEMORY, int(MEMORY_MARGIN * memory))
    return max(1, min(cores, int(psutil.virtual_memory().available // each)))


def _local(workers: int) -> Any:
    """Workers of this machine. They are threads of the coordinator: the work is done by the simulators that each one starts."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        memory_limit=0,
        dashboard_address=os.environ.get("KERNELPOINT_DASHBOARD", "127.0.0.1:0"),
        silence_logs=logging.CRITICAL,
    )


def _batch_system(path: str, workers: int | None) -> Any:
    system, options = read_cluster_file(path)
    if workers is None:
        raise ConfigError(f"--cluster {path}: how many workers to start there? give --workers N")
    with needs_extra("--cluster FILE"):
        import dask_jobqueue
    dask.config.set({f"jobqueue.{system}": {**dask.config.get(f"jobqueue.{system}", {}), **options}})
    try:
        cluster = getattr(dask_jobqueue, BATCH_SYSTEMS[system])(silence_logs=logging.CRITICAL)
        cluster.scale(n=workers)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        raise ConfigError(f"--cluster {path}: {error}") from None
    return cluster


def read_cluster_file(path: str | Path) -> tuple[str, dict[str, Any]]:
    """The batch system that a file of dask-jobqueue's configuration is about, and its options.

    Raises:
        ConfigError: the file cannot be read, or is about none or several.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"--cluster {path}: {error.strerror}; allowed: a file, or an address that begins with {', '.join(SCHEMES)}"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"--cluster {path}: {error}") from None
    sections = content.get("jobqueue") if isinstance(content, dict) else None
    known = {name: sections[name] for name in sections if name in BATCH_SYSTEMS} if isinstance(sections, dict) else {}
    if len(known) != 1 or not isinstance(next(iter(known.values())), dict):
        raise ConfigError(
            f"--cluster {path}: expected `jobqueue:` with the options of one of {', '.join(BATCH_SYSTEMS)}, as dask-jobqueue "
            "reads them"
        )
    return next(iter(known.items()))
