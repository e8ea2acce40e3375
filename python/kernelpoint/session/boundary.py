"""The door that the C++ embedding knocks at: opens sessions, nothing more. Called with the types of kernelpoint/abi.h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelpoint.config import Config, load_config
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.journal import Journal, read_first_record
from kernelpoint.session.journal_fields import check_records
from kernelpoint.session.online_run import is_online
from kernelpoint.session.opening import prepare
from kernelpoint.session.resume import check_same_run, replay
from kernelpoint.session.session import Session

if TYPE_CHECKING:
    from kernelpoint.session.online import OnlineSession


def open(config_path: str, info: Mapping[str, Any], log: Callable[[str], None]) -> Session | OnlineSession:
    """Open a run, or take one over from its journal; see kp_open.

    Raises:
        KernelPointError: of the kind that names what is refused; nothing was started and no journal was touched but to read.
    """
    config, host = load_config(config_path), HostInfo.from_mapping(info)
    if is_online(config, host):
        return _open_online(config, host, log)
    run = prepare(config, host, log, _plan_of_journal(config))
    journal = Journal(config.journal, resume=config.resume == "auto")
    try:
        return _begin(Session(run, journal, log))
    except BaseException:
        journal.close()
        raise


def _open_online(config: Config, host: HostInfo, log: Callable[[str], None]) -> OnlineSession:
    from kernelpoint.session.online_resume import open_online  # needs the native reader, which other runs may not

    journal = Journal(config.journal, resume=config.resume == "auto")
    try:
        return open_online(config, host, journal, log)
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
    check_records(records, str(session.journal.path))
    check_same_run(records[0], session.run.record())
    replay(session, records)
    return session
