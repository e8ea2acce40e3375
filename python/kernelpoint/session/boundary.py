"""The door that the C++ embedding knocks at: opens sessions, nothing more. Called with the types of kernelpoint.h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernelpoint.config import Config, load_config
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.journal import Journal, read_first_record
from kernelpoint.session.opening import prepare
from kernelpoint.session.resume import check_same_run, replay
from kernelpoint.session.session import Session


def open(config_path: str, info: Mapping[str, Any], log: Callable[[str], None]) -> Session:
    """Open a run, or take one over from its journal; see kp_open.

    Raises:
        KernelPointError: of the kind that names what is refused; nothing was started and no journal was touched but to read.
    """
    config = load_config(config_path)
    run = prepare(config, HostInfo.from_mapping(info), log, _plan_of_journal(config))
    journal = Journal(config.journal, resume=config.resume == "auto")
    try:
        return _begin(Session(run, journal, log))
    except BaseException:
        journal.close()
        raise


def _plan_of_journal(config: Config) -> str | None:
    """The plan with which the run to be resumed began; None for a new run."""
    path = Path(config.journal)
    if config.resume == "never" or not path.exists() or not path.stat().st_size:
        return None
    return read_first_record(path).get("plan")


def _begin(session: Session) -> Session:
    records = session.journal.records
    if not records:
        session.begin()
        return session
    check_same_run(records[0], session.run.record())
    replay(session, records)
    return session
