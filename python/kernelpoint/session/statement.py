"""Statements of a finished run: its summary, its ranges and an estimate of every launch as records of the journal, and the
summary in the types of the ABI (kernelpoint/abi.h)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from kernelpoint.estimation import Estimate, Look, PartTotals, Tree, subtotals
from kernelpoint.journal import (
    KernelRecord,
    LaunchesRecord,
    LookRecord,
    OpenLaunchRecord,
    RangeRecord,
    SummaryRecord,
)
from kernelpoint.journal.launch_estimates import pack
from kernelpoint.journal.records import BLOCK
from kernelpoint.journal.text import OF_ESTIMATE, number
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.range_targets import in_process, process_tree, targets_by_path, targets_of_ranges
from kernelpoint.ranges import Ranges
from kernelpoint.ratios import RATIOS, rates_of
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.validation import ReplayCheck
from kernelpoint.session.verdict import (
    EXACT,
    LARGEST_UNMET,
    MODEL_ERROR,
    NOT_COVERED,
    NOTHING,
    SAMPLING_ERROR,
    TOTAL_ERROR,
    verdict,
)
from kernelpoint.totals.rules import unmet_shares

# ---- the summary -----------------------------------------------------------------------------------------------------


def summarise(
    setup: Setup, sample: Sample, checked: ReplayCheck, look: Look | None, degraded: Sequence[str]
) -> SummaryRecord:
    """Make the summary record of a run. Simulated and skipped launches add up to the list.

    Args:
        checked: the replay error.
        look: the statement of the sample; None where no estimate may be stated.
        degraded: failures, one sentence each.
    """
    config, host, plan, budget = setup.config, setup.host, sample.plan, setup.budget
    launches, simulated = len(sample.has_result), sample.results - sample.copies
    if look is None:
        totals = sample.engine.results.totals
        counters = as_stated({name: Estimate(simulated=value) for name, value in totals.items()})
        ratios, main, range_targets, assumptions = {}, Estimate(), {}, []
        warnings = ["the run ended before its pass was complete: no estimate is stated"]
    else:
        counters, ratios = as_stated(look.estimates), as_stated(look.ratios)
        main = {**ratios, **counters}.get(budget.counter, Estimate())
        range_targets = as_stated({name: total for name, total in look.ranges.items() if " of " in name})
        assumptions = [*look.assumptions, *filter(None, [checked.assumption])]
        warnings = [
            *look.warnings,
            *sample.projections.warnings(),
            *sample.warnings(),
            *filter(None, [checked.warning]),
        ]
        how = "replayed state" if host.restores_state else "whatever state the simulator starts with"
        warnings += [
            f"the run was resumed at launch unit {unit}, with {how}: launches from there on may differ from those of a run "
            "that was never interrupted"
            for unit in sample.restarts
        ]
    cycles, simulated_cycles = counters.get("cycles", Estimate()), None
    if cycles.simulated > 0.0:  # those of results and validation launches, less what projections and copies left out
        left_out = sample.projections.saved_cycles + sample.copied_cycles
        simulated_cycles = cycles.simulated + checked.cycles - left_out
    scope = _bound_scope(setup, checked, main.is_bounded, launches - sample.results)
    sampling_only = scope == SAMPLING_ERROR
    state = [f"{NOT_COVERED[0]}, and by how much is not known: {checked.reason}"] if sampling_only else []
    slow = look.open_unit if look is not None and main.is_bounded else None
    summary = SummaryRecord(
        launches=launches,
        simulated=simulated,
        skipped=launches - simulated,
        copied=sample.copies or None,
        passes=sample.pass_index + 1,
        projected=sample.projections.count,
        lost=sorted({*sample.failed(), *sample.left_out}),
        never_completed=sorted(sample.in_flight),
        restarts=list(sample.restarts),
        policy=config.policy.name,
        seed=config.seed,
        counter=budget.counter,
        confidence=budget.confidence,
        relative_error=budget.relative_error,
        further={**budget.further, **targets_of_ranges(config)},
        estimate=number(main.estimate),
        half_width=number(main.half_width),
        relative_half_width=number(main.relative_half_width),
        met=bool(look.met) if look else False,
        bound=budget.bound if main.is_bounded else "none",
        bound_scope=scope,
        bound_scope_reason=checked.reason if sampling_only else None,
        assumptions=assumptions,
        warnings=[*warnings, *(finding.sentence() for finding in setup.findings)],
        not_covered=[*state, MODEL_ERROR],
        cycle_speedup=_over(cycles.estimate, simulated_cycles),
        one_per_stream_speedup=_over(cycles.estimate, sample.one_per_stream_cycles() if look else None),
        counters=counters,
        ratios=ratios,
        range_targets=range_targets or None,
        processes=_processes(sample, look),
        kernels=kernel_records(plan, look, sample) if look else [],
        replay_errors=as_stated(checked.errors),
        open_launch=None
        if slow is None
        else OpenLaunchRecord(
            *sample.launch_of(slow.unit).place, plan.name_of_unit(slow.unit), slow.times, slow.probability
        ),
        unmet=unmet_shares(look, sample.engine, budget.confidence) if look and main.is_bounded else {},
        degraded=list(degraded),
        findings=list(setup.findings),
    )
    if not setup.withdrawing:
        return summary
    summary.met, summary.bound, summary.bound_scope, summary.unmet = False, "none", NOTHING, {}
    summary.bound_scope_reason = "; ".join(f"{finding.kind}: {finding.what}" for finding in setup.withdrawing)
    return without_bounds(summary)


def without_bounds(record: Any) -> Any:
    """Copy of a record without any half-width, inner records included.

    >>> without_bounds([Estimate.of(9.0, 1.0)])[0].is_bounded
    False
    """
    if isinstance(record, list):
        return [without_bounds(part_of_it) for part_of_it in record]
    if isinstance(record, dict):
        return {name: without_bounds(part_of_it) for name, part_of_it in record.items()}
    if not is_dataclass(record) or isinstance(record, type):
        return record
    nothing = math.nan if isinstance(record, Estimate) else None
    parts = {part.name: without_bounds(getattr(record, part.name)) for part in fields(record) if part.init}
    return replace(
        record,
        **{name: nothing if name in ("half_width", "relative_half_width") else part for name, part in parts.items()},
    )


def _bound_scope(setup: Setup, checked: ReplayCheck, bounded: bool, estimated: int) -> str:
    """Name of the error that the half-width bounds.

    Args:
        checked: its errors are part of the half-width.
        bounded: True if a half-width is stated.
        estimated: launches without a whole result of their own.
    """
    if not bounded:
        return NOTHING
    empty = setup.config.replay.state == "empty"
    begins_alike = (setup.host.stateless or empty) and estimated > 0  # each launch begins as in the full run
    if checked.errors or begins_alike:
        return TOTAL_ERROR
    replays = setup.host.restores_state and not setup.is_full_run and not empty
    return SAMPLING_ERROR if estimated or replays else EXACT


def _processes(sample: Sample, look: Look | None) -> list[PartTotals]:
    """Journal record of each application; without estimates if the run states none."""
    counts = sample.processes()
    if look is None or len(counts) == 1:
        estimates = as_stated(look.estimates) if look else {}
        return [PartTotals(process, *of, estimates) for process, of in enumerate(counts)]
    names = [[in_process(name, k) for k in range(len(counts))] for name in look.estimates]
    targets = {
        name: {k + 1: look.ranges[target] for k, target in enumerate(of) if target in look.ranges}
        for name, of in zip(look.estimates, names, strict=True)
    }
    parts = _parts(process_tree([launches for launches, _ in counts]), look, sample, targets)
    return [PartTotals(process, *part) for process, part in enumerate(parts[1:])]


def _over(above: float, below: float | None) -> float | None:
    """Ratio of two costs as a speedup; None if it has no meaning."""
    return number(above / below) if above and below and below > 0.0 else None


def sentence(summary: SummaryRecord) -> str:
    """First line of a summary for the user."""
    s = summary
    speed = f", cycle speedup {s.cycle_speedup:.4g}" if s.cycle_speedup else ""
    inside = f" ({s.projected:,} of them projections)" if s.projected else ""
    copied = f", {s.copied:,} taken over" if s.copied else ""
    note = " (degraded)" if s.degraded else ""
    return f"{verdict(s)}; {s.simulated:,} of {s.launches:,} launches simulated{inside}{copied}{speed}{note}"


# ---- estimates ------------------------------------------------------------------------------------------------------


def as_stated(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Convert estimates to the form of the journal, by name; nan and infinite numbers are left out.

    >>> as_stated({"reads": Estimate.of(4.0, math.inf)})["reads"].is_bounded
    False
    """
    return {name: _as_stated(estimate) for name, estimate in estimates.items()}


def _as_stated(estimate: Estimate) -> Estimate:
    return Estimate("", *(_finite(getattr(estimate, name)) for name in OF_ESTIMATE))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def look_record(pass_index: int, look: Look) -> LookRecord:
    """Journal record of an interim analysis."""
    return LookRecord(pass_index, bool(look.met), as_stated(look.estimates), as_stated(look.ratios))


# ---- parts of a run -------------------------------------------------------------------------------------------------


def range_records(ranges: Ranges, look: Look, sample: Sample) -> list[RangeRecord]:
    """Journal record of each range, in the order of `ranges.paths`.

    Args:
        look: the statement of the run.
        sample: the sample that it rests on, whose launches are those of the ranges.
    """
    targets = {name: _targets(ranges, look, name) for name in look.estimates}
    parts = _parts(Tree(ranges.parents, ranges.of_launch), look, sample, targets)
    return [RangeRecord(path, *part) for path, part in zip(ranges.paths, parts, strict=True)]


def kernel_records(plan: Plan, look: Look, sample: Sample) -> list[KernelRecord]:
    """Journal record of each kernel by name, with the counters for its rates; none if names or cycles are unknown.

    Args:
        look: the statement of the run.
        sample: the sample that it rests on.
    """
    kernels, counters = _kernels_of(plan), look.estimates.keys() & set(sample.engine.counters)
    if kernels is None or "cycles" not in counters:
        return []
    names, of_launch = kernels
    wanted = {"cycles", *(name for pair in rates_of(counters).values() for name in pair)}
    parts = _parts(
        Tree(np.array([-1, *[0] * len(names)]), of_launch + 1), look, sample, {name: {} for name in sorted(wanted)}
    )
    return [
        KernelRecord(name, launches, simulated, estimates)
        for name, (launches, simulated, estimates) in zip(names, parts[1:], strict=True)
        if "cycles" in estimates
    ]


def _kernels_of(plan: Plan) -> tuple[list[str], np.ndarray] | None:
    """Names of the kernels, and int32 [N], which one each launch is; None where the plan knows no names."""
    texts = plan.program.names
    if not texts.distinct:
        return None
    present, place = np.unique(np.where(texts.numbers >= 0, texts.numbers, len(texts.distinct)), return_inverse=True)
    names, of_kernel = np.unique(np.array([*texts.distinct, ""])[present], return_inverse=True)
    return names.tolist(), of_kernel.astype(np.int32)[place]


def _parts(
    tree: Tree, look: Look, sample: Sample, targets: Mapping[str, dict[int, Estimate]]
) -> list[tuple[int, int, dict[str, Estimate]]]:
    """Launches, simulated launches, and the estimates of the counters of `targets`, of each part of a run."""
    results, estimates = sample.has_result, {}
    for name, of_counter in targets.items():
        if name in look.estimates:
            is_reported = name in sample.engine.counters
            values = sample.estimates([name])[:, 0] if is_reported else sample.plan.count_of_unit(name)
            if values is not None and np.isfinite(values).all():
                estimates[name] = _of_counter(tree, look.estimates[name], values, sample, of_counter)
    launches, simulated = (tree.sums(count)[: tree.count].astype(int) for count in (np.ones(len(results)), results))
    return [
        (int(launches[k]), int(simulated[k]), {name: parts[k] for name, parts in estimates.items()})
        for k in range(tree.count)
    ]


def _targets(ranges: Ranges, look: Look, counter: str) -> dict[int, Estimate]:
    """Estimates of the ranges that have a target in a counter, by the number of the range."""
    return {ranges.paths.index(path): estimate for path, estimate in targets_by_path(counter, look.ranges).items()}


def _of_counter(
    tree: Tree, whole: Estimate, values: np.ndarray, sample: Sample, targets: dict[int, Estimate]
) -> list[Estimate]:
    errors = None if whole.half_width == 0.0 else sample.engine.unit_errors(whole.counter)
    parts = subtotals(tree, whole, values, sample.has_result, errors, sample.engine.has_bias, targets)
    return [_as_stated(part) for part in parts]


# ---- every launch ---------------------------------------------------------------------------------------------------


def launches_records(plan: Plan, sample: Sample) -> Iterator[LaunchesRecord]:
    """Journal records with the estimates and kernels of all launches, in blocks of one process."""
    if "cycles" not in sample.engine.counters:
        return
    cycles, strata = sample.estimates(["cycles"])[:, 0], sample.strata
    names_and_kernels, offsets = _kernels_of(plan), plan.program.offsets.tolist()
    kernels = np.full(len(cycles), -1) if names_and_kernels is None else names_and_kernels[1]
    for process, (begin, end) in enumerate(pairwise(offsets)):
        for first in range(begin, end, BLOCK):
            part = slice(first, min(first + BLOCK, end))
            yield LaunchesRecord(
                process=process,
                first=first - begin,
                count=part.stop - first,
                cycles=pack(cycles[part], "<f8"),
                strata=pack(strata[part], "<i4"),
                kernels=pack(kernels[part], "<i4"),
            )


# ---- the types of the ABI ---------------------------------------------------------------------------------------------

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
    """Rows of the C ABI (kp_estimate) for a set of estimates.

    Args:
        bounded: the run states a bound, so that an estimate without one is off by any amount; flags: by name.
    """
    open_width = math.inf if bounded else math.nan
    return [
        (name, flags.get(name, 0), e.estimate, e.half_width if e.is_bounded else open_width, e.simulated)
        for name, e in estimates.items()
    ]
