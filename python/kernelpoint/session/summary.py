"""The summary of a run: the journal's last record and what every report and simulator output is made from."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelpoint.estimation import Estimate, Look
from kernelpoint.session.journal import Record
from kernelpoint.session.verdict import EXACT, STATE_NOT_RESTORED, coverage_of_bound, verdict

if TYPE_CHECKING:
    from kernelpoint.session.session import Session

DEGRADED, NO_BOUND = 1, 2

NOT_COVERED = (
    f"{STATE_NOT_RESTORED}: simulated launches may be colder or warmer than in a full run (non-sampling error)",
    "the simulator's own distance from hardware (model error)",
)


def number(value: float) -> float | None:
    """A float for JSON, which has no NaN.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def estimate_record(estimate: Estimate) -> Record:
    """One counter's estimate as it stands in journal and summary."""
    return {
        "estimate": number(estimate.estimate),
        "half_width": number(estimate.half_width),
        "relative_half_width": number(estimate.relative_half_width),
        "std_error": number(estimate.std_error),
        "degrees_of_freedom": number(estimate.degrees_of_freedom),
        "confidence": number(estimate.confidence),
        "simulated": number(estimate.simulated),
    }


def _part_record(part: Record) -> Record:
    return {**part, "estimates": {name: estimate_record(e) for name, e in part["estimates"].items()}}


def _processes(session: Session, look: Look | None) -> list[Record]:
    """What is known of each process: its launches, simulated ones, and estimates where some are stated."""
    if look is None:
        offsets = session.run.population.offsets
        units = np.array([unit for unit, _ in session.engine.records()], dtype=np.int64)
        simulated = np.histogram(units, offsets)[0] if len(units) else np.zeros(len(offsets) - 1, np.int64)
        rows = zip(np.diff(offsets).tolist(), simulated.tolist(), strict=True)
        return [{"process": p, "launches": n, "simulated": done, "estimates": {}} for p, (n, done) in enumerate(rows)]
    if look.domains:
        return [
            {
                "process": p["domain"],
                "launches": p["units"],
                **_part_record({k: p[k] for k in ("simulated", "estimates")}),
            }
            for p in look.domains
        ]
    own = {name: estimate_record(e) for name, e in look.estimates.items()}
    return [{"process": 0, "launches": session.run.population.size, "simulated": session.results, "estimates": own}]


def look_record(look: Look) -> Record:
    """A look as it stands in the journal."""
    return {
        "met": bool(look.met),
        "estimates": {name: estimate_record(e) for name, e in look.estimates.items()},
        "ratios": {name: estimate_record(e) for name, e in look.ratios.items()},
    }


_Row = tuple[str, float, float, float]


def _rows(estimates: dict[str, Record]) -> list[_Row]:
    """Estimates as kp_estimate: name, estimate, half-width, simulated; nan where nothing is stated."""

    def known(value: float | None) -> float:
        return math.nan if value is None else value

    return [(n, known(e["estimate"]), known(e["half_width"]), known(e["simulated"])) for n, e in estimates.items()]


class HostSummary(NamedTuple):
    """What the host is told at the end, field by field as in kp_summary, kp_process and kp_estimate.

    Attributes:
        estimates, ratios: rows of kp_estimate: name, estimate, half-width, simulated; nan where nothing is stated.
        processes: (process, launches, simulated, estimates) of every process, in order.
        json: the whole summary, as in the journal's last record.
    """

    flags: int
    launches: int
    simulated: int
    skipped: int
    passes: int
    confidence: float
    estimates: list[_Row]
    ratios: list[_Row]
    projected: int
    processes: list[tuple[int, int, int, list[_Row]]]
    json: str


@dataclass(frozen=True)
class Summary:
    """What a finished run says; field names as in design section 6."""

    content: dict[str, Any]
    flags: int

    def record(self) -> Record:
        """The journal's last record."""
        return {"type": "summary", **self.content}

    def for_host(self) -> HostSummary:
        """What kp_finish hands out."""
        c = self.content
        return HostSummary(
            flags=self.flags,
            **{key: c[key] for key in ("launches", "simulated", "skipped", "passes", "confidence", "projected")},
            estimates=_rows(c["counters"]),
            ratios=_rows(c["ratios"]),
            processes=[(p["process"], p["launches"], p["simulated"], _rows(p["estimates"])) for p in c["processes"]],
            json=json.dumps(c, separators=(",", ":")),
        )

    def sentence(self) -> str:
        """One line for the user."""
        c = self.content
        speed = f", cycle speedup {c['cycle_speedup']:.4g}" if c["cycle_speedup"] else ""
        inside = f" ({c['projected']:,} of them projections)" if c["projected"] else ""
        note = " (degraded)" if c["degraded"] else ""
        return f"{verdict(c)}; {c['simulated']:,} of {c['launches']:,} launches simulated{inside}{speed}{note}"


def summarise(session: Session) -> Summary:
    """Close the books: launches, simulated and skipped add up to the list."""
    complete = session.done and session.look is not None and not len(session.engine.missing())
    look = session.look if complete else None
    counters = {name: estimate_record(e) for name, e in look.estimates.items()} if look else _simulated_only(session)
    budget = session.run.budget
    ratios = {name: estimate_record(e) for name, e in look.ratios.items()} if look else {}
    nothing = {"estimate": None, "half_width": None, "relative_half_width": None}
    main = {**ratios, **counters}.get(budget.counter, nothing)
    launches = session.run.population.size
    bounded = main["half_width"] is not None
    covers = coverage_of_bound(bounded, launches - session.results, session.inside.projected)
    content = {
        "launches": launches,
        "simulated": session.results,
        "skipped": launches - session.results,
        "passes": session.pass_index + 1,
        "warmups": session.warmups,
        "inside_kernel": session.inside.method,
        "projected": session.inside.projected,
        "counter": budget.counter,
        **{key: main[key] for key in ("estimate", "half_width", "relative_half_width")},
        "confidence": budget.confidence,
        "relative_error": budget.relative_error,
        "met": bool(look.met) if look else False,
        "bound": budget.bound if bounded else "none",
        "covers": covers,
        "cycle_speedup": _speedup(counters, session.warmup_cycles - session.inside.saved_cycles),
        "floor": _floor(session, counters) if look else None,
        "clusters": [_part_record(c) for c in look.clusters] if look else [],
        "counters": counters,
        "ratios": ratios,
        "processes": _processes(session, look),
        "degraded": list(session.degraded),
        "lost": session.ledger.lost(),
        "never_completed": sorted(session.ledger.in_flight),
        "assumptions": [*look.assumptions, *session.inside.assumptions()] if look else [],
        "warnings": [*look.warnings, *session.inside.warnings(look.met)]
        if look
        else ["the run ended before its pass was complete: no estimate is stated"],
        "not_covered": list(NOT_COVERED[1:] if covers == EXACT else NOT_COVERED),
        "policy": session.run.config.policy,
        "seed": session.run.config.seed,
    }
    return Summary(content, (DEGRADED if session.degraded else 0) | (0 if bounded else NO_BOUND))


def _simulated_only(session: Session) -> dict[str, Record]:
    """Totals of what was simulated, where no estimate may be stated."""
    totals = session.engine.simulated_totals()
    empty = {"estimate": None, "half_width": None, "relative_half_width": None}
    return {name: {**empty, "simulated": float(value)} for name, value in totals.items()}


def _speedup(counters: dict[str, Record], uncounted: float) -> float | None:
    """Cycle speedup: estimated total cycles over simulated cycles.

    uncounted: cycles simulated beyond those of the results: warm-up launches, less what projections left out.
    """
    cycles = counters.get("cycles")
    if not cycles or not cycles["estimate"] or not cycles["simulated"]:
        return None
    return cycles["estimate"] / (cycles["simulated"] + uncounted)


def _floor(session: Session, counters: dict[str, Record]) -> float | None:
    """Total over the predicted cycles of one launch of each distinct stream and shape (design, section 8)."""
    streams = session.run.plan.stream_ids
    if streams is None or "cycles" not in counters:
        return None
    _, first = np.unique(streams, return_index=True)
    one_each = float(session.engine.predict(first)[:, 0].sum())
    return counters["cycles"]["estimate"] / one_each if one_each > 0 else None
