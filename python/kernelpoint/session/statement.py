"""The statement of a finished run: summary, ranges and an estimate of every launch as records of the journal, and the summary
in the types of the ABI (kernelpoint/abi.h)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from kernelpoint.estimation import Estimate, Look, PartTotals, Tree, subtotals
from kernelpoint.journal import (
    KernelRecord,
    LaunchesRecord,
    OpenLaunchRecord,
    RangeRecord,
    SummaryRecord,
)
from kernelpoint.journal.records import BLOCK, OF_ESTIMATE, number, pack
from kernelpoint.planning.range_targets import in_process, process_tree, targets_by_path, targets_of_ranges
from kernelpoint.ratios import RATIOS, rates_of
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.validation import ReplayCheck
from kernelpoint.session.verdict import (
    EXACT,
    MODEL_ERROR,
    NOT_COVERED,
    NOTHING,
    SAMPLING_ERROR,
    TOTAL_ERROR,
    simulated_launches,
    verdict,
)
from kernelpoint.totals.exact import exact_values
from kernelpoint.totals.rules import stated

Name = TypeVar("Name")
Part = tuple[int, int, dict[str, Estimate]]  # launches, simulated launches, estimates by counter


class Statement:
    """Final statement of a run: estimates, bounds and counts.

    Args:
        setup: configuration and launches of the run.
        sample: launches drawn, and their results.
        checked: error due to restored caches.
        degraded: one sentence for each failure.
        is_done: False if the run ended inside a pass (round of sampling); then there is no estimate.

    Attributes:
        summary: journal record with the statement.
        ranges: journal records of the parts of the program that the configuration names.
    """

    def __init__(self, setup: Setup, sample: Sample, checked: ReplayCheck, degraded: Sequence[str], is_done: bool) -> None:
        self._setup, self._sample, self._plan = setup, sample, sample.plan
        self._is_withdrawn = bool(setup.withdrawing)
        self._values: dict[str, np.ndarray] = {}
        self._look = self._last_look() if is_done and sample.is_complete else None
        self.summary = self._summarise(checked, degraded)
        self.ranges = self._range_records()

    def _last_look(self) -> Look | None:
        """Last interim analysis, with exact values where traces determine them; None where there was none."""
        setup, sample = self._setup, self._sample
        if sample.look is None:
            return None
        exact = {name: float(values.sum()) for name, values in self._exact.items()}
        latency = setup.host.launch_latency * self._plan.program.size
        engine, targets = sample.engine, setup.budget.targets
        return stated(sample.look, engine, self._plan, exact, targets, latency, sample.projected)

    @cached_property
    def _exact(self) -> dict[str, np.ndarray]:
        """float64 [N] for each counter that traces determine: its value of each launch."""
        engine, projected = self._sample.engine, self._sample.projected
        each = ((name, exact_values(self._plan, engine, projected, name)) for name in engine.counters)
        return {name: values for name, values in each if values is not None}

    def _stated(self, estimates: Mapping[Name, Estimate]) -> dict[Name, Estimate]:
        return as_stated(estimates, self._is_withdrawn)

    # ---- every launch -----------------------------------------------------------------------------------------------

    def _values_of(self, counter: str) -> np.ndarray:
        """float64 [N]: exact value of each launch from its trace, else its result, else its prediction, else the middle of its
        possible range.
        """
        if counter in self._values:
            return self._values[counter]
        if counter in self._exact:
            return self._exact[counter]
        engine = self._sample.engine
        values = engine.predict(np.arange(self._plan.program.size), [counter])[:, 0]
        for unit, missing in engine.nonresponse().items():
            values[unit] = missing[counter].estimate
        return values

    def values(self, counter: str) -> np.ndarray:
        """Value of a counter for every launch: its result, or its estimate. It is computed once for each counter."""
        self._values[counter] = values = self._values_of(counter)
        return values

    def launch(self, unit: int) -> tuple[float, float, bool, list[float]]:
        """Estimate of one launch: (cycles, instructions, True if simulated, all counters if simulated). Over all launches,
        cycles and instructions add up to the estimated totals.
        """
        cycles, instructions, *counters = [
            *(float(self.values(name)[unit]) for name in self._sample.engine.counters),
            *(math.nan for _ in range(2 - len(self._sample.engine.counters))),
        ]
        simulated = bool(self._sample.engine.results.rows[unit] >= 0)
        return cycles, instructions, simulated, counters if simulated else []

    def launches(self) -> Iterator[LaunchesRecord]:
        """Iterator over journal records with the estimates and kernels of all launches. Each record holds a block of launches
        of one process. Empty if the run states no estimate.
        """
        if self.summary.estimate is None or "cycles" not in self._sample.engine.counters:
            return
        cycles, strata = self.values("cycles"), self._sample.strata
        kernels = np.full(len(cycles), -1) if self._kernels is None else self._kernels[1]
        for process, (begin, end) in enumerate(pairwise(self._plan.program.offsets.tolist())):
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

    @cached_property
    def _kernels(self) -> tuple[list[str], np.ndarray] | None:
        """Names of the kernels, and int32 [N], which one each launch is; None where the plan knows no names."""
        texts = self._plan.program.names
        if not texts.distinct:
            return None
        numbers = np.where(texts.numbers >= 0, texts.numbers, len(texts.distinct))
        present, place = np.unique(numbers, return_inverse=True)
        names, of_kernel = np.unique(np.array([*texts.distinct, ""])[present], return_inverse=True)
        return names.tolist(), of_kernel.astype(np.int32)[place]

    # ---- the summary ------------------------------------------------------------------------------------------------

    def _summarise(self, checked: ReplayCheck, degraded: Sequence[str]) -> SummaryRecord:
        setup, sample, look = self._setup, self._sample, self._look
        config, host, plan, budget = setup.config, setup.host, self._plan, setup.budget
        launches, simulated = plan.program.size, sample.results - sample.copies
        if look is None:
            totals = sample.engine.results.totals
            counters = self._stated({name: Estimate(simulated=value) for name, value in totals.items()})
            ratios, main, range_targets, assumptions = {}, Estimate(), {}, []
            warnings = ["the run ended before its pass was complete: no estimate is stated"]
        else:
            counters, ratios = self._stated(look.estimates), self._stated(look.ratios)
            main = as_stated({**look.ratios, **look.estimates}).get(budget.counter, Estimate())
            range_targets = self._stated({name: total for name, total in look.ranges.items() if " of " in name})
            assumptions = [*look.assumptions, *filter(None, [checked.assumption])]
            warnings = [
                *look.warnings,
                *sample.projections.warnings(),
                *sample.warnings,
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
        scope = self._bound_scope(checked, main.is_bounded, launches - sample.results)
        sampling_only = scope == SAMPLING_ERROR
        state = [f"{NOT_COVERED[0]}, and by how much is not known: {checked.reason}"] if sampling_only else []
        slow = look.open_unit if look is not None and main.is_bounded else None
        summary = SummaryRecord(
            launches=launches,
            simulated=simulated,
            skipped=launches - simulated,
            validations=checked.simulated,
            copied=sample.copies or None,
            passes=sample.pass_index + 1,
            projected=sample.projections.count,
            lost=sorted({*sample.failed(), *sample.engine.left_out}),
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
            one_per_stream_speedup=_over(cycles.estimate, self._one_per_stream_cycles()),
            counters=counters,
            ratios=ratios,
            range_targets=range_targets or None,
            processes=self._processes(),
            kernels=self._kernel_records(),
            replay_errors=self._stated(checked.errors),
            open_launch=None
            if slow is None
            else OpenLaunchRecord(*sample.place(slow.unit), plan.name_of_unit(slow.unit), slow.times, slow.probability),
            degraded=list(degraded),
            findings=list(setup.findings),
        )
        if self._is_withdrawn:
            summary.met, summary.bound, summary.bound_scope = False, "none", NOTHING
            summary.half_width = summary.relative_half_width = None
            summary.bound_scope_reason = "; ".join(f"{finding.kind}: {finding.what}" for finding in setup.withdrawing)
        return summary

    def _bound_scope(self, checked: ReplayCheck, bounded: bool, estimated: int) -> str:
        """Name of the error that the half-width bounds.

        Args:
            checked: replay errors that are part of the half-width.
            bounded: True if a half-width is stated.
            estimated: number of launches whose result is estimated or projected.
        """
        if not bounded:
            return NOTHING
        host, empty = self._setup.host, self._setup.config.replay.state == "empty"
        begins_alike = (host.stateless or empty) and estimated > 0  # each launch begins as in the full run
        if checked.errors or begins_alike:
            return TOTAL_ERROR
        replays = host.restores_state and not self._setup.is_full_run and not empty
        return SAMPLING_ERROR if estimated or replays else EXACT

    def _one_per_stream_cycles(self) -> float | None:
        """Predicted cycles of one launch for each distinct instruction sequence; None if these are unknown."""
        program = self._plan.program
        if program.contents is None or self._look is None or "cycles" not in self._sample.engine.counters:
            return None
        _, first = np.unique(program.stream_ids, return_index=True)
        return float(self.values("cycles")[first].sum())

    # ---- parts of a run ---------------------------------------------------------------------------------------------

    def _processes(self) -> list[PartTotals]:
        """Journal record of each application; without estimates if the run states none."""
        look, parts = self._look, np.split(self._sample.has_result, self._plan.program.offsets[1:-1])
        counts = [(len(part), int(part.sum())) for part in parts]  # launches, and those with a result
        if look is None or len(counts) == 1:
            estimates = self._stated(look.estimates) if look else {}
            return [PartTotals(process, *of, estimates) for process, of in enumerate(counts)]
        targets = {
            name: {k + 1: look.ranges[of] for k in range(len(counts)) if (of := in_process(name, k)) in look.ranges}
            for name in look.estimates
        }
        _, *processes = self._parts(look, process_tree([launches for launches, _ in counts]), targets)
        return [PartTotals(process, *part) for process, part in enumerate(processes)]

    def _range_records(self) -> list[RangeRecord]:
        """Record of each range that the configuration names, in the order of `ranges.paths`."""
        look, ranges = self._look, self._setup.ranges
        if look is None or ranges is None or self.summary.estimate is None:
            return []
        targets = {
            name: {ranges.paths.index(path): total for path, total in targets_by_path(name, look.ranges).items()}
            for name in look.estimates
        }
        parts = self._parts(look, Tree(ranges.parents, ranges.of_launch), targets)
        return [RangeRecord(path, *part) for path, part in zip(ranges.paths, parts, strict=True)]

    def _kernel_records(self) -> list[KernelRecord]:
        """Record of each kernel by name, with the counters for its rates; none if names or cycles are unknown."""
        counters = self._look.estimates.keys() & set(self._sample.engine.counters) if self._look else set()
        if self._look is None or self._kernels is None or "cycles" not in counters:
            return []
        names, of_launch = self._kernels
        wanted = {"cycles", *(name for pair in rates_of(counters).values() for name in pair)}
        tree = Tree(np.array([-1, *[0] * len(names)]), of_launch + 1)
        parts = self._parts(self._look, tree, {name: {} for name in sorted(wanted)})
        records = [KernelRecord(name, *part) for name, part in zip(names, parts[1:], strict=True)]
        return [record for record in records if "cycles" in record.estimates]

    def _parts(self, look: Look, tree: Tree, targets: Mapping[str, dict[int, Estimate]]) -> list[Part]:
        """Each part of a run, with the estimates of the counters of `targets`.

        Args:
            targets: by counter, the estimates of parts that have a target of their own.
        """
        results, estimates = self._sample.has_result, dict[str, list[Estimate]]()
        for name, of_counter in targets.items():
            whole = look.estimates.get(name)
            if whole is not None and (parts := self._subtotals(tree, name, whole, of_counter)):
                estimates[name] = list(self._stated(dict(enumerate(parts))).values())
        launches, simulated = (tree.sums(count)[: tree.count].astype(int) for count in (np.ones(len(results)), results))
        return [
            (int(launches[k]), int(simulated[k]), {name: parts[k] for name, parts in estimates.items()})
            for k in range(tree.count)
        ]

    def _subtotals(self, tree: Tree, name: str, whole: Estimate, targets: Mapping[int, Estimate]) -> list[Estimate]:
        """Estimates of one counter in each part; none where the value of a launch is unknown."""
        engine = self._sample.engine
        values = self._values_of(name) if name in engine.counters else self._plan.count_of_unit(name)
        if values is None or not np.isfinite(values).all():
            return []
        errors = None if whole.half_width == 0.0 else engine.unit_errors(whole.counter)
        return subtotals(tree, whole, values, self._sample.has_result, errors, engine.has_bias, targets)


def _over(above: float, below: float | None) -> float | None:
    """Ratio of two costs as a speedup; None if it has no meaning."""
    return number(above / below) if above and below and below > 0.0 else None


def sentence(summary: SummaryRecord) -> str:
    """First line of a run's summary for the user."""
    s = summary
    speed = f", cycle speedup {s.cycle_speedup:.4g}" if s.cycle_speedup else ""
    inside = f" ({s.projected:,} of them projections)" if s.projected else ""
    copied = f", {s.copied:,} taken over" if s.copied else ""
    note = " (degraded)" if s.degraded else ""
    return f"{verdict(s)}; {simulated_launches(s.simulated, s.launches, s.validations)}{inside}{copied}{speed}{note}"


# ---- estimates ------------------------------------------------------------------------------------------------------


def as_stated(estimates: Mapping[Name, Estimate], is_withdrawn: bool = False) -> dict[Name, Estimate]:
    """Convert estimates to the form of the journal. Numbers that are nan or infinite are left out.

    Args:
        estimates: estimates by counter, or by another key.
        is_withdrawn: True for a run that states no bound; half-widths are then left out too.

    >>> as_stated({"reads": Estimate.of(4.0, math.inf)})["reads"].is_bounded
    False
    """
    left_out = ("half_width", "relative_half_width", "at_most") if is_withdrawn else ()
    parts = {
        name: [math.nan if part in left_out else getattr(one, part) for part in OF_ESTIMATE] for name, one in estimates.items()
    }
    return {name: Estimate("", *(v if math.isfinite(v) else math.nan for v in values)) for name, values in parts.items()}


# ---- the types of the ABI ---------------------------------------------------------------------------------------------

DEGRADED, NO_BOUND = 1, 2  # KP_SUMMARY_*
OF_SAMPLING = 2  # KP_ESTIMATE_SAMPLING
Row = tuple[str, int, float, float, float, float]  # name, flags, estimate, half-width, simulated, limit


@dataclass(frozen=True)
class Summary:
    """Summary of a run in the form of the C interface (`kp_summary` and `kp_estimate` in kernelpoint/abi.h).

    A row of estimates is (name, flags, estimate, half-width, total of simulated launches, upper limit); numbers are nan if
    not stated. A process is (index, launches, simulated launches, rows).
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
        """Convert the journal's summary of a run to the form of the C interface. `saved_seconds` is the processor time that the
        run saved, or None.
        """
        bounded, names = record.half_width is not None, set[str]()  # names: without the error of restored caches
        if record.bound_scope in (TOTAL_ERROR, SAMPLING_ERROR):
            names = {n for n, e in record.counters.items() if e.half_width > 0.0 and n not in record.replay_errors}
            names |= {name for name in record.ratios if names & set(RATIOS[name])}
        sampled = dict.fromkeys(names, OF_SAMPLING)
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
            estimates=_rows(record.counters, bounded, sampled),
            ratios=_rows(record.ratios, bounded, sampled),
            processes=[(p.number, p.launches, p.simulated, _rows(p.estimates, bounded, sampled)) for p in record.processes],
        )


def _rows(estimates: Mapping[str, Estimate], bounded: bool, flags: Mapping[str, int]) -> list[Row]:
    """Rows of the C ABI (kp_estimate) for a set of estimates.

    Args:
        bounded: True if the run states a bound: the half-width of an estimate without one is then infinite, not nan.
        flags: flags of kp_estimate by name.
    """
    open_width = math.inf if bounded else math.nan
    return [
        (name, flags.get(name, 0), e.estimate, e.half_width if e.is_bounded else open_width, e.simulated, e.at_most)
        for name, e in estimates.items()
    ]
