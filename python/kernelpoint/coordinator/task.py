"""A task of the pool: one chain of launches, simulated on whichever machine it lands on.

Simulators stay warm: each thread of a worker keeps the one it started last, and gives it every chain of the same run.

Outcomes lie on disk until they are in the journal, so they survive a crash of the coordinator. Launches end in any order and
the journal has them in its own, so until then they lie in a folder beside it: one file for each worker, one sealed line
(journal/lines.py) for each chain. Lines that are torn or damaged count as not simulated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelpoint import __version__
from kernelpoint.coordinator.simulator import SimulatorEnded, SimulatorProcess
from kernelpoint.errors import JournalError
from kernelpoint.files import open_regular, open_to_append
from kernelpoint.journal import Outcome
from kernelpoint.journal.lines import seal, unseal
from kernelpoint.session.orders import Chain
from kernelpoint.session.worker import Hello, decode_outcomes, encode_outcomes

ChainOutcomes = dict[Chain, tuple[Outcome, ...]]
LINES = "kernelpoint"  # topic of Dask's events
COMPARED = ("simulator", "version", "config_hash")  # of the host: what all machines have in common


@dataclass(frozen=True)
class Work:
    """Settings that all tasks of a distributed run share.

    Attributes:
        run: identifier of the run.
        command: command line of the simulator.
        folder: working directory of the simulator.
        outcomes: folder into which workers write results.
        host: description of the coordinator's simulator. A worker's simulator must have equal values in the fields COMPARED.
        kernelpoint: version of KernelPoint in the coordinator.
    """

    run: str
    command: tuple[str, ...]
    folder: str
    outcomes: str
    host: Mapping[str, str]
    kernelpoint: str


@dataclass
class Report:
    """Report of a worker on a chain (session.orders.Chain).

    Attributes:
        outcomes: results of the launches; empty if the simulator ended, or could not start.
        ended: reason why the simulator ended, or None.
        was_killed: True if a signal from outside ended the simulator.
        tail: last lines of the simulator's output.
        refusal: reason why this machine cannot simulate the run, or None.
        starts: number of simulators started for this chain.
        start_seconds: seconds that these starts took.
        node: name of the machine.
    """

    outcomes: tuple[Outcome, ...] = ()
    ended: str | None = None
    was_killed: bool = False
    tail: tuple[str, ...] = ()
    refusal: str | None = None
    starts: int = 0
    start_seconds: float = 0.0
    node: str = ""


class Refused(Exception):
    """Error: this machine cannot simulate the run; the message has the reason."""


def simulate(work: Work, chain: Chain) -> Report:
    """Simulate a chain in this worker process, and return the report."""
    report = Report(node=socket.gethostname())
    try:
        outcomes = _simulator(work, report).simulate(chain)
        keep(Path(work.outcomes), chain, outcomes)
        report.outcomes = outcomes
    except SimulatorEnded as error:
        _KEPT.pop(threading.get_ident(), None)
        report.ended, report.was_killed, report.tail = error.how, error.was_killed, error.tail
    except Refused as error:
        report.refusal = str(error)
    except OSError as error:
        report.refusal = f"cannot write {error.filename or work.outcomes}: {error.strerror}"
    return report


def end_simulators() -> None:
    """End all simulators that this worker process keeps running."""
    while _KEPT:
        with contextlib.suppress(KeyError):
            _KEPT.popitem()[1][1].end()


_KEPT: dict[int, tuple[str, SimulatorProcess]] = {}  # by thread: the run, and the simulator that works for it


def _simulator(work: Work, report: Report) -> SimulatorProcess:
    """The warm simulator of this thread, or a fresh one: the coordinator's own to the hash of its configuration. One of another
    run is ended.
    """
    run, warm = _KEPT.pop(threading.get_ident(), ("", None))
    if warm is not None and run == work.run:
        _KEPT[threading.get_ident()] = run, warm
        return warm
    if warm is not None:
        warm.end()
    if work.kernelpoint != __version__:
        raise Refused(f"this worker has KernelPoint {__version__}; install {work.kernelpoint}, with which the run began")
    try:
        simulator = SimulatorProcess(work.command, work.folder, say=_say_to_coordinator)
    except OSError as error:
        raise Refused(f"cannot start the simulator {work.command[0]} in {work.folder}: {error.strerror}") from None
    except SimulatorEnded as error:
        if error.was_killed:
            raise
        raise Refused(f"{work.command[0]}: {error} before it called KernelPoint; {error.output}") from None
    if complaint := _differing(work, simulator.hello):
        simulator.end()
        raise Refused(complaint)
    _KEPT[threading.get_ident()] = work.run, simulator
    report.starts += 1
    report.start_seconds += simulator.seconds
    return simulator


def _say_to_coordinator(line: str) -> None:
    """Send a line to the coordinator while a task goes on; nothing where no Dask worker runs it."""
    from distributed import get_worker

    with contextlib.suppress(ValueError):
        get_worker().log_event(LINES, f"{socket.gethostname()}: {line}")


def _differing(work: Work, hello: Hello) -> str:
    """Sentence on how a worker's simulator differs from the coordinator's; empty if it does not."""
    if hello.kernelpoint != work.kernelpoint:
        return f"the simulator loads KernelPoint {hello.kernelpoint}, the run was started by {work.kernelpoint}"
    times = [
        f"{key} is {hello.host.get(key)!r}, where the run was started {work.host.get(key)!r}"
        for key in COMPARED
        if hello.host.get(key) != work.host.get(key)
    ]
    return f"another build or configuration of the simulator: {'; '.join(times)}" if times else ""


# ---- outcomes on disk -------------------------------------------------------------------------------------------------


def folder_of(journal: str | Path) -> Path:
    """Path of the folder beside a journal in which workers store results until the journal contains them.

    >>> folder_of("runs/run.kpjournal").as_posix()
    'runs/run.kpjournal.outcomes'
    """
    return Path(f"{journal}.outcomes")


def written(journal: str | Path) -> float:
    """Time, in seconds since 1970, of the last write to a journal or to its workers' results."""
    latest = 0.0
    for path in (Path(journal), *folder_of(journal).glob("*/*.jsonl")):
        with contextlib.suppress(FileNotFoundError):  # the run has ended since
            latest = max(latest, path.stat().st_mtime)
    return latest


def prepare_folder(journal: str | Path) -> Path:
    """Create the folder in which the workers of this run store results. Files of another run in it are removed.

    Raises:
        JournalError: the folder cannot be made.
    """
    path, folder = Path(journal), folder_of(journal).absolute()
    try:
        with open_regular(path) as file:
            run = hashlib.blake2b(file.readline(), digest_size=16).hexdigest()
        run_folder = folder / run
        if folder.is_dir() and not run_folder.is_dir():
            shutil.rmtree(folder)
        run_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot write results into the folder {folder}: {error.strerror}") from None
    return run_folder


def remove_folder(journal: str | Path) -> None:
    """Remove the folder in which workers store results, once the journal contains all of them."""
    shutil.rmtree(folder_of(journal), ignore_errors=True)


def read_all(folder: Path) -> ChainOutcomes:
    """Results of all chains that workers have stored completely in a folder."""
    stored: ChainOutcomes = {}
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(OSError), open_regular(path) as file:
            for content in filter(None, map(unseal, file.read().split(b"\n"))):
                with contextlib.suppress(ValueError):
                    chain, outcomes = decode_outcomes(content)
                    stored[chain] = outcomes
    return stored


def keep(folder: Path, chain: Chain, outcomes: Sequence[Outcome]) -> None:
    """Append the results of a chain to this worker's file. Failed chains are not stored, so they are tried again.

    Raises:
        OSError: the file cannot be written.
    """
    if any(outcome.reason is not None for outcome in outcomes):
        return
    path = folder / f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}.jsonl"
    line = b"\n" + seal(encode_outcomes(chain, outcomes))  # begins a line also after one that is torn
    with open_to_append(path) as file:
        if file.write(line) != len(line):
            raise OSError(28, os.strerror(28))
        os.fdatasync(file.fileno())
