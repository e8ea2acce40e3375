"""Arrays that the page of a run draws, gathered from its journal and plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernelpoint.errors import PlanError
from kernelpoint.estimation import Design, Estimate
from kernelpoint.journal import KernelRecord, Run
from kernelpoint.planning.plan import Plan
from kernelpoint.profiles.names import base_key, readable
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.ratios import RATIOS, rates_of
from kernelpoint.repeated import first_of_each
from kernelpoint.report.full_run import FullRun, compare

OTHERS = "other kernels"
UNNAMED = "(name not known)"
SHARES = ("l1_miss_rate", "l2_miss_rate")


@dataclass(frozen=True)
class Variant:
    """A kernel with its template arguments: readable name, launches, simulated launches, estimated cycles, and totals for its
    rates.
    """

    name: str
    launches: int
    simulated: int
    cycles: float
    totals: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def rates(self) -> dict[str, Estimate]:
        """IPC, miss rates and stalls of the kernel."""
        return rates_from(self.totals)


def rates_from(totals: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """IPC, miss rates (at most 1) and stalls from totals. Rates that divide by zero, or lie below their half-width, are left
    out.

    >>> ipc = rates_from({"instructions": Estimate.exact(90.0), "cycles": Estimate.of(45.0, 0.9)})["ipc"]
    >>> ipc.estimate, ipc.half_width
    (2.0, 0.04)
    """
    pairs = rates_of(totals).items()
    rates = {name: totals[top] / totals[bottom] for name, (top, bottom) in pairs if totals[bottom].estimate}
    rates = {name: rate for name, rate in rates.items() if rate.half_width <= rate.estimate}
    return {
        name: replace(rate, estimate=min(rate.estimate, 1.0)) if name in SHARES else rate
        for name, rate in rates.items()
    }


@dataclass(frozen=True)
class Kernel(Variant):
    """One kernel of the workload, all of its variants together.

    Attributes:
        share: of the estimated total of all kernels.
        cov: standard deviation over mean of the simulated launches' cycles; None of fewer than two.
        variance: its part in the variance of the estimate, see `_variances`; None where the run has no estimates of launches.
        truth: its totals in a full run; None where there is none.
        variants: its instances with other template arguments or namespaces, by falling cycles.
    """

    share: float = 0.0
    cov: float | None = None
    variance: float | None = None
    truth: Mapping[str, Estimate] | None = None
    variants: tuple[Variant, ...] = ()

    @property
    def error(self) -> float | None:
        """Relative error of `cycles` against a full run; None without one."""
        true = self.truth["cycles"].estimate if self.truth else 0.0
        return self.cycles / true - 1.0 if true else None


@dataclass(frozen=True)
class PassEnd:
    """End of a pass: its number, launches simulated so far, estimate and half-width."""

    number: int
    simulated: int
    estimate: float
    half_width: float


@dataclass(frozen=True)
class RunView:
    """Everything that the page of a run shows, as arrays.

    Attributes:
        counter: the counter of `values`: that of the error budget, or cycles where the budget is on a ratio.
        simulated: bool [launches]; values: float64 [launches], 0 where not simulated.
        kernels: by falling share; kernel_of_launch: int64 [launches], an index into it.
        looks: one for each finished pass; relative_error: the error budget; truth: the full run, where there is one.
        stream_map: float [S, 2] or None; stream_names, stream_launches: of each stream.
    """

    launches: int
    counter: str
    simulated: np.ndarray
    values: np.ndarray
    kernels: list[Kernel]
    kernel_of_launch: np.ndarray
    looks: list[PassEnd]
    relative_error: float
    truth: FullRun | None
    stream_map: np.ndarray | None
    stream_names: list[str]
    stream_launches: np.ndarray


def view_of(run: Run, full_run: Run | None = None) -> RunView:
    """Data for the page of a finished run, with the plan it used. Arguments as in view_run."""
    return view_run(run, plan_of(run)[0], full_run)


def view_run(run: Run, plan: Plan, full_run: Run | None = None) -> RunView:
    """Collect the data for the page of a finished run.

    Args:
        run: the journal.
        plan: the plan that the run used.
        full_run: a full run of the same list, where there was one.
    """
    count = len(plan.design.labels)
    simulated, values, counter = _results(run, count)
    stated, streams = run.launch_estimates, plan.stream_ids
    kernel_ids = None if stated is None else stated.kernels
    names = [base_key(kernel.name) for kernel in run.ended().kernels]
    kernels, of_launch = _kernels(run, kernel_ids, names, full_run)
    of_streams = [] if streams is None or kernel_ids is None else kernel_ids[first_of_each(streams)].tolist()
    return RunView(
        launches=count,
        counter=counter,
        simulated=simulated,
        values=values,
        kernels=kernels,
        kernel_of_launch=of_launch,
        looks=pass_ends(run, run.ended().counter),
        relative_error=run.ended().relative_error,
        truth=compare(run, full_run) if full_run else None,
        stream_map=plan.stream_map if streams is not None else None,
        stream_names=[names[kernel] if kernel >= 0 else UNNAMED for kernel in of_streams],
        stream_launches=np.empty(0, dtype=np.int64) if streams is None else np.bincount(streams[streams >= 0]),
    )


def _truths(full_run: Run | None, kernel: np.ndarray, count: int) -> list[dict[str, Estimate]] | None:
    """Totals of each kernel in a full run; None where there is none."""
    if full_run is None:
        return None
    place, results = kernel[list(full_run.results)], full_run.results.values()
    sums = {
        name: np.bincount(place, [r.counters.get(name, np.nan) for r in results], count) for name in full_run.counters
    }
    return [{name: Estimate.exact(float(of[k])) for name, of in sums.items()} for k in range(count)]


def _kernels(
    run: Run, kernel_ids: np.ndarray | None, names: list[str], full_run: Run | None
) -> tuple[list[Kernel], np.ndarray]:
    """The kernels by falling share, and the place of each launch's kernel among them."""
    variants = _variants(run)  # several instances of a template have one short name
    estimates = {name: sum(variant.cycles for variant in of_kernel) for name, of_kernel in variants.items()}
    if kernel_ids is None or not estimates:
        return [], np.zeros(sum(run.launches), dtype=np.int64)
    distinct, of_name = np.unique([*names, UNNAMED], return_inverse=True)
    kernel = of_name[np.where(kernel_ids >= 0, kernel_ids, len(names))]
    launches = np.bincount(kernel, minlength=len(distinct))
    drawn, covs = _spreads(run, kernel, len(distinct))
    variances = _variances(run, kernel, len(distinct))
    truths = _truths(full_run, kernel, len(distinct))
    cycles = np.array([estimates.get(name, 0.0) for name in distinct.tolist()])
    order = np.argsort(-cycles, kind="stable")
    order = order[launches[order] > 0]
    total = max(float(cycles.sum()), 1e-300)
    kernels = [
        Kernel(
            name=str(distinct[k]),
            launches=int(launches[k]),
            simulated=int(drawn[k]),
            cycles=float(cycles[k]),
            share=float(cycles[k]) / total,
            cov=covs[k],
            variance=None if variances is None else float(variances[k]),
            totals=_together(variants.get(str(distinct[k]), ())),
            truth=None if truths is None else truths[k],
            variants=variants.get(str(distinct[k]), ()),
        )
        for k in order.tolist()
    ]
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return kernels, rank[kernel]


def _variants(run: Run) -> dict[str, tuple[Variant, ...]]:
    """The kernels of the summary by short name, those with the most cycles first."""
    by_name: dict[str, list[Variant]] = {}

    def cycles(kernel: KernelRecord) -> float:
        return float(np.nan_to_num(kernel.estimates.get("cycles", Estimate()).estimate))

    for kernel in sorted(run.ended().kernels, key=lambda kernel: -cycles(kernel)):
        totals = {name: total for name, total in kernel.estimates.items() if not math.isnan(total.estimate)}
        variant = Variant(readable(kernel.name), kernel.launches, kernel.simulated, cycles(kernel), totals)
        by_name.setdefault(base_key(kernel.name), []).append(variant)
    return {name: tuple(variants) for name, variants in by_name.items()}


def _together(variants: Sequence[Variant]) -> dict[str, Estimate]:
    """Totals of all variants of a kernel, of the counters that each of them has."""
    if not variants:
        return {}
    first, *others = (variant.totals for variant in variants)
    return {
        name: sum((other[name] for other in others), total)
        for name, total in first.items()
        if all(name in other for other in others)
    }


def _spreads(run: Run, kernel: np.ndarray, count: int) -> tuple[np.ndarray, list[float | None]]:
    """Number of simulated launches of each kernel, and the coefficient of variation of their cycles."""
    values: list[list[float]] = [[] for _ in range(count)]
    for unit, result in run.results.items():
        values[kernel[unit]].append(result.counters["cycles"])
    covs = [float(np.std(v, ddof=1) / np.mean(v)) if len(v) > 1 and np.mean(v) > 0.0 else None for v in values]
    return np.array([len(v) for v in values]), covs


def _variances(run: Run, kernel: np.ndarray, count: int) -> np.ndarray | None:
    """Part of each kernel in the variance of the estimated cycles, float64 [kernels], of sum 1; None where it is not known."""
    if (estimates := run.launch_estimates) is None:
        return None
    inside = estimates.strata >= 0
    simulated = np.zeros(len(kernel), dtype=bool)
    simulated[list(run.results)] = True
    return _variance_shares(
        estimates.strata[inside], simulated[inside], estimates.cycles[inside], kernel[inside], count
    )


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


def _results(run: Run, count: int) -> tuple[np.ndarray, np.ndarray, str]:
    counter = run.ended().counter
    if counter in RATIOS:  # launches have no share of a ratio; they have one of the cycles
        counter = "cycles"
    simulated, values = np.zeros(count, dtype=bool), np.zeros(count)
    for unit, record in run.results.items():
        simulated[unit] = True
        values[unit] = record.counters[counter]
    return simulated, values, counter


def pass_ends(run: Run, counter: str) -> list[PassEnd]:
    """Ends of the passes that have an estimate of the counter."""
    looks = []
    results = sorted(record.pass_index for record in run.results.values())
    for look in run.looks:
        seen = int(np.searchsorted(results, look.pass_index, side="right"))
        estimate = {**look.ratios, **look.estimates}.get(counter)
        if estimate is not None and not math.isnan(estimate.estimate):
            looks.append(PassEnd(look.pass_index, seen, estimate.estimate, estimate.half_width))
    return looks


def plan_of(run: Run) -> tuple[Plan, str]:
    """Plan of a run. If the file is missing: one cluster of all launches, and a note if the run had more."""
    counts, seed, path = run.launches, run.setting("seed"), run.frozen.plan
    u = np.concatenate([permanent_random_numbers(seed, process, count) for process, count in enumerate(counts)])
    note = ""
    if path:
        try:
            return Plan.load(path, u), note
        except PlanError as error:
            note = f"The clusters are not shown, for the run's plan cannot be read any more: {error}"
    design = Design(strata=np.zeros(len(u), dtype=np.int32), first_sizes=np.ones(1, dtype=np.int64), u=u)
    return Plan(design=design, origin={}), note
