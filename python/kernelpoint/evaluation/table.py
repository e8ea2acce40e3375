"""The table of a comparison: a row for each policy and budget, the same in the terminal, on the page and in documents."""

from __future__ import annotations

from collections.abc import Sequence

from kernelpoint.evaluation.summary import ALL, Line
from kernelpoint.evaluation.workload import Workload
from kernelpoint.pages.numbers import error, factor, is_finite, percent, share
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.progress import duration

BOUNDS = {"none": "no promise", "promised": "{} promised"}
COLUMNS = (
    Column("policy", str, of=lambda line: line.policy + (" *" if line.from_truth else "")),
    Column("budget", share, of="relative_error"),
    Column("cycle speedup", factor, of="harmonic"),
    Column("error mean", percent, of="error_mean"),
    Column("error max", percent, "error_max", brief=False),
    Column("bias", error, "bias", brief=False),
    Column("spread", percent, "spread", brief=False),
    Column("beyond latency", percent, "beyond_latency", brief=False),
    Column("stated bound", str, of=lambda line: BOUNDS.get(line.bound, "{} measured").format(percent(line.half_width))),
    Column("right", percent, of="held"),
    Column("within budget", percent, "within", brief=False),
    Column("simulated", of=lambda line: round(line.simulated)),
    Column("planning", duration, "planning_seconds", brief=False),
)
OVER_ALL = (
    *COLUMNS[:3],
    Column("geometric mean", factor, "speedups.geometric", brief=False),
    Column("arithmetic mean", factor, "speedups.arithmetic", brief=False),
    *COLUMNS[3:],
)
LEGEND = (
    "cycle speedup: total over the simulated cycles; over several workloads the harmonic mean, beside the other two",
    "error: of the estimated total against the full run; mean and greatest |error|, bias = mean signed error, spread = "
    "standard deviation over seeds",
    "beyond latency: mean |error| as a share of the total without the launch latency, where a workload names one",
    "stated bound: promised = the method's own claim from its profile; measured = from the run itself; no promise = the method "
    "states none; right: share of runs in which the truth lay within it",
    "simulated: launches, with the validation launches that a run over traces begins with, and the launches before them",
    "planning: reading, embedding and design, mean over seeds; traces that were read before come from the cache",
    "* planned from the times that it is judged on",
)
MARKS = (
    "best: the largest cycle speedup above 1.0x at its budget among policies whose greatest error is within the budget and "
    "whose bound, promised or measured, held in every run",
    "faster, no bound: faster than the best, with errors within the budget, but without a bound: only the full run "
    "shows it",
    "broken: the stated bound, promised or measured, failed in more than one run of twenty",
)
HELD = 0.95  # share of runs in which a stated bound has to hold
LEAST_SPEEDUP = 1.05  # shown as 1.1x


def tables(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> list[Table]:
    """Tables of a comparison: one over all workloads, if there are several, and one for each workload."""
    whole = [_table(f"All {len(workloads)} workloads", "", total)] if len(workloads) > 1 else []
    return whole + [
        _table(
            f"{workload.name}: {workload.size:,} launches, {workload.total:,.0f} {workload.counter}",
            "; ".join(workload.notes),
            [line for line in lines if line.workload == workload.name],
        )
        for workload in workloads
    ]


def _table(title: str, caption: str, lines: Sequence[Line]) -> Table:
    """The lines that ran; a note for each policy that did not, with the reason."""
    refused = sorted({f"{line.policy}: {'; '.join(line.reasons)}" for line in lines if not line.runs})
    columns = OVER_ALL if lines and lines[0].workload == ALL else COLUMNS
    rows = rows_of(columns, (line for line in lines if line.runs), mark=lambda line: mark_of(line, lines))
    return Table(columns, rows, title, caption, refused)


def mark_of(item: Line, lines: Sequence[Line]) -> str:
    """Mark of a line in its table: `best`, `faster, no bound`, `broken` or none; MARKS explains them."""
    if item.held < HELD:  # held is nan where no bound is stated
        return "broken"
    rivals = [line for line in lines if line.runs and line.relative_error == item.relative_error and _sound(line)]
    if item not in rivals:
        return ""
    if item.held == 1.0:
        return "best" if item.harmonic == max(line.harmonic for line in rivals if line.held == 1.0) else ""
    return "faster, no bound" if item.harmonic == max(line.harmonic for line in rivals) else ""


def _sound(line: Line) -> bool:
    """True of a policy that kept its budget and simulated less than everything; 1.0x in the table is no speedup."""
    failed = is_finite(line.held) and line.held < 1.0
    return line.error_max <= line.relative_error and not failed and line.harmonic >= LEAST_SPEEDUP
