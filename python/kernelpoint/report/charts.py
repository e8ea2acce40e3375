"""The charts of a run, for its page and for papers, as Vega-Lite specifications.

Colours begin with those of Okabe and Ito, which the colour-blind can distinguish: blue for simulated, grey for skipped,
vermilion for the full run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelpoint.pages.numbers import is_finite, share
from kernelpoint.report.full_run import FullRun
from kernelpoint.report.view import OTHERS, PassEnd, RunView

# Each has a contrast of at least 3 to the white and to the dark page.
BLUE, GREY, VERMILION, GREEN = "#0072B2", "#7f8896", "#D55E00", "#009E73"
COLOURS = [BLUE, VERMILION, GREEN, "#CC79A7", "#B07A00", "#2B95D6", "#8A8F98", "#9467BD", "#A0693A"]
ROWS = 14  # kernels with a row of their own in the charts; the table lists all
BINS = 300  # steps of the timeline
POINTS = 4000  # simulated launches drawn one by one
LETTERS = 34  # of a kernel's name beside a chart of the page

Spec = dict[str, Any]  # a Vega-Lite specification, or a part of one
Rows = list[dict[str, Any]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}
CHOSEN: Spec = {"name": "chosen", "value": ""}  # the kernel chosen on the page, which sets it in every chart at once
# The opacity of a mark: less where another kernel is chosen.
OPACITY: Spec = {"condition": {"test": "chosen === '' || chosen === datum.kernel", "value": 1.0}, "value": 0.15}


def charts(view: RunView, letters: int = LETTERS) -> dict[str, Spec]:
    """Vega-Lite charts of a run by name. A chart without data is left out.

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
    return {name: chart for name, chart in made.items() if chart is not None}


def _chart(**parts: Any) -> Spec:
    """A whole chart, as wide as its place."""
    return {"$schema": SCHEMA, "width": "container", **parts}


def _data(rows: Rows) -> Spec:
    return {"values": rows}


def _channel(field: str, **more: Any) -> Spec:
    """A field with its type, "share:Q", on a channel.

    >>> _channel("share:Q", format=".2%")
    {'field': 'share', 'type': 'quantitative', 'format': '.2%'}
    """
    name, _, kind = field.partition(":")
    return {"field": name, "type": TYPES[kind], **more}


def _label(letters: int) -> str:
    """Vega expression of a label of at most so many letters."""
    cut = f"slice(datum.label, 0, {letters // 2}) + '…' + slice(datum.label, {1 - letters // 2})"
    return f"length(datum.label) > {letters} ? {cut} : datum.label"


def _kernels(letters: int, names: Sequence[str] | None = None) -> Spec:
    """An axis with a row for each kernel, in the order of `names`, or of the data."""
    axis = {"labelExpr": _label(letters), "labelLimit": 0}
    return _channel("kernel:N", sort=list(names) if names else None, title=None, axis=axis)


def _share(view: RunView, letters: int) -> Spec | None:
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
    return _chart(
        data=_data(rows),
        height={"step": 20},
        params=[CHOSEN],
        mark={"type": "bar", "color": BLUE, "cursor": "pointer"},
        encoding={
            "x": _channel("share:Q", title="share of the estimated cycles", axis={"format": "%", "tickCount": 6}),
            "y": _kernels(letters),
            "opacity": OPACITY,
            "tooltip": [
                _channel("kernel:N"),
                _channel("share:Q", format=".2%"),
                _channel("cycles:Q", format=",.0f"),
                _channel("launches:Q", format=","),
                _channel("simulated:Q", format=","),
            ],
        },
    )


def _timeline(view: RunView, letters: int) -> Spec | None:
    """Rows are kernels; grey where a kernel has launches, a blue mark where one was simulated."""
    if not view.kernels:
        return None
    names = [k.name for k in view.kernels[:ROWS]]
    row_of = np.minimum(view.kernel_of_launch, len(names))
    labels = np.array([*names, OTHERS], dtype=object)
    order = _kernels(letters, [*names, OTHERS])
    launches = _channel("from:Q", title="launch index", axis={"tickCount": 8}, scale={"nice": False})
    grey = {
        "data": _data(_launch_bins(view, row_of, labels)),
        "mark": {"type": "bar", "color": GREY, "height": 6},
        "encoding": {"x": launches, "x2": {"field": "to"}, "y": order, "opacity": OPACITY},
        "params": [
            {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"},
        ],
    }
    drawn = np.flatnonzero(view.simulated)
    drawn = drawn[:: max(1, -(-len(drawn) // POINTS))]
    marks: Rows = [
        {"kernel": labels[row_of[u]], "launch": int(u), "value": float(view.values[u])} for u in drawn.tolist()
    ]
    tips = [
        _channel("kernel:N"),
        _channel("launch:Q", format=","),
        _channel("value:Q", format=",.6~g", title=view.counter),
    ]
    blue = {
        "data": _data(marks),
        "mark": {"type": "tick", "color": BLUE, "thickness": 3, "height": 16, "cursor": "pointer"},
        "encoding": {"x": _channel("launch:Q"), "y": order, "opacity": OPACITY, "tooltip": tips},
    }
    return _chart(layer=[grey, blue], params=[CHOSEN], height={"step": 20})


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
) -> Spec | None:
    """Chart of the interval after each pass, the error budget around the last estimate, and the full run's total if known."""
    rows: Rows = [
        {
            "pass": f"{look.number}",
            "estimate": look.estimate,
            "low": look.estimate - look.half_width,
            "high": look.estimate + look.half_width,
            "simulated": look.simulated,
        }
        for look in looks
        if is_finite(look.half_width)
    ]
    if not rows:
        return None
    last, scale = looks[-1].estimate, {"zero": False}
    wide, name = abs(last) * relative_error, f"error budget, {share(relative_error)}"
    low, high = _channel("low:Q", title=f"estimated {counter}", scale=scale), {"field": "high"}
    of_pass = {
        "x": _channel("pass:O", title="pass", sort=None, axis={"labelAngle": 0}),
        "tooltip": [
            _channel("pass:O"),
            _channel("estimate:Q", format=",.0f"),
            _channel("simulated:Q", format=","),
        ],
    }
    layers: list[Spec] = [
        {
            "data": _data([{"low": last - wide, "high": last + wide, "band": name}]),
            "mark": {"type": "rect", "color": GREEN, "opacity": 0.18},
            "encoding": {"y": low, "y2": high, "tooltip": [_channel("band:N")]},
        },
        {
            "data": _data(rows),
            "mark": {"type": "rule", "color": BLUE, "strokeWidth": 2},
            "encoding": {**of_pass, "y": low, "y2": high},
        },
        {
            "data": _data(rows),
            "mark": {"type": "point", "color": BLUE, "filled": True, "size": 70},
            "encoding": {**of_pass, "y": _channel("estimate:Q", scale=scale)},
        },
    ]
    if full_run is not None:
        layers.append(
            {
                "data": _data([{"total": full_run.total, "line": "full run"}]),
                "mark": {"type": "rule", "color": VERMILION, "strokeDash": [6, 4]},
                "encoding": {
                    "y": _channel("total:Q"),
                    "tooltip": [_channel("line:N"), _channel("total:Q", format=",.0f")],
                },
            }
        )
    return _chart(layer=layers, height=220)


def kernel_colours(view: RunView) -> dict[str, str]:
    """Colours of the largest kernels; all other kernels share the last one."""
    return {**{k.name: colour for k, colour in zip(view.kernels, COLOURS[:6], strict=False)}, OTHERS: GREY}


def _map(view: RunView, letters: int) -> Spec | None:
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
    legend = {"title": None, "orient": "bottom", "columns": 1, "labelExpr": _label(letters), "labelLimit": 0}
    colours = {"domain": list(colour_of), "range": list(colour_of.values())}
    return _chart(
        data=_data(rows),
        height=320,
        params=[CHOSEN],
        mark={"type": "circle", "opacity": 0.8, "cursor": "pointer"},
        encoding={
            "x": _channel("x:Q", axis=None),
            "y": _channel("y:Q", axis=None),
            "size": _channel("launches:Q", scale={"type": "log", "range": [30, 400]}, legend=None),
            "color": _channel("group:N", scale=colours, legend=legend),
            "opacity": OPACITY,
            "tooltip": [_channel("kernel:N"), _channel("launches:Q", format=",")],
        },
    )
