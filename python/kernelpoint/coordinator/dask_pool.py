"""Dask workers that run tasks: on this machine, as jobs of a batch system, or at a running scheduler."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from kernelpoint import __version__
from kernelpoint.coordinator.batch_systems import (
    BATCH_SYSTEMS,
    LOOPBACK,
    SCHEMES,
    batch_cluster,
    close,
    dashboard_options,
    read_cluster_file,
    stop_pages,
)
from kernelpoint.coordinator.task import LINES, Report, Work, end_simulators, simulate
from kernelpoint.errors import ConfigError, KernelPointError, SessionError
from kernelpoint.extras import needs_extra
from kernelpoint.progress import Log, silent
from kernelpoint.session.orders import Chain

with needs_extra("Dask"):
    import dask
    import distributed

# A task may meet many dying workers: batch systems end jobs whenever they like. A launch that ends its simulator by itself is
# counted by the coordinator.
SETTINGS = {
    "distributed.scheduler.allowed-failures": 100,
    "distributed.scheduler.worker-saturation": 1.0,  # what no worker is free for stays ordered by cost
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.daemon": False,
    "distributed.comm.timeouts.connect": "20s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
    # All workers of this machine share one process, in which each would look at its threads 100 times a second, at its clock 50
    # times, and at the machine's load twice
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
MEMORY_MARGIN = 2.0  # Model: a simulator grows to at most that multiple of what it takes before its first launch
LEAST_MEMORY = 1 << 30  # bytes for a simulator
SECURE = ("tls://", "wss://")
SECONDS_TO_ANSWER = 5.0
HEALTH = "/health"  # of Dask: answers at once, where the dashboard itself is drawn first
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LINES = 5.0, 60.0  # at the number of workers, and about a lack of them


class DaskPool:
    """Pool of Dask workers that simulate chains of launches (session.orders.Chain).

    Args:
        cluster: a Dask cluster, which is closed at the end of the run; or the address of a scheduler, which keeps running.
        workers: number of workers requested.
        awaited: message printed while no worker is connected; empty: none.
        say: function that receives lines for the user.

    Attributes:
        workers: number of tasks that can run at the same time, as Dask reports.
    """

    def __init__(self, cluster: Any, workers: int, awaited: str = "", say: Log = silent) -> None:
        self._cluster = None if isinstance(cluster, str) else cluster
        self._where = cluster if isinstance(cluster, str) else cluster.scheduler_address
        try:
            self._client = distributed.Client(cluster, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(f"--cluster {self._where}: no Dask scheduler answers ({error}); start one there") from None
        except (TypeError, RuntimeError) as error:  # Dask's words where certificates are missing or have to be there
            raise ConfigError(
                f"--cluster {self._where}: {error}; an address with tls:// needs certificates: name them in Dask's "
                "configuration (distributed.comm.tls)"
            ) from None
        self._done = distributed.as_completed(loop=self._client.loop)
        threads = sum(self._client.nthreads().values())
        self.workers = max(workers, threads)
        self._urgency = 0
        self._over = threading.Event()
        self._client.subscribe_topic(LINES, lambda event: say(str(event[1])))
        if awaited:
            watch = partial(report_lack_of_workers, lambda: len(self._client.nthreads()), awaited, say, self._over)
            threading.Thread(target=watch, name="kernelpoint worker watch", daemon=True).start()

    @cached_property
    def dashboard(self) -> str:
        """Address of Dask's dashboard; empty text if it does not answer."""
        return answering_dashboard(self._cluster, self._client)

    def begin(self, work: Work, chain: Chain) -> Any:
        """Submit a chain and return a handle of the task. Workers begin chains in the order of submission."""
        self._urgency -= 1
        with self._watched():
            future = self._client.submit(
                simulate, work, chain, priority=self._urgency, pure=False, key=f"simulate-{os.urandom(8).hex()}"
            )
            self._done.add(future)
        return future

    def next_report(self, seconds: float | None = None) -> tuple[Any, Report] | None:
        """Wait at most `seconds` (None: no limit) until a chain of launches ends; returns its handle and its report, or None.

        Raises:
            SessionError: the scheduler, or too many workers, have ended.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds
        with self._watched():
            while not self._done.has_ready() and not self._done.is_empty():
                if (seconds_left := end - time.monotonic()) <= 0.0:
                    return None
                with self._done.thread_condition:  # as its own waiting does
                    self._done.thread_condition.wait(min(0.1, seconds_left))
            future = next(self._done)
            return future, future.result()

    def map(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """Apply a function to each piece of work on the workers. Results have the order of the pieces.

        Raises:
            SessionError: the scheduler or too many workers have ended, or a worker has another version of KernelPoint.
            KernelPointError: an error that the function raised.
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
        """Stop simulators and workers. A Dask scheduler that the user started keeps running."""
        self._over.set()
        if self._client.status == "running":
            with contextlib.suppress(Exception):  # what waits is not begun when the simulators are gone
                self._client.cancel(list(self._done.futures))
                self._client.run(end_simulators)
        end_simulators()
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        if self._cluster is not None:
            close(self._cluster)

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


def report_lack_of_workers(count: Callable[[], int], awaited: str, say: Log, over: threading.Event) -> None:
    """Print a message while no worker is connected: after SECONDS_BETWEEN_LOOKS seconds, then every SECONDS_BETWEEN_LINES.

    Args:
        count: function that returns the number of connected workers.
        awaited: text that says where workers are expected from.
        say: function that receives the message.
        over: event that ends the messages.
    """
    begun, lines = time.monotonic(), 0
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        workers = -1
        with contextlib.suppress(Exception):  # the scheduler is lost, which an error says where a task is waited for
            workers = count()
        waited = time.monotonic() - begun
        if workers > 0 and lines:
            say(f"{workers} workers are there")
        if workers > 0:
            begun, lines = time.monotonic(), 0
        elif workers == 0 and waited >= lines * SECONDS_BETWEEN_LINES:
            say(f"no worker is there since {waited:.0f} s: {awaited}")
            lines += 1


def _checked(kernelpoint: str, function: Callable[[Any], Any], piece: Any) -> Any:
    """Run a function if the worker's version equals the coordinator's."""
    if kernelpoint != __version__:
        node = socket.gethostname()
        raise SessionError(
            f"{node}: this worker has KernelPoint {__version__}, the machine that made the plan has {kernelpoint}; "
            "install the same version on both"
        )
    return function(piece)


def open_pool(workers: int | None, cluster: str | None, memory: int, say: Log) -> DaskPool:
    """Start workers on this machine or on a batch system, or connect to the workers of a running Dask scheduler.

    Args:
        workers: number of workers; None: as many as cores and memory allow, or as the scheduler has.
        cluster: None for this machine; a configuration file of dask-jobqueue; or the address of a scheduler.
        memory: bytes of memory that a simulator needs before its first launch.
        say: function that receives lines for the user.

    Raises:
        ConfigError: the number or the cluster is not possible; the message names what is.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set(SETTINGS)
    if cluster is None:
        import psutil  # a dependency of distributed

        each = max(LEAST_MEMORY, int(MEMORY_MARGIN * memory))
        fitting = max(1, min(len(os.sched_getaffinity(0)), int(psutil.virtual_memory().available // each)))
        pool = DaskPool(_local(workers or fitting), 1, say=say)
    elif cluster.startswith(SCHEMES):
        if warning := insecure_scheduler(cluster):
            say(warning)
        pool = DaskPool(cluster, workers or 1, f"start some, e.g. dask worker {cluster}", say)
    else:
        program = BATCH_SYSTEMS[read_cluster_file(cluster)[0]][1]
        if workers is None:
            raise ConfigError(f"--cluster {cluster}: the number of workers to start by {program} is missing; give --workers N")
        jobs = f"{workers} were asked for; {program} shows their jobs"
        pool = DaskPool(batch_cluster(cluster, workers, say), workers, jobs, say)
    dashboard = f"; Dask's dashboard: {pool.dashboard}" if pool.dashboard else ""
    say(f"{pool.workers} worker{'' if pool.workers == 1 else 's'}{dashboard}")
    if dashboard:
        say(
            "warning: Dask's dashboard asks for no password and checks no Host header: whoever reaches its port, or makes a "
            "browser of this machine reach it, reads names of tasks, times and logs"
        )
    return pool


def _local(workers: int) -> Any:
    """Workers of this machine. They are threads of the coordinator: the work is done by the simulators that each one starts."""
    pages = dashboard_options()
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        memory_limit=0,
        protocol="inproc://",
        dashboard_address=pages["dashboard_address"],
        worker_dashboard_address=LOOPBACK,
        silence_logs=logging.CRITICAL,
    )
    stop_pages(*cluster.workers.values())
    if not pages["dashboard"]:
        stop_pages(cluster.scheduler)
    return cluster


# ---- who listens, and who is answered ---------------------------------------------------------------------------------


def insecure_scheduler(address: str) -> str:
    """Warning text for a scheduler without encryption; empty text if connections are encrypted.

    >>> insecure_scheduler("tls://10.0.0.1:8786")
    ''
    >>> insecure_scheduler("tcp://10.0.0.1:8786").partition(":")[0]
    'warning'
    """
    if address.startswith(SECURE):
        return ""
    return (
        f"warning: {address} has no encryption and no password: everybody who reaches it can run programs as you; "
        "use a scheduler with certificates (tls://)"
    )


def answering_dashboard(cluster: Any, client: Any) -> str:
    """Address of Dask's dashboard; empty text if it does not answer.

    Args:
        cluster: a Dask cluster whose scheduler runs in this process, or None.
        client: Dask client that is connected to the scheduler.
    """
    if cluster is None:
        link = str(client.dashboard_link)
    elif dashboard_options()["dashboard"]:
        server = cluster.scheduler.http_server
        link = f"http://{server.address}:{server.port}/status"
    else:
        return ""
    return link if _answers(link) else ""


def _answers(link: str) -> bool:
    """True if a server of Dask's pages is found at an address."""
    page = urlsplit(link)
    if page.hostname is None:
        return False
    connection = HTTPConnection(page.hostname, page.port, timeout=SECONDS_TO_ANSWER)
    with contextlib.closing(connection):
        try:
            connection.request("GET", HEALTH)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException, ValueError):
            return False
