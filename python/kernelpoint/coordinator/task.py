"""A task of the engine: one batch of launches, simulated on whichever machine it lands on.

Simulators stay warm: each thread of a worker keeps the one it started last, and gives it every batch of the same run.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelpoint import __version__
from kernelpoint.coordinator.outcomes import Known, OutcomeFile
from kernelpoint.coordinator.simulator import Simulator, SimulatorEnded
from kernelpoint.session.worker_protocol import Chain, Hello

COMPARED = ("simulator", "version", "config_hash")  # of the host: what all machines have in common


@dataclass(frozen=True)
class Work:
    """Everything that the batches of a run have in common.

    Attributes:
        run: names the run.
        command: of the simulator.
        folder: its working directory.
        outcomes: the folder for them.
        host: description of the coordinator's simulator (COMPARED).
        kernelpoint: the coordinator's version.
    """

    run: str
    command: tuple[str, ...]
    folder: str
    outcomes: str
    host: Mapping[str, str]
    kernelpoint: str


@dataclass(frozen=True)
class Batch:
    """Chains that one simulator simulates one after the other. name: the same for the same chains."""

    name: str
    chains: tuple[Chain, ...]


@dataclass(frozen=True)
class Report:
    """End of a batch.

    Attributes:
        outcomes: of the launches that were finished.
        ended: reason for which the simulator ended in the next launch, or None.
        was_killed: True if an external signal ended it.
        tail: last lines of its output.
        refusal: reason for which that machine cannot simulate, or None.
        starts, start_seconds: simulators started for it, and the time of these starts.
        node: the machine.
    """

    outcomes: Known
    ended: str | None = None
    was_killed: bool = False
    tail: tuple[str, ...] = ()
    refusal: str | None = None
    starts: int = 0
    start_seconds: float = 0.0
    node: str = ""


class Refused(Exception):
    """Nothing can be simulated on this machine."""


def simulate(work: Work, batch: Batch) -> Report:
    """Simulate a batch; chains that a worker before this one has simulated are taken from its file."""
    found: dict[str, Any] = {"outcomes": {}, "node": socket.gethostname()}
    try:
        _simulate(work, batch, found)
    except SimulatorEnded as error:
        _KEPT.pop(threading.get_ident(), None)
        found |= {"ended": error.how, "was_killed": error.was_killed, "tail": error.tail}
    except Refused as error:
        found["refusal"] = str(error)
    except OSError as error:
        found["refusal"] = f"cannot write {error.filename or work.outcomes}: {error.strerror}"
    return Report(**found)


def end_simulators() -> None:
    """End the simulators that this process keeps."""
    while _KEPT:
        with contextlib.suppress(KeyError):
            _KEPT.popitem()[1][1].end()


_KEPT: dict[int, tuple[str, Simulator]] = {}  # by thread: the run, and the simulator that works for it


def _simulate(work: Work, batch: Batch, found: dict[str, Any]) -> None:
    """Fill in a report's fields, as far as the batch gets."""
    outcomes: Known = found["outcomes"]
    with contextlib.closing(OutcomeFile(Path(work.outcomes), batch.name)) as file:
        for chain in batch.chains:
            if chain in file.known:
                outcomes[chain] = file.known[chain]
                continue
            simulator = _kept(work) or _started(work, found)
            outcomes[chain] = simulator.simulate(chain)
            file.add(chain, outcomes[chain])


def _kept(work: Work) -> Simulator | None:
    """The warm simulator of this thread; one of another run is ended."""
    run, simulator = _KEPT.get(threading.get_ident(), ("", None))
    if simulator is not None and run != work.run:
        del _KEPT[threading.get_ident()]
        simulator.end()
        return None
    return simulator


def _started(work: Work, found: dict[str, Any]) -> Simulator:
    """A fresh simulator, which is the coordinator's own to the hash of its configuration."""
    if work.kernelpoint != __version__:
        raise Refused(f"KernelPoint {__version__} is installed here, {work.kernelpoint} where the run was started")
    try:
        simulator = Simulator(work.command, work.folder)
    except OSError as error:
        raise Refused(f"cannot start {work.command[0]} in {work.folder}: {error.strerror}") from None
    except SimulatorEnded as error:
        if error.was_killed:
            raise
        raise Refused(f"{error} before it could simulate; {said(error)}") from None
    if complaint := _differing(work, simulator.hello):
        simulator.end()
        raise Refused(complaint)
    _KEPT[threading.get_ident()] = work.run, simulator
    found["starts"] = found.get("starts", 0) + 1
    found["start_seconds"] = found.get("start_seconds", 0.0) + simulator.seconds
    return simulator


def said(error: SimulatorEnded) -> str:
    """Part of a message: the last lines of a simulator's output."""
    return "its output ended:\n  " + "\n  ".join(error.tail) if error.tail else "it printed nothing"


def _differing(work: Work, hello: Hello) -> str:
    """Sentence on a simulator that is not the coordinator's; empty where it is."""
    if hello.kernelpoint != work.kernelpoint:
        return f"the simulator loads KernelPoint {hello.kernelpoint}, the run was started by {work.kernelpoint}"
    found = [
        f"{key} is {hello.host.get(key)!r}, where the run was started {work.host.get(key)!r}"
        for key in COMPARED
        if hello.host.get(key) != work.host.get(key)
    ]
    return f"another build or configuration of the simulator: {'; '.join(found)}" if found else ""
