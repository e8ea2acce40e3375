"""Taking a run over from its journal: same decisions, every result kept, nothing doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelpoint.errors import JournalError

if TYPE_CHECKING:
    from kernelpoint.session.journal import Record
    from kernelpoint.session.session import Session

# The only keys in which a resumed run may differ from the one that began the journal; looks are computed again anyway.
_MAY_DIFFER = (
    "config.resume",
    "config.journal",
    "config.plan",
    "plan",
    "bound",
)  # the design's hash identifies the plan
_ERROR_BUDGET = "config.error_budget."
# Launches were stopped inside by these: what the journal holds of them would be more exact under one budget than another.
_STOPPED_BY = ("config.error_budget.confidence", "config.error_budget.relative_error")
_IGNORED = ("host.lists", "host.version", "type")


def check_same_run(old: Record, new: Record) -> None:
    """Refuse, by key, a journal of another run.

    Raises:
        JournalError: names every key that differs, with both values.
    """
    before, after = _flatten(old), _flatten(new)
    stops_inside = before.get("config.inside_kernel", "off") != "off"

    def may_differ(key: str) -> bool:
        if key.startswith(_ERROR_BUDGET):
            return not (stops_inside and key in _STOPPED_BY)
        return key in _MAY_DIFFER + _IGNORED

    differing = [
        f"{key}: the journal has {before.get(key)!r}, this run {after.get(key)!r}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and not may_differ(key)
    ]
    if differing:
        raise JournalError(
            "the journal belongs to another run; use another `journal:`, or `resume: never` to begin anew:\n"
            + "\n".join(differing)
        )


def replay(session: Session, records: list[Record]) -> None:
    """Bring a fresh session to where the journal ends. Records win over recomputation.

    Sizes of each pass and all results are taken from the journal; looks are computed again from them, which gives the same
    numbers unless the error budget was changed, as is allowed. Launches that failed earlier get a fresh chance.
    """
    with session.progress.muted():
        for record in records[1:]:
            apply_record(session, record)
    session.progress.say(f"resumed from {session.journal.path}: {session.results:,} launches have their results")
    session.journal.write({"type": "resume", "results": session.results})
    ended = last_step(records)
    if session.look is not None and ended == "look":
        session.continue_after_look()
    elif not any(record["type"] == "pass" for record in records):
        session.begin_first_pass()


def last_step(records: list[Record]) -> str:
    """The last record that says where in a pass the run stood: "pass" or "look"."""
    return next((r["type"] for r in reversed(records) if r["type"] in ("pass", "look")), "run")


def apply_record(session: Session, record: Record) -> None:
    """Do again what a record says was done; those that say nothing of the state are passed over."""
    kind = record["type"]
    if kind == "pass":
        session.restore_pass(record)
    elif kind in ("result", "warmup"):
        unit = session.ledger.unit(record["process"], record["launch"])
        counters = record["counters"]
        session.ledger.start(unit)
        if kind == "warmup":
            session.take_warmup(unit, counters["cycles"])
        else:
            projection = record.get("projection")
            if projection:
                session.inside.take(counters["cycles"], projection)
            half_widths = projection["half_widths"] if projection else None
            session.take_result(unit, tuple(counters), tuple(counters.values()), half_widths)
    elif kind == "abort":
        unit = session.ledger.unit(record["process"], record["launch"])
        session.ledger.start(unit)
        session.ledger.complete(unit)
    elif kind == "look":
        session.look_now(write=False)
    elif kind == "degraded":
        session.restore_degraded(record)


def _flatten(record: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(record, dict):
        return {prefix[:-1]: record}
    flat: dict[str, Any] = {}
    for key, value in record.items():
        flat.update(_flatten(value, f"{prefix}{key}."))
    return flat
