"""Opening an online run, and taking one over from its journal at whatever byte it was killed."""

from __future__ import annotations

from collections.abc import Callable

from kernelpoint.config import Config
from kernelpoint.errors import JournalError
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.first_pass import FAILURE
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.inside import check_inside_kernel
from kernelpoint.session.journal import Journal, Record
from kernelpoint.session.journal_fields import check_records
from kernelpoint.session.online import OnlineSession
from kernelpoint.session.online_run import OnlineRun
from kernelpoint.session.opening import budget_for
from kernelpoint.session.resume import apply_record, check_same_run, last_step

Log = Callable[[str], None]


def open_online(config: Config, host: HostInfo, journal: Journal, log: Log) -> OnlineSession:
    """Begin an online run, or take one over from its journal.

    Raises:
        KernelPointError: the journal is of another run, or its launches are no longer what they were.
    """
    policy = load_policy(config.policy)
    check_inside_kernel(config, host)
    run = OnlineRun(config, host, budget_for(config, policy, host), policy.estimate_for(config))
    session = OnlineSession(run, journal, log)
    if not journal.records:
        session.begin()
    else:
        check_records(journal.records, str(journal.path))
        check_same_run(journal.records[0], run.record())
        _resume(session, journal.records[1:])
    return session


def _resume(session: OnlineSession, records: list[Record]) -> None:
    """Bring a fresh session to where the journal ends; launches are placed again, and have to land where they did."""
    ends = next((i for i, r in enumerate(records) if r["type"] == "population"), len(records))
    for record in records[:ends]:
        _again(session, record)
    if ends < len(records):
        _resume_passes(session, records[ends], records[ends + 1 :])
        return
    results = session.first.counts()["simulated"]
    session.progress.say(f"resumed from {session.journal.path}: {results:,} launches have their results")
    if records:
        session.journal.write({"type": "resume", "results": results})
    else:
        session.begin_first_pass()


def _again(session: OnlineSession, record: Record) -> None:
    """A record of the first pass. A launch that was aborted gets a fresh chance."""
    kind = record["type"]
    if kind == "degraded":
        session.degraded.append(record["reason"])
    elif kind == "result":
        session.take((record["process"], record["launch"]), record["counters"])
    elif kind == "decision":
        key = record["process"], record["launch"]
        placed = None if record.get("take_all") == FAILURE else session.clusters.place(record["trace"])
        session.first.decide(key, record["trace"], placed)
        if placed is not None and (placed.cluster, placed.stream) != (record["cluster"], record["stream"]):
            raise JournalError(
                f"{session.journal.path}: launch {key[1]} of process {key[0]} ran stream {record['stream']} in cluster "
                f"{record['cluster']}; its trace {record['trace']} now has {placed.stream} in {placed.cluster}"
            )


def _resume_passes(session: OnlineSession, population: Record, records: list[Record]) -> None:
    """The first pass had ended: the plan is made again, has to be the same, and the later passes are replayed."""
    run = session.make_run()
    if run.hashes["design"] != population["hashes"]["design"]:
        raise JournalError(
            f"{session.journal.path}: hashes.design: the journal has {population['hashes']['design']}, this run "
            f"{run.hashes['design']}: the traces have changed"
        )
    then = session.hand_over(run)
    with then.progress.muted():
        for record in records:
            apply_record(then, record)
    then.progress.say(f"resumed from {session.journal.path}: {then.results:,} launches have their results")
    session.journal.write({"type": "resume", "results": then.results})
    step = last_step(records)
    if step == "look":
        then.continue_after_look()
    elif step == "run":
        then.continue_after_first_pass()
