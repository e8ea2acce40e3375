"""`kernelpoint run`: one run of a simulator, spread over processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernelpoint import __version__
from kernelpoint.config import Config, load_config
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.simulator import SimulatorEnded, SimulatorProcess
from kernelpoint.coordinator.task import COMPARED, Work, prepare_folder, read_all, remove_folder
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.progress import Log
from kernelpoint.session.boundary import JOURNAL_ENV, TIME_ENV, open_run
from kernelpoint.session.session import Session
from kernelpoint.session.worker import Hello
from kernelpoint.workload.host_info import HostInfo

if TYPE_CHECKING:
    from kernelpoint.coordinator.dask_pool import DaskPool

OPTION = "kernel_sampling"
START_ATTEMPTS = 5  # of a simulator that something else ends, as memory that runs out does

OpenPool = Callable[[int], "DaskPool"]  # given the bytes of memory that a simulator takes before its first launch


def run(command: Sequence[str], config_path: str | None, open_pool: OpenPool, say: Log) -> int:
    """Make a sampled run on many simulator processes. At the end one simulator prints the totals.

    Args:
        command: command line of the simulator.
        config_path: path of the configuration, if the command does not name it.
        open_pool: function that starts the workers; called once the run is accepted.
        say: function that receives lines for the user.

    Returns:
        Exit status of the simulator that prints the totals.

    Raises:
        KernelPointError: the run is refused or cannot continue. Results so far are kept.
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
    # The simulator prints the totals in its own format: it resumes a copy of the journal, which has every result.
    with tempfile.TemporaryDirectory(prefix="kernelpoint-") as folder:
        environment = {**os.environ, JOURNAL_ENV: shutil.copy(session.journal.path, folder)}
        if session.saved.times is not None:
            environment[TIME_ENV] = " ".join(map(str, session.saved.times))
        return subprocess.run(list(command), env=environment, check=False).returncode


class Workers:
    """Pool of workers that is started at its first use: to make the plan, or else to simulate the first launches."""

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
        """Apply a function to each piece of work on the workers. Results have the order of the pieces."""
        return self.pool.map(function, pieces)

    def close(self) -> None:
        """Stop the workers, if any were started."""
        if "pool" in self.__dict__:
            self.pool.close()


def run_one(command: Sequence[str], config: Config, hello: Hello, workers: Workers, say: Log) -> Session:
    """Plan one run and make it with the workers.

    Args:
        command: command line of the simulator.
        config: configuration of the run.
        hello: message with which the simulator described itself.
        workers: pool of workers.
        say: function that receives lines for the user.

    Raises:
        KernelPointError: the run is refused or cannot continue. Results so far are kept.
    """
    session = open_run(config, HostInfo.from_mapping(hello.host), say, workers, command)
    journal = session.journal.path
    try:
        outcomes = prepare_folder(journal)
        work = Work(
            run=f"{outcomes.name}-{os.getpid()}",
            command=tuple(command),
            folder=os.getcwd(),
            outcomes=str(outcomes),
            host={key: hello.host[key] for key in COMPARED},
            kernelpoint=__version__,
        )
        session.recorder.counts_results = False
        simulations = Simulations(workers.pool, work, read_all(outcomes), session.planned, say)
        begun = time.monotonic()
        session.drive(simulations.outcome)
        say(f"kernelpoint: {_account(simulations, workers.workers, time.monotonic() - begun)}")
    finally:
        session.journal.close()
    remove_folder(journal)
    return session


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


# ---- the simulator before the run -------------------------------------------------------------------------------------


def with_option(command: Sequence[str], config: str | None) -> tuple[list[str], str]:
    """Command of a simulator with KernelPoint's option, and path of the configuration.

    The option is added if the command lacks it, with one dash or two as the command's other options.

    Raises:
        ConfigError: the option is missing and `config` is None, it occurs twice, or the program does not exist.

    >>> with_option(["true", "-trace", "list.g"], "kp.yaml")
    (['true', '-trace', 'list.g', '-kernel_sampling', 'kp.yaml'], 'kp.yaml')
    >>> with_option(["true", "--x=1"], "kp.yaml")[0]
    ['true', '--x=1', '--kernel_sampling=kp.yaml']
    >>> with_option(["true", "-kernel_sampling", "own.yaml"], None)[1]
    'own.yaml'
    """
    if not command:
        raise ConfigError("no simulator is named; give its command after --, e.g. -- SIMULATOR -trace LIST ...")
    if shutil.which(command[0]) is None:
        raise ConfigError(f"{command[0]}: no such program, or it cannot be executed; give the simulator's path")
    named = configuration_in(command)
    if named is not None and config is not None:
        raise ConfigError(f"-c {config}: the simulator's command already names the configuration {named}; give one of them")
    if named is not None:
        return list(command), named
    if config is None:
        raise ConfigError(f"no configuration is named; allowed: -c FILE, or -{OPTION} FILE in the simulator's command")
    takes_equals = any(part.startswith("--") and "=" in part for part in command[1:])
    added = [f"--{OPTION}={config}"] if takes_equals else [f"-{OPTION}", config]
    return [*command, *added], config


def configuration_in(command: Sequence[str]) -> str | None:
    """Path of KernelPoint's configuration in a simulator's command line; None if the command lacks KernelPoint's option."""
    for position, part in enumerate(command):
        if part.lstrip("-") == OPTION and part.startswith("-"):
            return command[position + 1] if position + 1 < len(command) else ""
        if part.lstrip("-").startswith(f"{OPTION}=") and part.startswith("-"):
            return part.split("=", 1)[1]
    return None


def ask(command: Sequence[str], say: Log) -> tuple[Hello, int]:
    """Start the simulator once to get its description, and the memory in bytes that it uses before its first launch.

    If the simulator is killed from outside, it is started again, at most START_ATTEMPTS times.

    Args:
        command: command line of the simulator.
        say: function that receives lines for the user.

    Raises:
        HostError: the simulator ended without calling KernelPoint; the message quotes its output.
    """
    for attempts_left in reversed(range(START_ATTEMPTS)):
        try:
            simulator = SimulatorProcess(command, os.getcwd())
            break
        except SimulatorEnded as error:
            if not (error.was_killed and attempts_left):
                raise HostError(f"{command[0]}: {error} before it called KernelPoint; {error.output}") from None
            say(f"kernelpoint: {error} before it called KernelPoint; it is started again")
        except OSError as error:
            raise ConfigError(f"cannot start {command[0]}: {error.strerror}") from None
    memory = _peak_memory(simulator.hello.pid)
    simulator.end()
    return simulator.hello, memory


def check(config: Config, hello: Hello) -> None:
    """Raise an error for a run that cannot be distributed over several simulator processes.

    Raises:
        ConfigError: the coordinator and the simulator have different versions of KernelPoint, the result of a launch depends on
            earlier launches, or the launches are not known before the run.
    """
    host = HostInfo.from_mapping(hello.host)
    if hello.kernelpoint != __version__:
        raise ConfigError(
            f"the simulator loads KernelPoint {hello.kernelpoint}, but `kernelpoint run` is version {__version__}; "
            "install the same version for both"
        )
    if config.policy.name == "all":
        raise ConfigError(
            "policy: got 'all'; `kernelpoint run` cannot divide a full run, in which each launch starts from the "
            "simulator's state after the launch before it: start the simulator itself"
        )
    if config.clusters == "online" or None in host.list_paths:
        raise ConfigError(
            "`kernelpoint run` needs the list of launches before the run: set `clusters: auto`, and name a trace "
            "list on disk in the simulator's command"
        )
    if host.process_count > 1 or host.concurrent:
        raise ConfigError(
            "`kernelpoint run`: this simulator runs several applications or launches at the same time; allowed: one "
            "application, one launch after another"
        )
    if host.executes:
        raise ConfigError(
            f"{host.simulator} executes even skipped launches (functionally), so all launches must run in one "
            "process, and `kernelpoint run` cannot divide them: start the simulator itself"
        )
    if not host.can_replay:
        raise ConfigError(
            f"{host.simulator} cannot restore the state (caches) that earlier launches leave, so `kernelpoint run` "
            "cannot simulate launches separately: start the simulator itself"
        )


def _peak_memory(pid: int) -> int:
    """Bytes that a process has taken at most; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/status") as file:
            peaks = [line.split()[1] for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(peaks[0]) << 10 if peaks else 0
