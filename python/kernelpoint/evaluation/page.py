"""The results of a comparison as files: a page, Markdown, CSV of every run, JSON; and the figure for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelpoint.evaluation.evaluate import Row
from kernelpoint.evaluation.summary import Line, overall, per_workload
from kernelpoint.evaluation.table import LEGEND, MARKS, tables
from kernelpoint.evaluation.workload import Workload
from kernelpoint.files import write_output
from kernelpoint.pages.numbers import finite, json_text, share
from kernelpoint.pages.page import Chart, Page, Spec, Text
from kernelpoint.pages.tables import write_table
from kernelpoint.report.charts import COLOURS, channel, tooltip

CAPTION = (
    "Up and to the left is better: few cycles simulated, small error. One dot for each policy and budget, over all workloads; "
    "a policy that did not run on all of them has none."
)
STAR = "M0,-1L0.3,-0.3L1,0L0.3,0.3L0,1L-0.3,0.3L-1,0L-0.3,-0.3Z"
TRIANGLES = [f"triangle-{side}" for side in ("up", "down", "right", "left")]
SHAPES = ["circle", "square", "cross", "diamond", *TRIANGLES, STAR]
LEAST_ERROR = 1e-5  # drawn for anything smaller: the axis is logarithmic


def write_files(folder: Path, workloads: Sequence[Workload], rows: Sequence[Row]) -> list[Path]:
    """Write a comparison into a folder: comparison.csv (all rows), comparison.json (rows and summaries), comparison.html,
    comparison.md.
    """
    lines = per_workload(rows)
    total = overall(lines)
    paths = [folder / f"comparison.{kind}" for kind in ("csv", "json", "html", "md")]
    records = [finite(asdict(row)) for row in rows]
    write_table(paths[0], list(Row.__dataclass_fields__), (list(record.values()) for record in records))
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
    """HTML page of a comparison of methods."""
    counted = "1 workload" if len(workloads) == 1 else f"{len(workloads)} workloads"
    about = (
        f"{counted}, {sum(line.runs for line in lines):,} runs. Every run plans from what is known beforehand (rows marked *: "
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
    """Markdown text of a comparison: all tables, the policies that were refused, and the legend."""
    parts = []
    for table in tables(workloads, lines, total):
        parts += [f"**{table.title}**\n", table.markdown(), "", *(f"- {note}" for note in table.notes), ""]
    return "\n".join([*parts, *(f"- {item}" for item in LEGEND)]) + "\n"


def scatter_of(lines: Sequence[Line]) -> Spec | None:
    """Chart of mean error against cycle speedup of every policy and budget, on logarithmic axes; None without any speedup.

    Marks are outlines, so that two at one place are seen. Lines over several workloads have a panel for each of these, in
    which a line joins the budgets of a policy; one panel names them.
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
