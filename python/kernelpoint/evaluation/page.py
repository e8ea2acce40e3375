"""The comparison as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import altair as alt

from kernelpoint.evaluation.summary import Line
from kernelpoint.evaluation.text import HEADINGS, LEGEND, cells, refusals, share
from kernelpoint.evaluation.workload import Workload
from kernelpoint.report.html import document, section, table

WIDE = """
body { max-width: 1320px; } .chart { max-width: 1000px; } li { margin: .2em 0; } ul { padding-left: 1.2em; }
th, td { padding: 4px 7px; } th { white-space: normal; vertical-align: bottom; }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); white-space: nowrap; }
.mark { font-size: .75rem; border-radius: 4px; padding: 1px 6px; color: var(--paper); } .best { background: var(--good); }
.faster { background: var(--soft); } .broken { background: var(--bad); }
"""  # thirteen columns; the policy stays in view on a phone
OKABE_ITO = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8a8f98", "#B8860B"]
CAPTION = (
    "Up and to the left is better: few cycles simulated, small error. One dot for each policy and budget, over all workloads; "
    "a policy that did not run on all of them has none."
)
MARKS = (
    "best: the largest cycle speedup above 1.0x at its budget among policies whose greatest error is within the budget and "
    "whose bound, promised or measured, held in every run",
    "faster, no bound: faster than the best, with errors within the budget, but without a bound: only the full run "
    "shows it",
    "broken: the mean error exceeds the budget, or the stated bound failed in more than one run of twenty",
)
HELD = 0.95  # share of runs in which a stated bound has to hold
LEAST_SPEEDUP = 1.05  # shown as 1.1x
LEAST_ERROR = 1e-5  # drawn for anything smaller: the axis is logarithmic


def html_page(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """The whole page."""
    rows = sum(line.runs for line in lines)
    counted = "1 workload" if len(workloads) == 1 else f"{len(workloads)} workloads"
    points = [item for item in total if item.runs and item.harmonic > 0]
    scatter = section("scatter", "Error against cycle speedup", CAPTION) if points else ""
    items = "".join(f"<li>{escape(item)}</li>" for item in (*MARKS, *LEGEND))
    body = (
        "<h1>KernelPoint: sampling methods compared</h1>"
        f"<p>{counted}, {rows:,} runs. Every run plans from what is known beforehand (rows marked *: from the very times that "
        "they are judged on), chooses launches, looks up what the full run gave for them, and estimates the total of all.</p>"
        f"{scatter}{_section('Over all workloads', total) if len(workloads) > 1 else ''}"
        + "".join(_section(w.name, [line for line in lines if line.workload == w.name], w) for w in workloads)
        + f'<h2>Meaning of marks and columns</h2><ul class="soft">{items}</ul>'
    )
    return document("KernelPoint: comparison", body, {"scatter": scatter_of(points)} if points else {}, WIDE)


def _section(title: str, lines: Sequence[Line], workload: Workload | None = None) -> str:
    about = ""
    if workload is not None:
        notes = "; ".join([f"{workload.size:,} launches, {workload.total:,.0f} {workload.counter}", *workload.notes])
        about = f'<p class="soft">{escape(notes)}</p>'
    body = [_row(item, _mark(item, lines)) for item in lines if item.runs]
    refused = "".join(f"<li>{escape(reason)}</li>" for reason in refusals(lines))
    return f"<h2>{escape(title)}</h2>{about}{table(HEADINGS, body)}" + (
        f'<ul class="soft">{refused}</ul>' if refused else ""
    )


def _row(item: Line, mark: str) -> str:
    name, *rest = cells(item)
    label = f' <span class="mark {mark.split(",")[0]}">{mark}</span>' if mark else ""
    return f"<tr><td>{escape(name)}{label}</td>" + "".join(f"<td>{escape(part)}</td>" for part in rest) + "</tr>"


def _mark(item: Line, lines: Sequence[Line]) -> str:
    """`best`, `faster, no bound`, `broken` or nothing, among the lines of one table; see MARKS."""
    if item.error_mean > item.relative_error or item.held < HELD:  # held is nan where no bound is stated
        return "broken"
    rivals = [line for line in lines if line.runs and line.relative_error == item.relative_error and _sound(line)]
    if item not in rivals:
        return ""
    if item.held == 1.0:
        return "best" if item.harmonic == max(line.harmonic for line in rivals if line.held == 1.0) else ""
    return "faster, no bound" if item.harmonic == max(line.harmonic for line in rivals) else ""


def _sound(line: Line) -> bool:
    """True of a policy that kept its budget and simulated less than everything; 1.0x in the table is no speedup."""
    return line.error_max <= line.relative_error and not line.held < 1.0 and line.harmonic >= LEAST_SPEEDUP


def scatter_of(points: Sequence[Line]) -> dict[str, Any]:
    """Mean error and harmonic mean of cycle speedups, on logarithmic axes; budgets with equal results share a mark. Marks are
    outlines, so that two at one place are seen. Budgets are named where there are several.
    """
    dots: dict[tuple[str, float, float], list[str]] = {}
    for item in points:
        dots.setdefault((item.policy, max(item.error_mean, LEAST_ERROR), item.harmonic), []).append(
            share(item.relative_error)
        )
    rows = [
        {"policy": policy, "budget": ", ".join(budgets), "error": error, "speedup": speedup}
        for (policy, error, speedup), budgets in dots.items()
    ]
    base = alt.Chart(alt.InlineData(values=rows), height=380, width="container").encode(
        x=alt.X(
            "error:Q",
            title="mean error of the total",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format=".3~%", labelOverlap="greedy", labelSeparation=8),
        ),
        y=alt.Y("speedup:Q", title="cycle speedup, harmonic mean", scale=alt.Scale(type="log")),
    )
    marks = base.mark_point(filled=False, size=90, opacity=1.0, strokeWidth=2.5).encode(
        color=alt.Color(
            "policy:N", scale=alt.Scale(range=OKABE_ITO), legend=alt.Legend(orient="bottom", title=None, columns=4)
        ),
        shape=alt.Shape("policy:N", legend=None),
        tooltip=["policy:N", "budget:N", alt.Tooltip("error:Q", format=".3%"), alt.Tooltip("speedup:Q", format=".1f")],
    )
    names = base.mark_text(align="left", dx=9, dy=-6).encode(text="budget:N")
    layers = [marks, names] if len({item.relative_error for item in points}) > 1 else [marks]
    return dict(alt.layer(*layers).to_dict())
