"""The charts of a run, for its page, papers and notebooks.

Colours begin with those of Okabe and Ito, which the colour-blind can distinguish: blue for simulated, grey for skipped,
vermilion for the full run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from kernelpoint.pages.numbers import is_finite, share
from kernelpoint.report.full_run import FullRun
from kernelpoint.report.result import OTHERS, PassEnd, Result
from kernelpoint.report.tables import largest_kernels

if TYPE_CHECKING:
    from kernelpoint.pages.page import AnyChart

# Each has a contrast of at least 3 to the white and to the dark page.
BLUE, GREY, VERMILION, GREEN = "#0072B2", "#7f8896", "#D55E00", "#009E73"
COLOURS = [BLUE, VERMILION, GREEN, "#CC79A7", "#B07A00", "#2B95D6", "#8A8F98", "#9467BD", "#A0693A"]
ROWS = 14  # kernels with a row of their own in the charts; the table lists all
BINS = 300  # steps of the timeline
POINTS = 4000  # simulated launches drawn one by one
LETTERS = 34  # of a kernel's name beside a chart of the page

CHOSEN = alt.param(name="chosen", value="")  # the kernel chosen on the page, which sets it in every chart at once


def charts(result: Result, letters: int = LETTERS) -> dict[str, AnyChart]:
    """Charts of a run by name. A chart without data is left out.

    share: estimated cycles of each kernel; timeline: launches of each kernel along the run, and which were simulated; passes:
    the stated interval after each pass; map: embeddings of the streams.

    Args:
        result: content of the run.
        letters: longest name of a kernel; the middle of a longer one is left out.
    """
    made: dict[str, AnyChart | None] = {
        "share": _share(result, letters),
        "timeline": _timeline(result, letters),
        "passes": passes_chart(
            result.passes, result.run.ended().counter, result.run.ended().relative_error, result.truth
        ),
        "map": _map(result, letters),
    }
    return {name: chart for name, chart in made.items() if chart is not None}


def chart_of(rows: list[dict[str, Any]], **more: Any) -> alt.Chart:
    """Make a chart of some rows, as wide as its place."""
    return alt.Chart({"values": rows}, width="container", **more)


def _opacity() -> Any:
    """Less where another kernel is chosen."""
    return alt.condition("chosen === '' || chosen === datum.kernel", alt.value(1.0), alt.value(0.15))


def _label(letters: int) -> str:
    """Vega expression of a label of at most so many letters."""
    cut = f"slice(datum.label, 0, {letters // 2}) + '…' + slice(datum.label, {1 - letters // 2})"
    return f"length(datum.label) > {letters} ? {cut} : datum.label"


def _kernels(letters: int, names: Sequence[str] | None = None) -> alt.Y:
    """An axis with a row for each kernel, in the order of `names`, or of the data."""
    return alt.Y("kernel:N", sort=names, title=None, axis=alt.Axis(labelExpr=_label(letters), labelLimit=0))


def _share(result: Result, letters: int) -> alt.Chart | None:
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
    chart = chart_of(rows, height=alt.Step(20)).mark_bar(color=BLUE, cursor="pointer").add_params(CHOSEN)
    formats = {"share:Q": ".2%", "cycles:Q": ",.0f", "launches:Q": ",", "simulated:Q": ","}
    return chart.encode(
        x=alt.X("share:Q", title="share of the estimated cycles", axis=alt.Axis(format="%", tickCount=6)),
        y=_kernels(letters),
        opacity=_opacity(),
        tooltip=[alt.Tooltip("kernel:N"), *(alt.Tooltip(field, format=text) for field, text in formats.items())],
    )


def _timeline(result: Result, letters: int) -> AnyChart | None:
    """Rows are kernels; grey where a kernel has launches, a blue mark where one was simulated."""
    if not result.kernels:
        return None
    labels = np.array([*(kernel.name for kernel in result.kernels[:ROWS]), OTHERS], dtype=object)
    row_of = np.minimum(result.kernel_of_launch, len(labels) - 1)
    kernels = _kernels(letters, labels.tolist())
    launches = alt.X("from:Q", title="launch index", axis=alt.Axis(tickCount=8), scale=alt.Scale(nice=False))
    zoom = alt.selection_interval(name="zoom", encodings=["x"], bind="scales")
    grey = chart_of(_launch_bins(row_of, labels)).mark_bar(color=GREY, height=6).add_params(zoom)
    drawn = np.flatnonzero(result.simulated)
    drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
    marks = [{"kernel": labels[row_of[u]], "launch": u, "value": float(result.values[u])} for u in drawn.tolist()]
    blue = chart_of(marks).mark_tick(color=BLUE, thickness=3, height=16, cursor="pointer")
    layers = (
        grey.encode(x=launches, x2="to:Q", y=kernels, opacity=_opacity()),
        blue.encode(
            x="launch:Q",
            y=kernels,
            opacity=_opacity(),
            tooltip=[
                "kernel:N",
                alt.Tooltip("launch:Q", format=","),
                alt.Tooltip("value:Q", format=",.6~g", title=result.counter),
            ],
        ),
    )
    return alt.layer(*layers, width="container", height=alt.Step(20)).add_params(CHOSEN)


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
) -> AnyChart | None:
    """Chart of the interval after each pass, the error budget around the last estimate, and the full run's total if known."""
    bounded = [(f"{end.number}", end.simulated, end.estimate) for end in passes if is_finite(end.estimate.half_width)]
    rows = [
        {
            "pass": number,
            "estimate": e.estimate,
            "low": e.estimate - e.half_width,
            "high": e.estimate + e.half_width,
            "simulated": simulated,
        }
        for number, simulated, e in bounded
    ]
    if not rows:
        return None
    last, scale = passes[-1].estimate.estimate, alt.Scale(zero=False)
    wide, name = abs(last) * relative_error, f"error budget, {share(relative_error)}"
    low = alt.Y("low:Q", title=f"estimated {counter}", scale=scale)
    of_pass = chart_of(rows).encode(
        x=alt.X("pass:O", title="pass", sort=None, axis=alt.Axis(labelAngle=0)),
        tooltip=["pass:O", alt.Tooltip("estimate:Q", format=",.0f"), alt.Tooltip("simulated:Q", format=",")],
    )
    layers = [
        chart_of([{"low": last - wide, "high": last + wide, "band": name}])
        .mark_rect(color=GREEN, opacity=0.18)
        .encode(y=low, y2="high:Q", tooltip=["band:N"]),
        of_pass.mark_rule(color=BLUE, strokeWidth=2).encode(y=low, y2="high:Q"),
        of_pass.mark_point(color=BLUE, filled=True, size=70).encode(y=alt.Y("estimate:Q", scale=scale)),
    ]
    if full_run is not None:
        line = chart_of([{"total": full_run.total, "line": "full run"}]).mark_rule(color=VERMILION, strokeDash=[6, 4])
        layers.append(line.encode(y="total:Q", tooltip=["line:N", alt.Tooltip("total:Q", format=",.0f")]))
    return alt.layer(*layers, width="container", height=220)


def _map(result: Result, letters: int) -> alt.Chart | None:
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
    legend = alt.Legend(title=None, orient="bottom", columns=1, labelExpr=_label(letters), labelLimit=0)
    colours = alt.Scale(domain=list(colour_of), range=list(colour_of.values()))
    chart = chart_of(rows, height=320).mark_circle(opacity=0.8, cursor="pointer").add_params(CHOSEN)
    return chart.encode(
        x=alt.X("x:Q", axis=None),
        y=alt.Y("y:Q", axis=None),
        size=alt.Size("launches:Q", scale=alt.Scale(type="log", range=[30, 400]), legend=None),
        color=alt.Color("group:N", scale=colours, legend=legend),
        opacity=_opacity(),
        tooltip=["kernel:N", alt.Tooltip("launches:Q", format=",")],
    )
