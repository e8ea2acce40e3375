"""Statements of a finished run in the types of the ABI (kernelpoint/abi.h)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelpoint.estimate import Estimate
from kernelpoint.journal import SummaryRecord
from kernelpoint.ratios import RATIOS
from kernelpoint.session.verdict import LARGEST_UNMET, SAMPLING_ERROR, TOTAL_ERROR

DEGRADED, NO_BOUND = 1, 2  # KP_SUMMARY_*
OF_SAMPLING, UNMET = 2, 4  # KP_ESTIMATE_*
Row = tuple[str, int, float, float, float]  # name, flags, estimate, half-width, simulated


@dataclass(frozen=True)
class Summary:
    """Summary in the form in which it crosses the C ABI: the fields of kp_summary and kp_estimate. A row is (name, flags,
    estimate, half-width, simulated), nan if not stated; a process is (number, launches, simulated, rows).
    """

    flags: int
    launches: int
    simulated: int
    skipped: int
    passes: int
    projected: int
    confidence: float
    cycle_speedup: float
    saved_seconds: float
    estimates: Sequence[Row]
    ratios: Sequence[Row]
    processes: Sequence[tuple[int, int, int, Sequence[Row]]]

    @classmethod
    def of(cls, record: SummaryRecord, saved_seconds: float | None) -> Summary:
        """Convert a summary record, with the processor time that the run saved if known."""
        bounded, names = record.half_width is not None, of_sampling_only(record)
        sampled = dict.fromkeys(names, OF_SAMPLING)
        unmet = {name: UNMET for name, share in record.unmet.items() if share <= LARGEST_UNMET}
        return cls(
            flags=(DEGRADED if record.degraded else 0) | (0 if bounded else NO_BOUND),
            launches=record.launches,
            simulated=record.simulated,
            skipped=record.skipped,
            passes=record.passes,
            projected=record.projected,
            confidence=record.confidence,
            cycle_speedup=math.nan if record.cycle_speedup is None else record.cycle_speedup,
            saved_seconds=math.nan if saved_seconds is None else saved_seconds,
            estimates=_rows(record.counters, bounded, {**sampled, **unmet}),
            ratios=_rows(record.ratios, bounded, sampled),
            processes=[
                (p.number, p.launches, p.simulated, _rows(p.estimates, bounded, sampled)) for p in record.processes
            ],
        )


def of_sampling_only(record: SummaryRecord) -> set[str]:
    """Names of the counters and ratios whose half-widths cover the sampling error only."""
    if record.bound_scope not in (TOTAL_ERROR, SAMPLING_ERROR):
        return set()
    names = {n for n, e in record.counters.items() if e.half_width > 0.0 and n not in record.replay_errors}
    return names | {name for name in record.ratios if names & set(RATIOS[name])}


def _rows(estimates: Mapping[str, Estimate], bounded: bool, flags: Mapping[str, int]) -> list[Row]:
    """Estimates as kp_estimate.

    Args:
        bounded: the run states a bound, so that an estimate without one is off by any amount; flags: by name.
    """
    open_width = math.inf if bounded else math.nan
    return [
        (name, flags.get(name, 0), e.estimate, e.half_width if e.is_bounded else open_width, e.simulated)
        for name, e in estimates.items()
    ]
