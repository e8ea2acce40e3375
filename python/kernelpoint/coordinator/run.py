"""`kernelpoint run`: one run of a simulator, spread over processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelpoint import __version__
from kernelpoint.config import Config, load_config
from kernelpoint.coordinator.coordinator import coordinate
from kernelpoint.coordinator.handshake import ask, check, host_of, with_option
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.task import COMPARED, Work, prepare_folder, read_all, remove_folder
from kernelpoint.progress import Log
from kernelpoint.session.boundary import JOURNAL_ENV, TIME_ENV, open_run
from kernelpoint.session.session import Session
from kernelpoint.session.time_saved import TimeSaved
from kernelpoint.session.worker import Hello

if TYPE_CHECKING:
    from kernelpoint.coordinator.dask_pool import DaskPool

OpenPool = Callable[[int], "DaskPool"]  # given the bytes of memory that a simulator takes before its first launch


def run(command: Sequence[str], config_path: str | None, open_pool: OpenPool, say: Log) -> int:
    """Run to the end on many simulators; then one simulator prints the totals of the run.

    Args:
        command: of the simulator.
        config_path: see with_option.
        open_pool: starts the workers, once it is known that the run can begin.
        say: takes one line of text for the user.

    Returns:
        The exit status of that last simulator.

    Raises:
        KernelPointError: the run is refused or cannot go on; results so far are kept.
    """
    command, config_path = with_option(command, config_path)
    config = load_config(config_path)
    hello, memory = ask(command, say)
    check(config, hello)
    workers = Workers(lambda: open_pool(memory))
    try:
        session = run_one(command, config, hello, workers, say)
    finally:
        workers.close()
    return print_end(command, session.journal.path, session.saved)


class Workers:
    """Workers that are started when they are first needed: for the plan, or else for the first pass."""

    def __init__(self, open_pool: Callable[[], DaskPool]) -> None:
        self._open = open_pool

    @cached_property
    def pool(self) -> DaskPool:
        """Start the workers unless they run already."""
        return self._open()

    @property
    def workers(self) -> int:
        """Number of pieces of work that run at the same time."""
        return self.pool.workers

    def map(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """Apply a function to each piece of work; results in the order of the pieces (pool.Pool)."""
        return self.pool.map(function, pieces)

    def close(self) -> None:
        """Stop the workers, if any were started."""
        if "pool" in self.__dict__:
            self.pool.close()


def run_one(command: Sequence[str], config: Config, hello: Hello, workers: Workers, say: Log) -> Session:
    """Plan one run and drive it to its end on the workers.

    Raises:
        KernelPointError: as run.
    """
    session = open_run(config, host_of(hello), say, workers, command)
    try:
        work_through(session, workers.pool, command, hello, say)
    finally:
        session.journal.close()
    remove_folder(session.journal.path)
    return session


def work_through(session: Session, pool: DaskPool, command: Sequence[str], hello: Hello, say: Log) -> None:
    """Drive a session to its end on the workers."""
    journal = session.journal.path
    outcomes = prepare_folder(journal)
    work = Work(
        run=f"{outcomes.name}-{os.getpid()}",
        command=tuple(command),
        folder=os.getcwd(),
        outcomes=str(outcomes),
        host={key: hello.host[key] for key in COMPARED},
        kernelpoint=__version__,
    )
    session.recorder.progress.tells_results = False
    simulations = Simulations(pool, work, read_all(outcomes), say)
    begun = time.monotonic()
    coordinate(session, simulations)
    session.finish()
    say(f"kernelpoint: {_account(simulations, pool.workers, time.monotonic() - begun)}")


def _account(simulations: Simulations, workers: int, wall: float) -> str:
    """Sentence on the workers' time: simulating, starting simulators, waiting."""
    simulated, started = simulations.seconds, simulations.start_seconds
    share, cost = 100 * simulated / (wall * workers), 100 * started / ((simulated + started) or 1.0)
    return (
        f"{wall:,.1f} s on {_counted(workers, 'worker')}: {simulated:,.1f} s of simulation "
        f"({share:.0f} % of the workers' time), "
        f"{_counted(simulations.starts, 'simulator')} started in {started:,.1f} s ({cost:.1f} % of what they did)"
    )


def _counted(count: int, word: str) -> str:
    """A count with its word: "1 worker", "2 workers"."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def print_end(command: Sequence[str], journal: Path, saved: TimeSaved) -> int:
    """Let the simulator print the totals of a finished run under its own names; returns its exit status.

    The simulator resumes a copy of the journal, has nothing left to simulate, and changes nothing. It gets the processor time
    of the launches.
    """
    with tempfile.TemporaryDirectory(prefix="kernelpoint-") as folder:
        environment = {**os.environ, JOURNAL_ENV: shutil.copy(journal, folder)}
        if saved.known is not None:
            environment[TIME_ENV] = " ".join(map(str, saved.known))
        return subprocess.run(list(command), env=environment, check=False).returncode
