"""Entry point called by the C++ embedding: opens sessions. Called with the types of kernelpoint/abi.h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelpoint.config import load_config
from kernelpoint.journal import JournalWriter, RunRecord
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.resume import resume
from kernelpoint.session.session import Session
from kernelpoint.session.setup import prepare


def open(config_path: str, info: Mapping[str, Any], log: Callable[[str], None]) -> Session:
    """Open a run, or take one over from its journal; see kp_open.

    Raises:
        KernelPointError: of the kind that names what is refused; nothing was started and no journal was touched but to read.
    """
    config = load_config(config_path)
    journal = JournalWriter(config.journal, resume=config.resume == "auto")
    try:
        first = journal.records[0] if journal.records else None
        begun_with = first.plan if isinstance(first, RunRecord) else None
        setup = prepare(config, HostInfo.from_mapping(info), log, begun_with)
        session = Session(setup, journal, log)
        if journal.records:
            resume(session, journal.records)
            journal.records.clear()
        else:
            session.begin()
    except BaseException:
        journal.close()
        raise
    return session
