"""The results of a comparison: summaries over seeds and workloads, tables, and files: a page, Markdown, CSV of every run, JSON,
a figure for a paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.evaluation.evaluate import MethodResult
from kernelpoint.evaluation.workload import Workload
from kernelpoint.files import write_output
from kernelpoint.pages.numbers import error, factor, finite, is_finite, json_text, percent, share
from kernelpoint.pages.page import Chart, Page, Spec, Text
from kernelpoint.pages.tables import Column, Table, rows_of, write_table
from kernelpoint.progress import duration
from kernelpoint.report.charts import COLOURS, channel, tooltip

NAN = math.nan
ALL = "all"  # the workload of lines over all of them


@dataclass(frozen=True)
class Line:
    """Summary of one policy at one error budget: over the seeds of one workload, or over all workloads.

    Attributes:
        harmonic, geometric, arithmetic: means of the workloads' cycle speedups. For one workload all three are its total over
            the mean total of the simulated launches.
        error_mean, error_max: mean and maximum of |error|.
        bias: mean of the signed error.
        spread: standard deviation of the signed error over seeds (mean over workloads).
        beyond_latency: mean |error| as a share of the total without the constant launch latency, if that is known.
        held: share of runs whose error was within the bound that they stated; nan if no run stated a bound.
        within: share of runs with |error| within the error budget.
        simulated: number of simulated launches: mean over seeds, sum over workloads.
        from_truth: True if a run was planned from the same times that judge it.
        reasons: reasons for missing runs.
    """

    workload: str
    policy: str
    relative_error: float
    launches: int
    workloads: int = 0
    runs: int = 0
    harmonic: float = NAN
    geometric: float = NAN
    arithmetic: float = NAN
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


def _mean(values: Iterable[float | None]) -> float:
    """Mean of the known values; nan if none is known."""
    stated = [value for value in values if value is not None and not math.isnan(value)]
    return float(np.mean(stated)) if stated else NAN


def per_workload(rows: Iterable[MethodResult]) -> list[Line]:
    """Summaries of the results of each workload, policy and error budget, in the order of their first appearance."""
    groups: dict[tuple[str, str, float], list[MethodResult]] = {}
    for row in rows:
        groups.setdefault((row.workload, row.policy, row.relative_error), []).append(row)
    return [_of_seeds(*key, group) for key, group in groups.items()]


def _of_seeds(workload: str, policy: str, budget: float, rows: list[MethodResult]) -> Line:
    good = [row for row in rows if not row.reason]
    reasons = tuple(dict.fromkeys(row.reason for row in rows if row.reason))
    if not good:
        return Line(workload, policy, budget, rows[0].launches, reasons=reasons)
    errors = np.array([row.error for row in good])
    simulated = float(np.mean([row.simulated_total for row in good]))
    speedup = good[0].total / simulated if simulated > 0 else math.inf
    return Line(
        workload, policy, budget, good[0].launches, 1, len(good), *(speedup,) * 3,
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
    """Summaries over all workloads, for each policy and error budget.

    A policy that did not run on all workloads gets a reason in place of numbers, because averages over different workloads
    cannot be compared.
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
    speedups = np.array([line.harmonic for line in good])
    averaged = ("error_mean", "bias", "spread", "beyond_latency", "half_width", "held", "within")
    return Line(
        ALL, policy, budget, sum(line.launches for line in good), len(good), sum(line.runs for line in good),
        harmonic=float(1.0 / (1.0 / speedups).mean()),
        geometric=float(np.exp(np.log(speedups).mean())),
        arithmetic=float(speedups.mean()),
        error_max=max(line.error_max for line in good),
        bound=good[0].bound,
        simulated=sum(line.simulated for line in good),
        planning_seconds=sum(line.planning_seconds for line in good),
        from_truth=any(line.from_truth for line in good),
        reasons=reasons,
        **{name: _mean(getattr(line, name) for line in good) for name in averaged},
    )  # fmt: skip


# ---- tables ----------------------------------------------------------------------------------------------------------

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
    Column("geometric mean", factor, "geometric", brief=False),
    Column("arithmetic mean", factor, "arithmetic", brief=False),
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
    "faster, no bound: faster than the best, with errors within the budget, but without a bound: only the full run shows it",
    "broken: the stated bound, promised or measured, failed in more than one run of twenty",
)
HELD = 0.95  # share of runs in which a stated bound has to hold
LEAST_SPEEDUP = 1.05  # shown as 1.1x


def tables(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> list[Table]:
    """Tables of a comparison of sampling methods: one over all workloads, if there are several, and one for each workload."""
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
    """Table of the policies that ran, with a note and a reason for each policy that refused the workload."""
    refused = sorted({f"{line.policy}: {'; '.join(line.reasons)}" for line in lines if not line.runs})
    columns = OVER_ALL if lines and lines[0].workload == ALL else COLUMNS
    rows = rows_of(columns, (line for line in lines if line.runs), mark=lambda line: mark_of(line, lines))
    return Table(columns, rows, title, caption, refused)


def mark_of(item: Line, lines: Sequence[Line]) -> str:
    """Word shown beside a summary in its table: `best`, `faster, no bound`, `broken` or none. The constant MARKS explains
    them.
    """
    if item.held < HELD:  # held is nan where no bound is stated
        return "broken"
    rivals = [line for line in lines if line.runs and line.relative_error == item.relative_error and _sound(line)]
    if item not in rivals:
        return ""
    if item.held == 1.0:
        return "best" if item.harmonic == max(line.harmonic for line in rivals if line.held == 1.0) else ""
    return "faster, no bound" if item.harmonic == max(line.harmonic for line in rivals) else ""


def _sound(line: Line) -> bool:
    """True if a policy kept its budget and simulated less than the whole list."""
    failed = is_finite(line.held) and line.held < 1.0
    return line.error_max <= line.relative_error and not failed and line.harmonic >= LEAST_SPEEDUP


# ---- files -----------------------------------------------------------------------------------------------------------

CAPTION = (
    "Up and to the left is better: few cycles simulated, small error. One dot for each policy and budget, over all workloads; "
    "a policy that did not run on all of them has none."
)
STAR = "M0,-1L0.3,-0.3L1,0L0.3,0.3L0,1L-0.3,0.3L-1,0L-0.3,-0.3Z"
TRIANGLES = [f"triangle-{side}" for side in ("up", "down", "right", "left")]
SHAPES = ["circle", "square", "cross", "diamond", *TRIANGLES, STAR]
LEAST_ERROR = 1e-5  # drawn for anything smaller: the axis is logarithmic


def write_files(folder: Path, workloads: Sequence[Workload], rows: Sequence[MethodResult]) -> list[Path]:
    """Write a comparison of sampling methods into a folder: comparison.csv (all results), comparison.json (results and
    summaries), comparison.html and comparison.md. Returns the files.
    """
    lines = per_workload(rows)
    total = overall(lines)
    paths = [folder / f"comparison.{kind}" for kind in ("csv", "json", "html", "md")]
    records = [finite(asdict(row)) for row in rows]
    write_table(paths[0], list(MethodResult.__dataclass_fields__), (list(record.values()) for record in records))
    content = {
        "workloads": [
            {"name": w.name, "launches": w.size, "counter": w.counter, "total": w.total, "notes": list(w.notes)}
            for w in workloads
        ],
        "rows": records,
        "per_workload": [asdict(line) for line in lines],
        "overall": [asdict(line) for line in total],
    }
    write_output(paths[1], json_text(content, indent=1) + "\n")
    write_output(paths[2], html_page(workloads, lines, total))
    write_output(paths[3], markdown(workloads, lines, total))
    return paths


def html_page(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """HTML page of a comparison of sampling methods."""
    counted = "1 workload" if len(workloads) == 1 else f"{len(workloads)} workloads"
    about = (
        f"{counted}, {sum(line.runs for line in lines):,} runs. Every run plans from what is known before the run (rows "
        f"marked *: "
        "from the very times that they are judged on), chooses launches, looks up what the full run gave for them, and "
        "estimates the total of all."
    )
    blocks = [
        Text([about]),
        Chart("scatter", "Error against cycle speedup", CAPTION, scatter_of(total)),
        *tables(workloads, lines, total),
        Text([*MARKS, *LEGEND], "Meaning of marks and columns"),
    ]
    return Page("KernelPoint: sampling methods compared", blocks).html()


def markdown(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """Markdown text of a comparison of sampling methods: all tables, the policies that refused a workload, and the legend."""
    parts = []
    for table in tables(workloads, lines, total):
        parts += [f"**{table.title}**\n", table.markdown(), "", *(f"- {note}" for note in table.notes), ""]
    return "\n".join([*parts, *(f"- {item}" for item in LEGEND)]) + "\n"


def scatter_of(lines: Sequence[Line]) -> Spec | None:
    """Chart of mean error against cycle speedup for each policy and error budget, on logarithmic axes; None if there is no
    speedup.

    Marks are outlines, so that overlapping ones stay visible. If there are several workloads, each has a panel, in which a line
    joins the error budgets of a policy.
    """
    if not (dots := _dots(lines)):
        return None
    several = len({dot["workload"] for dot in dots}) > 1
    colour, shape = (_by_policy(dots, values) for values in (COLOURS, SHAPES))
    axis = {"format": ".3~%", "labelOverlap": "greedy", "labelSeparation": 8}
    mark = {"type": "point", "filled": False, "size": 50 if several else 90, "opacity": 1.0, "strokeWidth": 2}
    tip = [*tooltip("policy"), *tooltip("budget", error=".3%", speedup=".1f")]
    encoding = {
        "x": channel("error", title="mean error of the total", scale={"type": "log"}, axis=axis),
        "y": channel("speedup", title="cycle speedup", scale={"type": "log"}),
    }
    marks = {"mark": mark, "encoding": {"color": colour, "shape": shape, "tooltip": tip}}
    if several:
        joined = {"mark": {"type": "line", "strokeWidth": 1.2}, "encoding": {"color": colour}}
        panel = {"layer": [joined, marks], "encoding": encoding, "height": 380, "width": 300}
        facet = channel("workload", "nominal", title=None, sort=None)
        return {"data": {"values": dots}, "facet": facet, "columns": 2, "spec": panel}
    layers = [marks]
    if len({item.relative_error for item in lines}) > 1:
        text = {"type": "text", "align": "left", "dx": 9, "dy": -6}
        layers.append({"mark": text, "encoding": {"text": channel("budget", "nominal")}})
    return {"data": {"values": dots}, "layer": layers, "encoding": encoding, "height": 380, "width": "container"}


def _by_policy(dots: Sequence[dict[str, Any]], values: Sequence[str]) -> Spec:
    """A colour or shape for each policy; both have one legend, since their domains are equal."""
    scale = {"domain": sorted({dot["policy"] for dot in dots}), "range": list(values)}
    return channel("policy", "nominal", scale=scale, legend={"orient": "bottom", "title": None, "columns": 4})


def _dots(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """A dot for each workload, policy and result; budgets with equal results share it."""
    budgets: dict[tuple[str, str, float, float], list[str]] = {}
    for item in lines:
        if item.runs and item.harmonic > 0:
            place = (item.workload, item.policy, max(item.error_mean, LEAST_ERROR), item.harmonic)
            budgets.setdefault(place, []).append(share(item.relative_error))
    names = ("workload", "policy", "error", "speedup")
    return [dict(zip(names, place, strict=True)) | {"budget": ", ".join(b)} for place, b in budgets.items()]
