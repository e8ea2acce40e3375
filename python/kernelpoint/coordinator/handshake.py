"""Handshake with a simulator before a run: its description, and whether the run can be spread over several of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.coordinator.simulator import Simulator, SimulatorEnded
from kernelpoint.coordinator.task import said
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.worker_protocol import Hello

START_ATTEMPTS = 5  # of a simulator that something else ends, as memory that runs out does


def ask(command: Sequence[str], say: Callable[[str], None]) -> tuple[Hello, int]:
    """Description of the simulator by itself, and the bytes of memory that it takes before its first launch.

    A simulator that is killed from outside meanwhile is started again, START_ATTEMPTS times at most.

    Args:
        command: of the simulator.
        say: takes one line of text for the user.

    Raises:
        HostError: the command does not reach KernelPoint; with the simulator's own words.
    """
    for left in reversed(range(START_ATTEMPTS)):
        try:
            simulator = Simulator(command, os.getcwd())
            break
        except SimulatorEnded as error:
            if not (error.was_killed and left):
                raise HostError(f"{error} before it could simulate; {said(error)}") from None
            say(f"kernelpoint: {error} before it could simulate; it is started again")
        except OSError as error:
            raise ConfigError(f"cannot start {command[0]}: {error.strerror}") from None
    memory = _peak_memory(simulator.pid)
    simulator.end()
    return simulator.hello, memory


def host_of(hello: Hello) -> HostInfo:
    """The simulator as the session knows it."""
    return HostInfo.from_mapping({**hello.host, "residency": tuple(hello.host["residency"])})


def check(config: Config, hello: Hello) -> None:
    """Refuse runs whose launches are not independent of each other, or not known beforehand.

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
    if config.selection is not None and config.inside_kernel != "off":
        raise ConfigError(
            f"inside_kernel: got {config.inside_kernel!r}; `kernelpoint run` over a selection allows: off"
        )
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
            found = [line.split()[1] for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(found[0]) << 10 if found else 0
