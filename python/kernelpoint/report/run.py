"""A run as its journal tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelpoint.errors import JournalError
from kernelpoint.session.journal import Record, frozen_record, read_journal
from kernelpoint.session.verdict import EXACT, verdict


@dataclass(frozen=True)
class RunReport:
    """The records of one run and its summary.

    Attributes:
        summary: the last summary record; of a run that has not ended, what can be said so far.
        ended: whether the run wrote its summary.
    """

    path: Path
    records: list[Record]
    summary: dict[str, Any]
    ended: bool

    @property
    def policy(self) -> str:
        """Name of the policy that made the decisions."""
        return str(self.records[0]["config"]["policy"])

    def results(self) -> list[Record]:
        """The result records, in the order in which launches completed."""
        return [r for r in self.records if r["type"] == "result"]

    def looks(self) -> list[Record]:
        """The look records, one per finished pass."""
        return [r for r in self.records if r["type"] == "look"]

    def estimates(self) -> dict[str, Record]:
        """What the summary says of every counter, then of every ratio of counters, by name."""
        return {**self.summary["counters"], **self.summary.get("ratios", {})}

    def sentences(self) -> list[str]:
        """What a person wants to know beside the table of counters."""
        s = self.summary
        lines = [verdict(s)] if self.ended else []
        lines.append(
            f"{s['simulated']:,} of {s['launches']:,} launches simulated, {s['skipped']:,} skipped, in {s['passes']} passes"
        )
        if s.get("warmups"):
            lines.append(
                f"{s['warmups']:,} further simulations only warmed the machine up; the cycle speedup pays for them"
            )
        if not self.ended:
            return [*lines, "the run has not ended: start it again to resume it"]
        if s["cycle_speedup"]:
            floor = f" (floor of one launch per stream: {s['floor']:.4g}x)" if s["floor"] else ""
            lines.append(f"cycle speedup {s['cycle_speedup']:.4g}x{floor}")
        if s["covers"] != EXACT:
            word = "within" if s["met"] else "beyond"
            lines.append(
                f"sampling error {word} the error budget of {100 * s['relative_error']:g} % at {100 * s['confidence']:g} %; "
                f"bound: {s['bound']}"
            )
        if len(processes := s.get("processes", ())) > 1:
            lines += [_of_process(p, "cycles") for p in processes if "cycles" in p["estimates"]]
        lines += [f"degraded: {reason}" for reason in s["degraded"]]
        lines += [f"note: {warning}" for warning in s["warnings"]]
        lines += [f"the bound assumes: {text}" for text in s["assumptions"]]
        return lines + [f"not covered by the bound: {text}" for text in s["not_covered"]]


def _of_process(process: Record, counter: str) -> str:
    own = process["estimates"][counter]
    width = own["relative_half_width"]
    bound = "no bound stated" if width is None else f"+- {100 * width:.3g} %"
    return (
        f"process {process['process']}: {own['estimate']:.8g} {counter} {bound}; {process['simulated']:,} of "
        f"{process['launches']:,} launches simulated"
    )


def load_run(path: str | Path) -> RunReport:
    """Read a journal for reporting.

    Raises:
        JournalError: the journal is missing, empty or damaged.
    """
    records = read_journal(path)
    summaries = [r for r in records if r["type"] == "summary"]
    ended = bool(summaries) and records[-1]["type"] == "summary"
    summary = {k: v for k, v in summaries[-1].items() if k != "type"} if ended else _so_far(records)
    if ended:
        _check_books(Path(path), records, summary)
    return RunReport(Path(path), records, summary, ended)


def _check_books(path: Path, records: list[Record], summary: dict[str, Any]) -> None:
    """Journal and summary must add up to the list."""
    results = {(r["process"], r["launch"]) for r in records if r["type"] == "result"}
    launches = sum(frozen_record(records)["launches"])
    if len(results) != summary["simulated"] or summary["simulated"] + summary["skipped"] != launches:
        raise JournalError(
            f"{path}: the books do not add up: {len(results)} launches have results, the summary says "
            f"{summary['simulated']} simulated and {summary['skipped']} skipped of {launches}"
        )


def _so_far(records: list[Record]) -> dict[str, Any]:
    results = [r for r in records if r["type"] == "result"]
    totals: dict[str, float] = {}
    for result in results:
        for name, value in result["counters"].items():
            totals[name] = totals.get(name, 0.0) + value
    empty = {"estimate": None, "half_width": None, "relative_half_width": None}
    launches = sum(frozen_record(records)["launches"])
    return {
        "launches": launches,
        "simulated": len(results),
        "skipped": launches - len(results),
        "passes": len({r["pass"] for r in records if r["type"] == "pass"}),
        "counters": {name: {**empty, "simulated": value} for name, value in totals.items()},
    }
