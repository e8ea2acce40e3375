"""From rows to the numbers of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernelpoint.evaluation.evaluate import Row

NAN = math.nan
ALL = "all"  # the workload of lines over all of them


class Means(NamedTuple):
    """Harmonic, geometric and arithmetic mean of cycle speedups."""

    harmonic: float = NAN
    geometric: float = NAN
    arithmetic: float = NAN


NOT_KNOWN = Means()


@dataclass(frozen=True)
class Line:
    """Summary of one policy at one budget: over the seeds of one workload, or over all workloads.

    Attributes:
        speedups: means over workloads; of one workload all three are its total over the mean of what was simulated.
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
    launches: int
    workloads: int = 0
    runs: int = 0
    speedups: Means = NOT_KNOWN
    error_mean: float = NAN
    error_max: float = NAN
    bias: float = NAN
    spread: float = NAN
    beyond_latency: float = NAN
    bound: str = "none"
    half_width: float = NAN
    held: float = NAN
    within: float = NAN
    simulated: float = NAN
    planning_seconds: float = NAN
    from_truth: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def harmonic(self) -> float:
        """Harmonic mean of the cycle speedups."""
        return self.speedups.harmonic


def means(speedups: Sequence[float]) -> Means:
    """Compute the harmonic, geometric and arithmetic mean.

    >>> [round(m, 3) for m in means([1.0, 4.0])]
    [1.6, 2.0, 2.5]
    """
    values = np.asarray(speedups, dtype=float)
    return Means(float(1.0 / (1.0 / values).mean()), float(np.exp(np.log(values).mean())), float(values.mean()))


def _mean(values: Iterable[float | None]) -> float:
    """Mean of the known values; nan if none is known."""
    stated = [value for value in values if value is not None and not math.isnan(value)]
    return float(np.mean(stated)) if stated else NAN


def per_workload(rows: Iterable[Row]) -> list[Line]:
    """Summarise rows: one line for each workload, policy and budget, in the order of their first appearance."""
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.workload, row.policy, row.relative_error), []).append(row)
    return [_of_seeds(*key, group) for key, group in groups.items()]


def _of_seeds(workload: str, policy: str, budget: float, rows: list[Row]) -> Line:
    good = [row for row in rows if not row.reason]
    reasons = tuple(dict.fromkeys(row.reason for row in rows if row.reason))
    if not good:
        return Line(workload, policy, budget, rows[0].launches, reasons=reasons)
    errors = np.array([row.error for row in good])
    simulated = float(np.mean([row.simulated_total for row in good]))
    speedup = good[0].total / simulated if simulated > 0 else math.inf
    return Line(
        workload, policy, budget, good[0].launches, 1, len(good), Means(speedup, speedup, speedup),
        error_mean=float(np.abs(errors).mean()),
        error_max=float(np.abs(errors).max()),
        bias=float(errors.mean()),
        spread=float(errors.std(ddof=1)) if len(good) > 1 else 0.0,
        beyond_latency=float(np.abs([row.error_beyond_latency for row in good]).mean()),
        bound=good[0].bound,
        half_width=float(np.mean([row.half_width for row in good])),
        held=_mean(row.held for row in good),
        within=float((np.abs(errors) <= budget).mean()),
        simulated=float(np.mean([row.simulated for row in good])),
        planning_seconds=float(np.mean([row.planning_seconds for row in good])),
        from_truth=any(row.from_truth for row in good),
        reasons=reasons,
    )  # fmt: skip


def overall(lines: Iterable[Line]) -> list[Line]:
    """Summarise lines over all workloads: one line for each policy and budget.

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
    if len(good) < workloads or not good:
        missing = f"in no average: it ran on {len(good)} of {workloads} workloads"
        return Line(ALL, policy, budget, 0, reasons=(missing, *reasons) if good else reasons)
    averaged = ("error_mean", "bias", "spread", "beyond_latency", "half_width", "held", "within")
    return Line(
        ALL, policy, budget, sum(line.launches for line in good), len(good), sum(line.runs for line in good),
        means([line.harmonic for line in good]),
        error_max=max(line.error_max for line in good),
        bound=good[0].bound,
        simulated=sum(line.simulated for line in good),
        planning_seconds=sum(line.planning_seconds for line in good),
        from_truth=any(line.from_truth for line in good),
        reasons=reasons,
        **{name: _mean(getattr(line, name) for line in good) for name in averaged},
    )  # fmt: skip
