"""The story of a journal: its events without the form of its lines, so that versions of the format can be compared."""

import json
from pathlib import Path
from typing import Any

KEPT = (
    "action",
    "stratum",
    "u",
    "threshold",
    "take_all",
    "cluster",
    "stream",
    "x",
    "prediction",
    "counters",
    "projection",
)
# Sentences, and what belongs to the line itself.
NOT_STATED = (
    "bound_scope",
    "intra_kernel",
    "kernels",
    "pass_index",
    "not_covered",
    "warnings",
    "assumptions",
    "type",
    "chain",
)


def story(journal: Path) -> list[Any]:
    """The events of a journal in order, without names and form."""
    events = []
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        kind = record["type"]
        if kind == "outcome" and not (record["counters"] and "validation" in record):
            kind = "result" if record["counters"] else "abort"
        if kind in ("decision", "result", "abort"):
            kept = {key: record[key] for key in KEPT if record.get(key) not in (None, {})}
            events.append([kind, record["process"], record["launch"], record["pass_index"], kept])
        elif kind == "pass":
            state = record.get("state") or {}
            events.append([kind, record["pass_index"], record.get("wanted"), *state.values()])
        elif kind in ("look", "summary", "degraded"):
            events.append([kind, {k: plain(v) for k, v in record.items() if k not in NOT_STATED and k != "reason"}])
    return events


def plain(value: Any) -> Any:
    """Without entries that are empty, so that a key that is not written equals one that is null."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    return [plain(v) for v in value] if isinstance(value, list) else value
