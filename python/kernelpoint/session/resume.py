"""Taking a run over from its journal: same decisions, every result kept, nothing doubled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelpoint.errors import HostError, JournalError
from kernelpoint.journal import PopulationRecord, Record, ResultRecord, ResumeRecord, RunRecord
from kernelpoint.journal.text import plain
from kernelpoint.session.differences import told
from kernelpoint.session.frame import Frame

if TYPE_CHECKING:
    from kernelpoint.session.session import Session

# The only keys in which a resumed run may differ from the one that began the journal; looks are computed again anyway. The
# design's hash identifies the plan.
_MAY_DIFFER = (
    "config.resume",
    "config.journal",
    "config.plan",
    "config.selection",
    "plan",
    "bound",
    "command",
    "host.lists",
    "host.version",
    "host.configuration",
    "type",
)
_ERROR_BUDGET = "config.error_budget."
# Launches were stopped inside by these: what the journal holds of them would be more exact under one budget than another.
_STOPPED_BY = ("config.error_budget.confidence", "config.error_budget.relative_error")
# The first sample of a run with predictions, and the places of its run-ups, were sized for these.
_SIZED_BY = (*_STOPPED_BY, "config.error_budget.counter")
_WHY_SIZED = (
    "where the fast model predicts, the sample is sized for the error budget before the first launch, so a run cannot go on to "
    "another budget; plan and predictions are in the cache, and a run with a smaller budget answers a larger one as well"
)


def resume(session: Session, records: Sequence[Record]) -> None:
    """Bring a fresh session to where the journal ends. Records win over recomputation.

    The state of each pass and all results are taken from the journal; looks are computed again from them, which gives the same
    numbers unless the error budget was changed, as is allowed. Launches that failed earlier get a fresh chance.

    Raises:
        JournalError: the journal is of another run, or its launches are no longer what they were.
    """
    path = session.journal.path
    frame = session.setup.frame
    check_same_run(records[0], session.setup.record(), frame is not None and frame.design.predictions is not None)
    with session.recorder.replaying():
        for line, record in enumerate(records[1:], start=2):
            try:
                session.apply(record)
            except HostError as error:
                raise JournalError(f"{path}:{line}: {error}") from None
    results = sum(isinstance(record, ResultRecord) for record in records)
    session.recorder.progress.say(f"resumed from {path}: {results:,} launches have their results")
    session.recorder.defer(ResumeRecord(results))  # a run that was complete leaves its journal as it is
    session.resume()


def check_same_run(old: Record, new: RunRecord, predicted: bool = False) -> None:
    """Refuse, by key, a journal of another run.

    Args:
        predicted: the estimate rests on predictions.

    Raises:
        JournalError: names every key or option that differs, with both values.
    """
    before, after = _flatten(plain(old)), _flatten(plain(new))
    stops_inside = before.get("config.inside_kernel", "off") != "off"

    def may_differ(key: str) -> bool:
        if key.startswith(_ERROR_BUDGET):
            return not (stops_inside and key in _STOPPED_BY) and not (predicted and key in _SIZED_BY)
        return key in _MAY_DIFFER

    differing = [
        key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key) and not may_differ(key)
    ]
    if differing:
        sized = predicted and any(key in _SIZED_BY for key in differing)
        raise JournalError(
            "the journal belongs to another run; use another `journal:`, or `resume: never` to begin anew:\n"
            + told(differing, before, after)
            + (f"\n{_WHY_SIZED}" if sized else "")
        )


def check_same_frame(record: PopulationRecord, frame: Frame, path: Path) -> None:
    """Refuse a journal whose screened launches now give another design.

    Raises:
        JournalError: says so.
    """
    if record.hashes.get("design") != frame.hashes["design"]:
        raise JournalError(
            f"{path}: hashes.design: the journal has {record.hashes.get('design')}, this run {frame.hashes['design']}: the "
            "traces have changed"
        )


def _flatten(record: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(record, dict):
        return {prefix[:-1]: record}
    flat: dict[str, Any] = {}
    for key, value in record.items():
        flat.update(_flatten(value, f"{prefix}{key}."))
    return flat
