"""The charts of a run, for its page and for papers, as Vega-Lite specifications made with Altair.

Colours begin with those of Okabe and Ito, which the colour-blind can distinguish: blue for simulated, grey for skipped,
vermilion for the full run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from kernelpoint.pages.numbers import share
from kernelpoint.report.full_run import FullRun
from kernelpoint.report.view import OTHERS, PassEnd, RunView

# Each has a contrast of at least 3 to the white and to the dark page.
BLUE, GREY, VERMILION, GREEN = "#0072B2", "#7f8896", "#D55E00", "#009E73"
COLOURS = [BLUE, VERMILION, GREEN, "#CC79A7", "#B07A00", "#2B95D6", "#8A8F98", "#9467BD", "#A0693A"]
ROWS = 14  # kernels with a row of their own in the charts; the table lists all
BINS = 300  # steps of the timeline
POINTS = 4000  # simulated launches drawn one by one
LETTERS = 34  # of a kernel's name beside a chart of the page

Rows = list[dict[str, Any]]
Chart = alt.Chart | alt.LayerChart | alt.FacetChart


def charts(view: RunView, letters: int = LETTERS) -> dict[str, dict[str, Any]]:
    """The specifications by name; a chart without data is left out.

    share: estimated cycles of each kernel; timeline: launches of each kernel along the run, and which were simulated; passes:
    the stated interval after each pass; map: embeddings of the streams.

    Args:
        view: content of the run.
        letters: longest name of a kernel; the middle of a longer one is left out.
    """
    made = {
        "share": _share(view, letters),
        "timeline": _timeline(view, letters),
        "passes": passes_chart(view.looks, view.counter, view.relative_error, view.truth),
        "map": _map(view, letters),
    }
    return {name: chart.properties(width="container").to_dict() for name, chart in made.items() if chart is not None}


def _label(letters: int) -> str:
    """Vega expression of a label of at most so many letters."""
    cut = f"slice(datum.label, 0, {letters // 2}) + '…' + slice(datum.label, {1 - letters // 2})"
    return f"length(datum.label) > {letters} ? {cut} : datum.label"


def _kernels(letters: int, names: Sequence[str] | None = None) -> alt.Y:
    """An axis with a row for each kernel, in the order of `names`, or of the data."""
    axis = alt.Axis(labelExpr=_label(letters), labelLimit=0)
    return alt.Y("kernel:N", sort=list(names) if names else None, title=None, axis=axis)


def _data(rows: Rows) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _chosen() -> alt.Parameter:
    """The kernel chosen on the page, which sets it in every chart at once."""
    return alt.param(name="chosen", value="")


def _opacity(usual: float = 1.0) -> Any:
    """The opacity of a mark: less where another kernel is chosen."""
    return alt.when("chosen === '' || chosen === datum.kernel").then(alt.value(usual)).otherwise(alt.value(0.15))


def _share(view: RunView, letters: int) -> Chart | None:
    """Estimated cycles of each kernel, as a share of the total."""
    if not view.kernels:
        return None
    rows: Rows = [
        {"kernel": k.name, "share": k.share, "launches": k.launches, "simulated": k.simulated, "cycles": k.cycles}
        for k in view.kernels[:ROWS]
    ]
    if rest := view.kernels[ROWS:]:
        total = {key: sum(getattr(k, key) for k in rest) for key in ("share", "launches", "simulated", "cycles")}
        rows.append({"kernel": f"{OTHERS} ({len(rest)})", **total})
    chosen, opacity = _chosen(), _opacity()
    return (
        alt.Chart(_data(rows), height=alt.Step(20))
        .mark_bar(color=BLUE, cursor="pointer")
        .encode(
            x=alt.X("share:Q", title="share of the estimated cycles", axis=alt.Axis(format="%", tickCount=6)),
            y=_kernels(letters),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("kernel:N"),
                alt.Tooltip("share:Q", format=".2%"),
                alt.Tooltip("cycles:Q", format=",.0f"),
                alt.Tooltip("launches:Q", format=","),
                alt.Tooltip("simulated:Q", format=","),
            ],
        )
        .add_params(chosen)
    )


def _timeline(view: RunView, letters: int) -> Chart | None:
    """Rows are kernels; grey where a kernel has launches, a blue mark where one was simulated."""
    if not view.kernels:
        return None
    names = [k.name for k in view.kernels[:ROWS]]
    row_of = np.minimum(view.kernel_of_launch, len(names))
    labels = np.array([*names, OTHERS], dtype=object)
    chosen, opacity = _chosen(), _opacity()
    order = _kernels(letters, [*names, OTHERS])
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x"])
    grey = alt.Chart(_data(_launch_bins(view, row_of, labels))).mark_bar(color=GREY, height=6)
    grey = grey.encode(
        x=alt.X("from:Q", title="launch index", axis=alt.Axis(tickCount=8), scale=alt.Scale(nice=False)),
        x2="to:Q",
        y=order,
        opacity=_opacity(),
    )
    tips = [
        alt.Tooltip("kernel:N"),
        alt.Tooltip("launch:Q", format=","),
        alt.Tooltip("value:Q", format=",.6~g", title=view.counter),
    ]
    drawn = np.flatnonzero(view.simulated)
    drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
    marks: Rows = [
        {"kernel": labels[row_of[u]], "launch": int(u), "value": float(view.values[u])} for u in drawn.tolist()
    ]
    blue = alt.Chart(_data(marks)).mark_tick(color=BLUE, thickness=3, height=16, cursor="pointer")
    blue = blue.encode(x="launch:Q", y=order, opacity=opacity, tooltip=tips)
    return alt.layer(grey, blue).add_params(chosen, zoom).properties(height=alt.Step(20))


def _launch_bins(view: RunView, row_of: np.ndarray, labels: np.ndarray) -> Rows:
    """The number of launches of each kernel in each of at most BINS equal ranges of launch indices, where there are any."""
    step = max(1, -(-view.launches // BINS))
    bins = view.launches // step + 1
    cells, counts = np.unique(row_of * bins + np.arange(view.launches) // step, return_counts=True)
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
    looks: Sequence[PassEnd], counter: str, relative_error: float, full_run: FullRun | None = None
) -> Chart | None:
    """The interval after each pass, the error budget about the last estimate, and the full run's total where it is known."""
    rows: Rows = [
        {
            "pass": f"{look.number}",
            "estimate": look.estimate,
            "low": look.estimate - look.half_width,
            "high": look.estimate + look.half_width,
            "simulated": look.simulated,
        }
        for look in looks
        if look.half_width is not None
    ]
    if not rows:
        return None
    last, scale = looks[-1].estimate, alt.Scale(zero=False)
    wide, name = abs(last) * relative_error, f"error budget, {share(relative_error)}"
    budget = alt.Chart(_data([{"low": last - wide, "high": last + wide, "band": name}]))
    base = alt.Chart(_data(rows), height=220).encode(
        x=alt.X("pass:O", title="pass", sort=None, axis=alt.Axis(labelAngle=0)),
        tooltip=["pass:O", alt.Tooltip("estimate:Q", format=",.0f"), alt.Tooltip("simulated:Q", format=",")],
    )
    low = alt.Y("low:Q", title=f"estimated {counter}", scale=scale)
    layers = [
        budget.mark_rect(color=GREEN, opacity=0.18).encode(y=low, y2="high:Q", tooltip=["band:N"]),
        base.mark_rule(color=BLUE, strokeWidth=2).encode(y=low, y2="high:Q"),
        base.mark_point(color=BLUE, filled=True, size=70).encode(y=alt.Y("estimate:Q", scale=scale)),
    ]
    if full_run is not None:
        truth = alt.Chart(_data([{"total": full_run.total, "line": "full run"}]))
        layers.append(
            truth.mark_rule(color=VERMILION, strokeDash=[6, 4]).encode(
                y="total:Q", tooltip=["line:N", alt.Tooltip("total:Q", format=",.0f")]
            )
        )
    return alt.layer(*layers)


def kernel_colours(view: RunView) -> dict[str, str]:
    """Colours of the largest kernels, and of the others last."""
    return {**{k.name: colour for k, colour in zip(view.kernels, COLOURS[:6], strict=False)}, OTHERS: GREY}


def _map(view: RunView, letters: int) -> Chart | None:
    """Embeddings of the streams in two dimensions; the largest kernels are named by colour."""
    if view.stream_map is None or not len(view.stream_map):
        return None
    colour_of = kernel_colours(view)
    rows: Rows = [
        {
            "kernel": name,
            "group": name if name in colour_of else OTHERS,
            "x": float(x),
            "y": float(y),
            "launches": int(count),
        }
        for name, (x, y), count in zip(view.stream_names, view.stream_map, view.stream_launches, strict=True)
    ]
    chosen, opacity = _chosen(), _opacity()
    scale = alt.Scale(domain=list(colour_of), range=list(colour_of.values()))
    legend = alt.Legend(title=None, orient="bottom", columns=1, labelExpr=_label(letters), labelLimit=0)
    return (
        alt.Chart(_data(rows), height=320)
        .mark_circle(opacity=0.8, cursor="pointer")
        .encode(
            x=alt.X("x:Q", axis=None),
            y=alt.Y("y:Q", axis=None),
            size=alt.Size("launches:Q", scale=alt.Scale(type="log", range=[30, 400]), legend=None),
            color=alt.Color("group:N", scale=scale, legend=legend),
            opacity=opacity,
            tooltip=["kernel:N", alt.Tooltip("launches:Q", format=",")],
        )
        .add_params(chosen)
    )
