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
    "covers",
    "kernels",
    "pass",
    "pass_index",
    "not_covered",
    "warnings",
    "assumptions",
    "type",
    "crc32",
    "chain",
)


def story(journal: Path) -> list[Any]:
    """The events of a journal in order, without names and form."""
    told = []
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        kind = record["type"]
        if kind in ("decision", "result", "abort"):
            kept = {key: record[key] for key in KEPT if record.get(key) is not None}
            told.append([kind, record["process"], record["launch"], number_of_pass(record), kept])
        elif kind == "pass":
            of_screening = {"sizes": record.get("sizes", []), "kinds": record.get("kinds", ["first"])}
            state = record.get("state") or of_screening
            told.append([kind, number_of_pass(record), record.get("wanted"), *state.values()])
        elif kind in ("look", "summary", "degraded"):
            told.append([kind, {k: plain(v) for k, v in record.items() if k not in NOT_STATED and k != "reason"}])
    return told


def number_of_pass(record: dict[str, Any]) -> int:
    """Of formats 1 and 2."""
    return record["pass_index"] if "pass_index" in record else record["pass"]


def plain(value: Any) -> Any:
    """Without entries that are empty, so that a key that is not written equals one that is null."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    return [plain(v) for v in value] if isinstance(value, list) else value
