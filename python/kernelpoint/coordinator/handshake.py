"""The simulator of a run before it begins: its command, its description, and whether its launches can be spread."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.coordinator.simulator import Simulator, SimulatorEnded
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.progress import Log
from kernelpoint.session.worker import Hello
from kernelpoint.workload.host_info import HostInfo

OPTION = "kernel_sampling"
START_ATTEMPTS = 5  # of a simulator that something else ends, as memory that runs out does


def with_option(command: Sequence[str], config: str | None) -> tuple[list[str], str]:
    """Add KernelPoint's option to a simulator's command if it is missing; returns the command and the configuration's path.

    The option is added where the command lacks it, in the form that the command's other options have.

    Raises:
        ConfigError: the option is missing, or named twice, or there is no such program.

    >>> with_option(["true", "-trace", "list.g"], "kp.yaml")
    (['true', '-trace', 'list.g', '-kernel_sampling', 'kp.yaml'], 'kp.yaml')
    >>> with_option(["true", "--x=1"], "kp.yaml")[0]
    ['true', '--x=1', '--kernel_sampling=kp.yaml']
    >>> with_option(["true", "-kernel_sampling", "own.yaml"], None)[1]
    'own.yaml'
    """
    if not command:
        raise ConfigError("no simulator is named; give its command after --, e.g. -- SIMULATOR -trace LIST ...")
    check_program(command[0])
    named = configuration_in(command)
    if named is not None and config is not None:
        raise ConfigError(f"-c {config}: the command names the configuration {named} already; allowed: one of them")
    if named is not None:
        return list(command), named
    if config is None:
        raise ConfigError(f"no configuration is named; allowed: -c FILE, or -{OPTION} FILE in the simulator's command")
    takes_equals = any(part.startswith("--") and "=" in part for part in command[1:])
    added = [f"--{OPTION}={config}"] if takes_equals else [f"-{OPTION}", config]
    return [*command, *added], config


def configuration_in(command: Sequence[str]) -> str | None:
    """Path of the configuration in a simulator's command; None if the command has no such option."""
    for position, part in enumerate(command):
        if part.lstrip("-") == OPTION and part.startswith("-"):
            return command[position + 1] if position + 1 < len(command) else ""
        if part.lstrip("-").startswith(f"{OPTION}=") and part.startswith("-"):
            return part.split("=", 1)[1]
    return None


def check_program(name: str) -> None:
    """Raise an error if a program cannot be started on this machine.

    Raises:
        ConfigError: there is none of that name, or it cannot be executed.
    """
    if shutil.which(name) is None:
        raise ConfigError(f"{name}: no such program, or it cannot be executed; give the simulator's path")


def ask(command: Sequence[str], say: Log) -> tuple[Hello, int]:
    """Start the simulator once to get its description of itself, and the memory in bytes that it takes before its first
    launch.

    A simulator that is killed from outside meanwhile is started again, START_ATTEMPTS times at most.

    Args:
        command: of the simulator.
        say: takes one line of text for the user.

    Raises:
        HostError: the command does not reach KernelPoint; with the simulator's own words.
    """
    for attempts_left in reversed(range(START_ATTEMPTS)):
        try:
            simulator = Simulator(command, os.getcwd())
            break
        except SimulatorEnded as error:
            if not (error.was_killed and attempts_left):
                raise HostError(f"{error} before it could simulate; {error.output}") from None
            say(f"kernelpoint: {error} before it could simulate; it is started again")
        except OSError as error:
            raise ConfigError(f"cannot start {command[0]}: {error.strerror}") from None
    memory = _peak_memory(simulator.pid)
    simulator.end()
    return simulator.hello, memory


def host_of(hello: Hello) -> HostInfo:
    """Convert the description that a simulator sent into a HostInfo."""
    return HostInfo.from_mapping(hello.host)


def check(config: Config, hello: Hello) -> None:
    """Refuse a run that cannot be distributed: its launches depend on each other, or are not known before the run.

    Raises:
        ConfigError: versions of KernelPoint differ, launches depend on each other, or they are not known.
    """
    host = host_of(hello)
    if hello.kernelpoint != __version__:
        raise ConfigError(
            f"the simulator loads KernelPoint {hello.kernelpoint}, this is {__version__}; allowed: the same"
        )
    if config.policy.name == "all":
        raise ConfigError(
            "policy: got 'all'; a full run keeps the simulator's state from launch to launch, so it is one process: start the "
            "simulator itself"
        )
    if config.clusters == "online" or None in host.list_paths:
        raise ConfigError("`kernelpoint run` needs the launches beforehand: `clusters: auto`, and a trace list on disk")
    if host.process_count > 1 or host.concurrent:
        raise ConfigError(
            "this simulator runs launches side by side; allowed: one application, one launch after another"
        )
    if host.executes:
        raise ConfigError(
            f"{host.simulator} runs every launch that is not simulated functionally, so its launches stay in one process; "
            "start the simulator itself"
        )
    if not host.can_replay:
        raise ConfigError(
            f"{host.simulator} does not restore the state that earlier launches leave, so its launches depend on each other; "
            "start the simulator itself"
        )


def _peak_memory(pid: int) -> int:
    """Bytes that a process has taken at most; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/status") as file:
            peaks = [line.split()[1] for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(peaks[0]) << 10 if peaks else 0
