"""The charts of a run, for its page, papers and notebooks, as specifications of Vega-Lite.

Colours begin with those of Okabe and Ito, which the colour-blind can distinguish: blue for simulated, grey for skipped,
vermilion for the full run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelpoint.pages.numbers import is_finite, share
from kernelpoint.pages.page import Spec
from kernelpoint.report.result import OTHERS, FullRun, PassEnd, Result
from kernelpoint.report.tables import largest_kernels

# Each has a contrast of at least 3 to the white and to the dark page.
BLUE, GREY, VERMILION, GREEN = "#0072B2", "#7f8896", "#D55E00", "#009E73"
COLOURS = [BLUE, VERMILION, GREEN, "#CC79A7", "#B07A00", "#2B95D6", "#8A8F98", "#9467BD", "#A0693A"]
ROWS = 14  # kernels with a row of their own in the charts; the table lists all
BINS = 300  # steps of the timeline
POINTS = 4000  # simulated launches drawn one by one
LETTERS = 34  # of a kernel's name beside a chart of the page

CHOSEN = {"name": "chosen", "value": ""}  # the kernel chosen on the page, which sets it in every chart at once
FAINT = {
    "condition": {"test": "chosen === '' || chosen === datum.kernel", "value": 1.0},
    "value": 0.15,
}  # if not chosen


def charts(result: Result, letters: int = LETTERS) -> dict[str, Spec]:
    """Vega-Lite charts of a run, by name. A chart without data is left out.

    * share: estimated cycles of each kernel.
    * timeline: launches of each kernel along the run, with the simulated ones marked.
    * passes: confidence interval after each pass (round of sampling).
    * map: launches with similar instruction sequences near each other.

    Args:
        result: content of the run's report.
        letters: greatest length of a kernel name in a chart; longer names are shortened in the middle.
    """
    end = result.run.ended()
    made: dict[str, Spec | None] = {
        "share": _share(result, letters),
        "timeline": _timeline(result, letters),
        "passes": passes_chart(result.passes, end.counter, end.relative_error, result.truth),
        "map": _map(result, letters),
    }
    return {name: chart for name, chart in made.items() if chart is not None}


def chart_of(rows: list[dict[str, Any]], mark: str | Spec, encoding: Spec, **more: Any) -> Spec:
    """Make a Vega-Lite chart, or a layer of one, that is as wide as the page element that contains it.

    Args:
        rows: data, one mapping for each row.
        mark: kind of mark (bar, point, ...), with its options.
        encoding: fields of the rows for positions, colours and shapes.
        more: other keys of the specification.
    """
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding, **more}


def channel(field: str, kind: str = "quantitative", **more: Any) -> Spec:
    """Make the Vega-Lite encoding that shows a field of the data as a position, a colour or a shape."""
    return {"field": field, "type": kind, **more}


def rows_by(field: str, letters: int = 0, **more: Any) -> Spec:
    """Make the Vega-Lite encoding of a vertical axis with one row for each name; names of more than `letters` letters are
    shortened in the middle.
    """
    axis: Spec = {"labelLimit": 0, "labelExpr": _label(letters)} if letters else {"labelLimit": 260}
    return channel(field, "nominal", title=None, axis=axis, **{"sort": None, **more})


def tooltip(name: str, **formats: str) -> list[Spec]:
    """Make the Vega-Lite encoding of a tooltip with a name and with numbers; `formats` has the format of each number, by
    field.
    """
    return [channel(name, "nominal"), *(channel(field, format=text) for field, text in formats.items())]


def _label(letters: int) -> str:
    """Vega expression of a label of at most so many letters."""
    cut = f"slice(datum.label, 0, {letters // 2}) + '…' + slice(datum.label, {1 - letters // 2})"
    return f"length(datum.label) > {letters} ? {cut} : datum.label"


def _share(result: Result, letters: int) -> Spec | None:
    """Estimated cycles of each kernel, as a share of the total."""
    rows = [
        {
            "kernel": kernel.name,
            "share": kernel.share,
            "launches": kernel.launches,
            "simulated": kernel.simulated,
            "cycles": kernel.cycles.estimate,
        }
        for kernel in largest_kernels(result, ROWS)
    ]
    if not rows:
        return None
    encoding = {
        "x": channel("share", title="share of the estimated cycles", axis={"format": "%", "tickCount": 6}),
        "y": rows_by("kernel", letters),
        "opacity": FAINT,
        "tooltip": tooltip("kernel", share=".2%", cycles=",.0f", launches=",", simulated=","),
    }
    mark = {"type": "bar", "color": BLUE, "cursor": "pointer"}
    return chart_of(rows, mark, encoding, params=[CHOSEN], width="container", height={"step": 20})


def _timeline(result: Result, letters: int) -> Spec | None:
    """Rows are kernels; grey where a kernel has launches, a blue mark where one was simulated."""
    if not result.kernels:
        return None
    labels = np.array([*(kernel.name for kernel in result.kernels[:ROWS]), OTHERS], dtype=object)
    row_of = np.minimum(result.kernel_of_launch, len(labels) - 1)
    drawn = np.flatnonzero(result.simulated)
    drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
    marks = [{"kernel": labels[row_of[u]], "launch": u, "value": float(result.values[u])} for u in drawn.tolist()]
    along = channel("from", title="launch index", axis={"tickCount": 8}, scale={"nice": False})
    tip = [*tooltip("kernel", launch=","), channel("value", format=",.6~g", title=result.counter)]
    zoom = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}
    grey, blue = (
        {"type": "bar", "color": GREY, "height": 6},
        {"type": "tick", "color": BLUE, "thickness": 3, "height": 16},
    )
    layers = [
        chart_of(_launch_bins(row_of, labels), grey, {"x": along, "x2": {"field": "to"}}, params=[zoom]),
        chart_of(marks, {**blue, "cursor": "pointer"}, {"x": channel("launch"), "tooltip": tip}),
    ]
    encoding = {"y": rows_by("kernel", letters, sort=labels.tolist()), "opacity": FAINT}
    return {"layer": layers, "encoding": encoding, "params": [CHOSEN], "width": "container", "height": {"step": 20}}


def _launch_bins(row_of: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    """The number of launches of each kernel in each of at most BINS equal ranges of launch indices, where there are any."""
    step = max(1, -(-len(row_of) // BINS))
    bins = len(row_of) // step + 1
    cells, counts = np.unique(row_of * bins + np.arange(len(row_of)) // step, return_counts=True)
    return [
        {
            "kernel": labels[cell // bins],
            "from": int(cell % bins) * step,
            "to": int(cell % bins + 1) * step,
            "launches": int(n),
        }
        for cell, n in zip(cells, counts, strict=True)
    ]


def passes_chart(
    passes: Sequence[PassEnd], counter: str, relative_error: float, full_run: FullRun | None = None
) -> Spec | None:
    """Chart of the confidence interval after each pass (round of sampling), with the error budget around the last estimate, and
    the total of a full run if it is known.
    """
    rows = [
        {
            "pass": f"{end.number}",
            "estimate": end.estimate.estimate,
            "low": end.estimate.estimate - end.estimate.half_width,
            "high": end.estimate.estimate + end.estimate.half_width,
            "simulated": end.simulated,
        }
        for end in passes
        if is_finite(end.estimate.half_width)
    ]
    if not rows:
        return None
    last, scale = passes[-1].estimate.estimate, {"zero": False}
    wide, name = abs(last) * relative_error, f"error budget, {share(relative_error)}"
    interval = {"y": channel("low", title=f"estimated {counter}", scale=scale), "y2": {"field": "high"}}
    of_pass = {
        "x": channel("pass", "ordinal", title="pass", sort=None, axis={"labelAngle": 0}),
        "tooltip": [channel("pass", "ordinal"), channel("estimate", format=",.0f"), channel("simulated", format=",")],
    }
    band, dot = (
        {"type": "rect", "color": GREEN, "opacity": 0.18},
        {"type": "point", "color": BLUE, "filled": True, "size": 70},
    )
    layers = [
        chart_of([{"low": last - wide, "high": last + wide, "band": name}], band, {**interval, "tooltip": tooltip("band")}),
        chart_of(rows, {"type": "rule", "color": BLUE, "strokeWidth": 2}, {**of_pass, **interval}),
        chart_of(rows, dot, {**of_pass, "y": channel("estimate", scale=scale)}),
    ]
    if full_run is not None:
        line, dashed = [{"total": full_run.total, "line": "full run"}], {"color": VERMILION, "strokeDash": [6, 4]}
        tip = tooltip("line", total=",.0f")
        layers.append(chart_of(line, {"type": "rule", **dashed}, {"y": channel("total"), "tooltip": tip}))
    return {"layer": layers, "width": "container", "height": 220}


def _map(result: Result, letters: int) -> Spec | None:
    """Embeddings of the streams in two dimensions; the largest kernels are named by colour."""
    if result.stream_map is None or not len(result.stream_map):
        return None
    largest = (kernel.name for kernel in result.kernels)
    colour_of = {**dict(zip(largest, COLOURS[:6], strict=False)), OTHERS: GREY}
    rows = [
        {"kernel": name, "group": name if name in colour_of else OTHERS, "x": x, "y": y, "launches": launches}
        for name, (x, y), launches in zip(
            result.stream_names, result.stream_map.tolist(), np.asarray(result.stream_launches).tolist(), strict=True
        )
    ]
    legend = {"title": None, "orient": "bottom", "columns": 1, "labelExpr": _label(letters), "labelLimit": 0}
    colours = {"domain": list(colour_of), "range": list(colour_of.values())}
    encoding = {
        "x": channel("x", axis=None),
        "y": channel("y", axis=None),
        "size": channel("launches", scale={"type": "log", "range": [30, 400]}, legend=None),
        "color": channel("group", "nominal", scale=colours, legend=legend),
        "opacity": FAINT,
        "tooltip": tooltip("kernel", launches=","),
    }
    mark = {"type": "circle", "opacity": 0.8, "cursor": "pointer"}
    return chart_of(rows, mark, encoding, params=[CHOSEN], width="container", height=320)
