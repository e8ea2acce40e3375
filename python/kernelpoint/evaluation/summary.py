"""From rows to the numbers of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint.evaluation.evaluate import Row


@dataclass(frozen=True)
class Line:
    """One policy at one budget, over the seeds of one workload or over all workloads.

    cycle speedups: harmonic, geometric and arithmetic mean over workloads; of one workload all three are its total over
    the mean of what was simulated.

    Attributes:
        error_mean, error_max: of |error|.
        bias: mean of the signed error.
        spread: standard deviation of the signed error over seeds (mean over workloads).
        beyond_latency: mean |error| as a share of the total without the launch latency, where a workload names one.
        held: share of runs whose stated bound held, nan where none stated one.
        within: share of runs with |error| within the budget.
        simulated: launches, mean over seeds, summed over workloads.
        from_truth: True if any run planned from the times that it is judged on.
        reasons: for missing runs.
    """

    workload: str
    policy: str
    relative_error: float
    workloads: int
    runs: int
    harmonic: float
    geometric: float
    arithmetic: float
    error_mean: float
    error_max: float
    bias: float
    spread: float
    beyond_latency: float
    bound: str
    half_width: float
    held: float
    within: float
    simulated: float
    launches: int
    planning_seconds: float
    from_truth: bool
    reasons: tuple[str, ...] = ()


def means(speedups: Sequence[float]) -> tuple[float, float, float]:
    """Harmonic, geometric and arithmetic mean.

    >>> [round(m, 3) for m in means([1.0, 4.0])]
    [1.6, 2.0, 2.5]
    """
    values = np.asarray(speedups, dtype=float)
    if not len(values):
        return math.nan, math.nan, math.nan
    return float(1.0 / (1.0 / values).mean()), float(np.exp(np.log(values).mean())), float(values.mean())


def per_workload(rows: Iterable[Row]) -> list[Line]:
    """A line for each workload, policy and budget, in the order in which they first appear."""
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.workload, row.policy, row.relative_error), []).append(row)
    return [_of_seeds(*key, group) for key, group in groups.items()]


def _of_seeds(workload: str, policy: str, budget: float, rows: list[Row]) -> Line:
    good = [row for row in rows if not row.reason]
    reasons = tuple(dict.fromkeys(row.reason for row in rows if row.reason))
    nan = math.nan
    if not good:
        return Line(workload, policy, budget, 0, 0, nan, nan, nan, nan, nan, nan, nan, nan, "none", nan, nan, nan, nan,
                    rows[0].launches, nan, False, reasons)  # fmt: skip
    errors = np.array([row.error for row in good])
    simulated = float(np.mean([row.simulated_total for row in good]))
    speedup = good[0].total / simulated if simulated > 0 else math.inf
    held = [row.held for row in good if row.held is not None]
    return Line(
        workload, policy, budget, 1, len(good), speedup, speedup, speedup,
        error_mean=float(np.abs(errors).mean()),
        error_max=float(np.abs(errors).max()),
        bias=float(errors.mean()),
        spread=float(errors.std(ddof=1)) if len(good) > 1 else 0.0,
        beyond_latency=float(np.abs([row.error_beyond_latency for row in good]).mean()),
        bound=good[0].bound,
        half_width=float(np.mean([row.half_width for row in good])),
        held=float(np.mean(held)) if held else nan,
        within=float((np.abs(errors) <= budget).mean()),
        simulated=float(np.mean([row.simulated for row in good])),
        launches=good[0].launches,
        planning_seconds=float(np.mean([row.planning_seconds for row in good])),
        from_truth=any(row.from_truth for row in good),
        reasons=reasons,
    )  # fmt: skip


def overall(lines: Iterable[Line]) -> list[Line]:
    """A line for each policy and budget over all workloads on which any policy ran.

    Averages over different workloads cannot be compared, so a policy that did not run on all of them gets no numbers, but a
    reason.
    """
    groups: dict[tuple[str, float], list[Line]] = {}
    ran: set[str] = set()
    for line in lines:
        groups.setdefault((line.policy, line.relative_error), []).append(line)
        ran |= {line.workload} if line.runs else set()
    return [_of_workloads(*key, group, len(ran)) for key, group in groups.items()]


def _of_workloads(policy: str, budget: float, lines: list[Line], workloads: int) -> Line:
    good = [line for line in lines if line.runs]
    reasons = tuple(dict.fromkeys(reason for line in lines for reason in line.reasons))
    if 0 < len(good) < workloads:
        reasons = (f"in no average: it ran on {len(good)} of {workloads} workloads", *reasons)
        good = []

    def mean(name: str) -> float:
        values = [getattr(line, name) for line in good if not math.isnan(getattr(line, name))]
        return float(np.mean(values)) if values else math.nan

    harmonic, geometric, arithmetic = means([line.harmonic for line in good])
    return Line(
        workload="all", policy=policy, relative_error=budget, workloads=len(good), runs=sum(line.runs for line in good),
        harmonic=harmonic, geometric=geometric, arithmetic=arithmetic,
        error_mean=mean("error_mean"),
        error_max=max((line.error_max for line in good), default=math.nan),
        bias=mean("bias"), spread=mean("spread"), beyond_latency=mean("beyond_latency"),
        bound=good[0].bound if good else "none",
        half_width=mean("half_width"), held=mean("held"), within=mean("within"),
        simulated=sum(line.simulated for line in good),
        launches=sum(line.launches for line in good),
        planning_seconds=sum(line.planning_seconds for line in good),
        from_truth=any(line.from_truth for line in good),
        reasons=reasons,
    )  # fmt: skip
