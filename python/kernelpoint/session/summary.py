"""The summary of a run: the journal's last record, the source of every report and simulator output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelpoint.estimation import Estimate, Look
from kernelpoint.journal import (
    EstimateRecord,
    KernelRecord,
    LookRecord,
    OpenLaunchRecord,
    PartRecord,
    ReplayErrorRecord,
    SummaryRecord,
)
from kernelpoint.session.range_targets import RangeSample, targets_of_ranges
from kernelpoint.session.setup import Setup
from kernelpoint.session.validation import ReplayCheck
from kernelpoint.session.verdict import SAMPLING_ERROR, coverage_of_bound, verdict

MODEL_ERROR = "the simulator's own distance from hardware (model error)"
NOT_COVERED = ("launches may begin colder or warmer than in a full run", MODEL_ERROR)


@dataclass(frozen=True)
class Account:
    """Counts of a run, for its summary.

    Attributes:
        copied: launches that took the result of an equal one, or of an earlier run.
        uncounted_cycles: simulated beyond those of the results: validation launches, less what projections and copies
            left out.
        simulated_totals: the sum of each counter over the results.
        one_per_stream_cycles: predicted, of one launch for each distinct stream.
        processes: (launches, simulated) of each.
        lost, never_completed: units.
        assumptions, warnings: of launches that were stopped inside.
        checked: the replay error, from validation launches.
        restarts: of a full run that was resumed, the units at which it went on.
        open_launch: see OpenLaunchRecord.
        ranges: samples of targets that name ranges.
    """

    launches: int
    simulated: int
    copied: int
    passes: int
    uncounted_cycles: float
    projected: int
    simulated_totals: Mapping[str, float]
    one_per_stream_cycles: float | None
    processes: list[tuple[int, int]]
    kernels: list[KernelRecord]
    degraded: list[str]
    lost: list[int]
    never_completed: list[int]
    assumptions: list[str]
    warnings: list[str]
    checked: ReplayCheck
    restarts: list[int]
    open_launch: OpenLaunchRecord | None = None
    ranges: Sequence[RangeSample] = ()


def summarise(setup: Setup, account: Account, look: Look | None) -> SummaryRecord:
    """Close the books: launches, simulated and skipped add up to the list. look: None where no estimate may be stated."""
    counters = _estimates(look.estimates) if look else _simulated_only(account.simulated_totals)
    ratios = _estimates(look.ratios) if look else {}
    main = {**ratios, **counters}.get(setup.budget.counter, EstimateRecord()) if look else EstimateRecord()
    cycles = counters.get("cycles", EstimateRecord()).estimate
    skipped, empty = account.launches - account.simulated, setup.config.replay.state == "empty"
    replays = setup.host.restores_state and not setup.is_full_run and not empty
    bounded = main.half_width is not None
    estimated = skipped - account.copied + account.projected
    begins_alike = (setup.host.stateless or empty) and estimated > 0  # each launch begins as in the full run
    covers = coverage_of_bound(bounded, estimated, replays, bool(account.checked.errors) or begins_alike)
    return SummaryRecord(
        **_books(setup, account),
        **_sentences(setup, account, look, covers),
        estimate=main.estimate,
        half_width=main.half_width,
        relative_half_width=main.relative_half_width,
        met=bool(look.met) if look else False,
        bound=setup.budget.bound if bounded else "none",
        cycle_speedup=_over(cycles, _simulated_cycles(counters, account)),
        one_per_stream_speedup=_over(cycles, account.one_per_stream_cycles),
        clusters=[_part(part, "cluster") for part in look.clusters] if look else [],
        counters=counters,
        ratios=ratios,
        processes=_processes(account, look),
        open_launch=account.open_launch if bounded else None,
        copied=account.copied or None,
        further={**setup.budget.further, **targets_of_ranges(setup.config)},
        range_targets=_estimates({one.name: one.estimate for one in account.ranges if one.estimate}) or None,
    )


def _books(setup: Setup, account: Account) -> dict[str, Any]:
    """Counts and settings of a run, as fields of its summary."""
    errors = account.checked.errors.items()
    return {
        "launches": account.launches,
        "simulated": account.simulated,
        "skipped": account.launches - account.simulated,
        "passes": account.passes,
        "projected": account.projected,
        "inside_kernel": setup.config.inside_kernel,
        "counter": setup.budget.counter,
        "confidence": setup.budget.confidence,
        "relative_error": setup.budget.relative_error,
        "lost": account.lost,
        "never_completed": account.never_completed,
        "restarts": list(account.restarts),
        "replay_errors": {name: ReplayErrorRecord(number(e.error), number(e.half_width)) for name, e in errors},
        "kernels": account.kernels,
        "policy": setup.config.policy.name,
        "seed": setup.config.seed,
    }


def _sentences(setup: Setup, account: Account, look: Look | None, covers: str) -> dict[str, Any]:
    """Statements on the bound and on the run, as fields of its summary."""
    reason = account.checked.reason
    warnings = ["the run ended before its pass was complete: no estimate is stated"]
    if look is not None:
        warnings = [*look.warnings, *account.warnings, *_of_restarts(setup, account)]
    return {
        "covers": covers,
        "degraded": account.degraded,
        "assumptions": [*look.assumptions, *account.assumptions, *_of_replay(account.checked)] if look else [],
        "warnings": warnings,
        "not_covered": [*_state_not_covered(covers, reason), MODEL_ERROR],
        "bound_excludes": reason if covers == SAMPLING_ERROR else None,
    }


def _of_replay(checked: ReplayCheck) -> list[str]:
    return [checked.assumption] if checked.assumption else []


def _state_not_covered(covers: str, reason: str) -> list[str]:
    """Sentences on initial state of simulated launches that the bound does not cover."""
    if covers != SAMPLING_ERROR:
        return []
    return [f"{NOT_COVERED[0]}, and by how much is not known: {reason}"]


def _of_restarts(setup: Setup, account: Account) -> list[str]:
    """Sentences of a full run on having been resumed."""
    how = "replayed state" if setup.host.restores_state else "whatever state the simulator starts with"
    return [
        f"the run was resumed at launch unit {unit}, with {how}: launches from there on may differ from those of a run "
        "that was never interrupted"
        for unit in account.restarts
    ]


def sentence(summary: SummaryRecord) -> str:
    """One line for the user."""
    s = summary
    speed = f", cycle speedup {s.cycle_speedup:.4g}" if s.cycle_speedup else ""
    inside = f" ({s.projected:,} of them projections)" if s.projected else ""
    copied = f", {s.copied:,} taken over" if s.copied else ""
    note = " (degraded)" if s.degraded else ""
    return f"{verdict(s)}; {s.simulated:,} of {s.launches:,} launches simulated{inside}{copied}{speed}{note}"


def look_record(pass_index: int, look: Look) -> LookRecord:
    """A look as it stands in the journal."""
    return LookRecord(pass_index, bool(look.met), _estimates(look.estimates), _estimates(look.ratios))


def number(value: float) -> float | None:
    """A float for JSON, which has no NaN.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def estimate_record(estimate: Estimate) -> EstimateRecord:
    """An estimate as it stands in the journal: None for a number that is not finite."""
    return EstimateRecord(
        estimate=number(estimate.estimate),
        half_width=number(estimate.half_width),
        relative_half_width=number(estimate.relative_half_width),
        std_error=number(estimate.std_error),
        degrees_of_freedom=number(estimate.degrees_of_freedom),
        confidence=number(estimate.confidence),
        simulated=number(estimate.simulated),
        computed_half_width=number(estimate.computed),
    )


def _estimates(estimates: Mapping[str, Estimate]) -> dict[str, EstimateRecord]:
    return {name: estimate_record(estimate) for name, estimate in estimates.items()}


def _part(part: Mapping[str, Any], number_key: str) -> PartRecord:
    """A cluster, or a process, of an interim analysis."""
    return PartRecord(int(part[number_key]), int(part["units"]), int(part["simulated"]), _estimates(part["estimates"]))


def _processes(account: Account, look: Look | None) -> list[PartRecord]:
    """Record of each application, without estimates where none may be stated."""
    if look is not None and look.domains:
        return [_part(part, "domain") for part in look.domains]
    estimates = _estimates(look.estimates) if look else {}
    return [PartRecord(number, *counts, estimates) for number, counts in enumerate(account.processes)]


def _simulated_only(totals: Mapping[str, float]) -> dict[str, EstimateRecord]:
    """Totals of the simulated launches, where no estimate may be stated."""
    return {name: EstimateRecord(simulated=number(value)) for name, value in totals.items()}


def _simulated_cycles(counters: Mapping[str, EstimateRecord], account: Account) -> float | None:
    simulated = counters.get("cycles", EstimateRecord()).simulated
    return simulated + account.uncounted_cycles if simulated else None


def _over(above: float | None, below: float | None) -> float | None:
    """A speedup; None where it says nothing."""
    return number(above / below) if above and below and below > 0.0 else None
