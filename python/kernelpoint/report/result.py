"""The result of a finished run, collected once from its journal and plan: what its text, page, figures and comparisons show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kernelpoint.errors import JournalError, PlanError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import KernelRecord, Run
from kernelpoint.pages.numbers import error, is_finite, number
from kernelpoint.planning.forecast import compared
from kernelpoint.planning.plan import Plan
from kernelpoint.profiles.names import base_key, readable
from kernelpoint.program import Program
from kernelpoint.ratios import RATIOS, rates_of
from kernelpoint.repeated import first_of_each

OTHERS = "other kernels"
UNNAMED = "(name not known)"
SHARES = ("l1_miss_rate", "l2_miss_rate")
NO_CYCLES = Estimate.of(0.0)  # of a kernel without an estimate


@dataclass(slots=True)
class Kernel(KernelRecord):
    """One kernel of a run. Instances with other template arguments or namespaces are counted as the same kernel.

    Attributes:
        share: kernel's share of the estimated cycles of all kernels, 0 to 1.
        cov: coefficient of variation of the simulated launches' cycles; None for fewer than two launches.
        variance: kernel's share of the variance of the estimate, 0 to 1; None if launches have no estimates.
        truth: totals of the kernel in a full run; None without a full run.
        variants: the instances of the kernel, by falling cycles.
    """

    share: float = 0.0
    cov: float | None = None
    variance: float | None = None
    truth: Mapping[str, Estimate] | None = None
    variants: Sequence[KernelRecord] = ()

    @property
    def cycles(self) -> Estimate:
        """Estimated total cycles of all launches of the kernel."""
        return self.estimates.get("cycles", NO_CYCLES)

    @property
    def error(self) -> float | None:
        """Relative error of the kernel's estimated cycles against a full run; None without a full run."""
        true = self.truth["cycles"].estimate if self.truth else 0.0
        return self.cycles.estimate / true - 1.0 if true else None


def rates_from(totals: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """IPC, miss rates (at most 1) and stalls per instruction, computed from totals by counter.

    Rates that divide by zero, or are smaller than their half-width, are left out.

    >>> ipc = rates_from({"instructions": Estimate.exact(90.0), "cycles": Estimate.of(45.0, 0.9)})["ipc"]
    >>> ipc.estimate, ipc.half_width
    (2.0, 0.04)
    """
    pairs = rates_of(totals).items()
    rates = {name: totals[top] / totals[bottom] for name, (top, bottom) in pairs if totals[bottom].estimate}
    return {
        name: replace(rate, estimate=min(rate.estimate, 1.0)) if name in SHARES else rate
        for name, rate in rates.items()
        if rate.half_width <= rate.estimate
    }


@dataclass(frozen=True)
class FullRun:
    """Comparison of a sampled run's estimate with the totals of a full run.

    Attributes:
        total: total of the error budget's counter in the full run.
        error: (estimate - total) / total; None if the sampled run states no estimate.
        inside: True if the total lies inside the stated confidence interval; None if no interval is stated.
        non_sampling_error: relative difference between the simulated launches' cycles and those of the same launches in the
            full run; None if no launch was simulated.
        totals: total of every counter and ratio in the full run.
    """

    total: float
    error: float | None
    inside: bool | None
    non_sampling_error: float | None
    totals: dict[str, float] = field(default_factory=dict)

    @classmethod
    def beside(cls, run: Run, full: Run) -> FullRun:
        """Compare a sampled run with a full run, in which every launch was simulated.

        Args:
            run: the sampled run.
            full: the full run of the same trace list.

        Raises:
            JournalError: a run has not ended, or `full` has other traces or another simulated GPU, or did not simulate every
                launch.
        """
        s, counter = run.ended(), run.ended().counter
        for key in ("traces", "simulator_config"):
            if run.hashes.get(key) != full.hashes.get(key):
                raise JournalError(
                    f"{full.path}: this is not a full run of the same launches on the same simulated GPU, since {key} "
                    "differs; name the journal of such a run"
                )
        totals = {name: row.simulated for name, row in full.estimates().items() if is_finite(row.simulated)}
        if full.ended().skipped or counter not in totals:
            raise JournalError(
                f"{full.path}: {full.ended().simulated:,} of {full.ended().launches:,} launches were simulated, so it is no "
                f"full run of {counter}; make one with `policy: all` and another `journal:`"
            )
        total, off, inside = totals[counter], None, None
        if s.estimate is not None and total > 0.0:
            off = s.estimate / total - 1.0
        if s.estimate is not None and s.half_width is not None:
            inside = abs(s.estimate - total) <= s.half_width
        before = sum(full.results[unit].counters["cycles"] for unit in run.results)
        after = sum(result.counters["cycles"] for result in run.results.values())
        return cls(total, off, inside, after / before - 1.0 if before else None, totals)

    def sentence(self) -> str:
        """Sentence that compares the sampled run with the full run.

        >>> FullRun(total=1000.0, error=0.002, inside=True, non_sampling_error=0.0001).sentence()
        'full run: 1,000; error +0.200 %, inside the stated interval; non-sampling error +0.010 %'
        """
        parts = [f"full run: {number(self.total)}"]
        if self.error is not None:
            place = "" if self.inside is None else f", {'inside' if self.inside else 'OUTSIDE'} the stated interval"
            parts.append(f"error {error(self.error)}{place}")
        if self.non_sampling_error is not None:
            parts.append(f"non-sampling error {error(self.non_sampling_error)}")
        return "; ".join(parts)


class PassEnd(NamedTuple):
    """End of a pass (round of sampling): its index, the number of launches simulated so far, and the estimate."""

    number: int
    simulated: int
    estimate: Estimate


@dataclass(frozen=True)
class Result:
    """Content of the report of a finished run with N launches.

    Attributes:
        counter: name of the counter in `values`: the counter of the error budget, or cycles if the budget is on a ratio.
        simulated: bool [N], True for simulated launches.
        values: float64 [N], simulated value of the counter; 0 for other launches.
        kernels: kernels by falling share of the total.
        kernel_of_launch: int64 [N], index into `kernels`.
        passes: ends of the passes (rounds of sampling) that have an estimate.
        truth: comparison with a full run, or None.
        stream_map: float [S, 2], position of each of the S distinct instruction sequences on a map of similar ones, or None.
        stream_names, stream_launches: kernel name and number of launches of each instruction sequence.
        note: sentence on missing parts of the report, or empty.
        forecast: sentence that compares the run with its forecast, or empty.
    """

    run: Run
    counter: str
    simulated: np.ndarray
    values: np.ndarray
    kernels: list[Kernel]
    kernel_of_launch: np.ndarray
    passes: list[PassEnd]
    truth: FullRun | None
    stream_map: np.ndarray | None = None
    stream_names: Sequence[str] = ()
    stream_launches: Sequence[int] | np.ndarray = ()
    note: str = ""
    forecast: str = ""


def result_of(run: Run, full_run: Run | None = None) -> Result:
    """Collect the content of the report of a finished run.

    Args:
        run: finished run; its plan file may be missing.
        full_run: a run of the same list that simulated every launch, to compare with.

    Raises:
        JournalError: the run has not ended, or the full run has other traces or another simulated GPU.

    >>> import kernelpoint as kp
    >>> result = result_of(kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="gcl"))
    >>> [(kernel.name, kernel.launches, kernel.simulated) for kernel in result.kernels]
    [('axpy_f32', 6, 1)]
    """
    s, (plan, note) = run.ended(), _plan_of(run)
    counter = "cycles" if s.counter in RATIOS else s.counter  # launches have no share of a ratio
    units, values = list(run.results), np.zeros(sum(run.launches))
    values[units] = [record.counters[counter] for record in run.results.values()]
    simulated = np.zeros(len(values), dtype=bool)
    simulated[units] = True
    kernels, of_launch = _kernels(run, simulated, full_run)
    forecast, stream_map, stream_names, stream_launches = "", None, list[str](), np.zeros(0, dtype=np.int64)
    if plan is not None:
        forecast = compared(plan.forecast, s.relative_error, s.simulated, s.cycle_speedup, s.further) or ""
    if plan is not None and plan.program.contents is not None:
        streams = plan.program.stream_ids
        names = [*(base_key(kernel.name) for kernel in s.kernels), UNNAMED]  # -1: the last
        if (estimates := run.launch_estimates) is not None:
            stream_names = [names[kernel] for kernel in estimates.kernels[first_of_each(streams)].tolist()]
        stream_map, stream_launches = plan.stream_map, np.bincount(streams[streams >= 0])
    return Result(
        run=run,
        counter=counter,
        simulated=simulated,
        values=values,
        kernels=kernels,
        kernel_of_launch=of_launch,
        passes=pass_ends(run, s.counter),
        truth=FullRun.beside(run, full_run) if full_run else None,
        stream_map=stream_map,
        stream_names=stream_names,
        stream_launches=stream_launches,
        note=note,
        forecast=forecast,
    )


def _kernels(run: Run, simulated: np.ndarray, full_run: Run | None) -> tuple[list[Kernel], np.ndarray]:
    """Kernels sorted by their share of the cycles, and the index of each launch's kernel."""
    estimates, variants = run.launch_estimates, _variants(run)
    if estimates is None or not variants:
        return [], np.zeros(len(simulated), dtype=np.int64)
    names = [*(base_key(kernel.name) for kernel in run.ended().kernels), UNNAMED]
    distinct, of_name = np.unique(names, return_inverse=True)  # several instances of a template have one short name
    kernel, count = of_name[estimates.kernels], len(distinct)
    launches, drawn = (np.bincount(kernel, weights, count).astype(int) for weights in (None, simulated))
    cycles_of: list[list[float]] = [[] for _ in range(count)]
    for unit, result in run.results.items():
        cycles_of[kernel[unit]].append(result.counters["cycles"])
    in_stratum = estimates.strata >= 0
    drawn_by_chance, cycles = simulated[in_stratum], estimates.cycles[in_stratum]
    variances = _variance_shares(estimates.strata[in_stratum], drawn_by_chance, cycles, kernel[in_stratum], count)
    truths = {} if full_run is None else {name: _together(of_name) for name, of_name in _variants(full_run).items()}
    kernels = []
    for k, name in enumerate(distinct.tolist()):
        results, of_kernel = cycles_of[k], variants.get(name, [])
        made = Kernel(name, int(launches[k]), int(drawn[k]), _together(of_kernel), variants=of_kernel)
        if len(results) > 1 and any(results):
            made.cov = float(np.std(results, ddof=1) / np.mean(results))
        made.variance = None if variances is None else float(variances[k])
        made.truth = truths.get(name)
        kernels.append(made)
    estimated = np.array([each.cycles.estimate for each in kernels])
    for each in kernels:
        each.share = each.cycles.estimate / max(float(estimated.sum()), 1e-300)
    order = np.argsort(-estimated, kind="stable")
    order = order[launches[order] > 0]
    rank = np.zeros(count, dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [kernels[k] for k in order.tolist()], rank[kernel]


def _variants(run: Run) -> dict[str, list[KernelRecord]]:
    """The kernels of the summary by short name, those with the most cycles first, with the totals that are known."""
    by_name: dict[str, list[KernelRecord]] = {}
    for kernel in run.ended().kernels:
        totals = {name: total for name, total in kernel.estimates.items() if not math.isnan(total.estimate)}
        variant = replace(kernel, name=readable(kernel.name), estimates=totals)
        by_name.setdefault(base_key(kernel.name), []).append(variant)
    for variants in by_name.values():
        variants.sort(key=lambda variant: -variant.estimates.get("cycles", NO_CYCLES).estimate)
    return by_name


def _together(variants: Sequence[KernelRecord]) -> dict[str, Estimate]:
    """Totals of a kernel over all its variants, for the counters that every variant has."""
    if not variants:
        return {}
    first, *others = (variant.estimates for variant in variants)
    return {
        name: sum((other[name] for other in others), total)
        for name, total in first.items()
        if all(name in other for other in others)
    }


def _variance_shares(
    strata: np.ndarray, simulated: np.ndarray, values: np.ndarray, groups: np.ndarray, count: int
) -> np.ndarray | None:
    """Share of each group in the variance of the estimated total, float64 [count], of sum 1; None where there is no variance.

    A unit of stratum h counts (N_h - n_h) / n_h times the squared mean of the stratum. Model: relative errors of
    predictions are equally large in every stratum, as the pooled variance of the estimate takes them to be.

    Args:
        strata: int [n], 0 ... H - 1; simulated: bool [n]; values: float64 [n], estimated amount of each unit, nan where there
            is none; groups: int [n], 0 ... count - 1. Units of no stratum are left out.
    """
    sizes = np.bincount(strata)
    drawn = np.bincount(strata, weights=simulated, minlength=len(sizes))
    means = np.bincount(strata, weights=np.nan_to_num(values)) / np.maximum(sizes, 1)
    each = (sizes - drawn) / np.maximum(drawn, 1.0) * means**2
    parts = np.bincount(groups, weights=each[strata], minlength=count)
    return parts / parts.sum() if parts.sum() > 0.0 else None


def pass_ends(run: Run, counter: str) -> list[PassEnd]:
    """Ends of the passes (rounds of sampling) that estimated the counter. For a run in progress, those so far."""
    passes = np.sort([record.pass_index for record in run.results.values()])
    ends = []
    for look in run.looks:
        estimate = {**look.ratios, **look.estimates}.get(counter)
        if estimate is not None and not math.isnan(estimate.estimate):
            simulated = int(np.searchsorted(passes, look.pass_index, side="right"))
            ends.append(PassEnd(look.pass_index, simulated, estimate))
    return ends


def _plan_of(run: Run) -> tuple[Plan | None, str]:
    """Plan of a run, and a sentence if it had one that cannot be read any more."""
    if not (path := run.frozen.plan):
        return None, ""
    try:
        return Plan.load(path, Program(tuple(run.launches), int(run.setting("seed")))), ""
    except PlanError as error:
        return None, f"The clusters are not shown, for the run's plan cannot be read any more: {error}"
