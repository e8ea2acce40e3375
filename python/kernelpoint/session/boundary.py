"""Entry point called by the C++ embedding: opens sessions. Called with the types of kernelpoint/abi.h."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelpoint.errors import SetupError
from kernelpoint.progress import Log, silent

try:
    from kernelpoint.config import Config, load_config
    from kernelpoint.journal import JournalWriter, RunRecord
    from kernelpoint.pool import Pool
    from kernelpoint.session.rehearsal import in_full
    from kernelpoint.session.session import Session
    from kernelpoint.session.setup import may_run_in_full, prepare
    from kernelpoint.workload.host_info import HostInfo
except ModuleNotFoundError as error:  # the simulator runs in a Python of its own
    raise SetupError(
        f"the simulator runs in {sys.executable}, which lacks KernelPoint's package {error.name}; "
        f"`{sys.executable} -m pip install kernelpoint`"
    ) from error

WORKER_PIPES_ENV = "KERNELPOINT_WORKER"  # two file descriptors: chains come from the first, answers go to the second
JOURNAL_ENV = "KERNELPOINT_JOURNAL"  # a journal to go on with instead of the configuration's `journal:`
TIME_ENV = "KERNELPOINT_TIME"  # beside that journal: processor seconds of a full run, and those spent, "720.5 18"

if TYPE_CHECKING:
    from kernelpoint.session.worker import WorkerSession


def open(config_path: str, info: Mapping[str, Any], log: Log) -> Session | WorkerSession:
    """Open a run that a simulator asks for: a new run, or one resumed from its journal (the file of decisions and results). In
    a process that a coordinator started to simulate launches, open a worker session instead.

    Raises:
        KernelPointError: the run is refused. Nothing was started or written.
    """
    config = load_config(config_path)
    if descriptors := os.environ.get(WORKER_PIPES_ENV):
        from kernelpoint.session.worker import WorkerSession  # here, because a run of one process needs none of it

        return WorkerSession(config, info, log, descriptors)
    if journal := os.environ.get(JOURNAL_ENV):
        config = replace(config, journal=journal, resume="auto")
        log = silent  # the coordinator has said it all
    session = open_run(config, HostInfo.from_mapping(info), log, command=command_line())
    session.saved.begun = 0.0  # the simulator's process is the run's, the start of Python included
    if times := os.environ.get(TIME_ENV):
        full, spent = map(float, times.split())
        session.saved.times = full, spent
    return session


def command_line() -> list[str]:
    """Command line of this process; empty if the system does not give it."""
    try:
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words]


def open_run(
    config: Config,
    host: HostInfo,
    log: Log,
    pool: Pool | None = None,
    command: Sequence[str] = (),
) -> Session:
    """Open a run with a configuration: a new run, or one resumed from its journal.

    Args:
        pool: worker processes that read traces and predict; None: this process does so.
        command: command line of the simulator, which the journal records.

    Raises:
        KernelPointError: the run is refused. Nothing was started or written.
    """
    begun = time.process_time()
    journal = JournalWriter(config.journal, resume=config.resume == "auto")
    try:
        first = journal.records[0] if journal.records else None
        begun_with = first.plan if isinstance(first, RunRecord) else None
        setup = replace(prepare(config, host, log, begun_with, pool), command=tuple(command))
        hashes = first.hashes if isinstance(first, RunRecord) else None
        if pool is None and may_run_in_full(config, setup.policy):
            setup = in_full(setup, hashes, log)
        session = Session(setup, journal, log)
        session.saved.begun = begun
    except BaseException:
        journal.close()
        raise
    return session
