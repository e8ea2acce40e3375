"""Two sampled runs of one list on two simulated GPUs, as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import altair as alt

from kernelpoint.journal import Run
from kernelpoint.paired import Comparison, CounterRow
from kernelpoint.report.charts import BLUE, VERMILION
from kernelpoint.report.html import document, section, table
from kernelpoint.report.sentences import number
from kernelpoint.report.view import view_run
from kernelpoint.report.write import plan_of

SHOWN = 20  # kernels in the chart; the table has all
CAPTION = (
    "Estimated cycles of B less those of A. Orange: the kernel takes more cycles in B. Blue: fewer. No bound on these."
)
KERNELS = ("kernel", "launches", "A", "B", "B - A", "B / A")
COUNTERS = ("counter", "A", "B - A", "half-width", "B / A", "half-width", "from both bounds")


def verdict(row: CounterRow, confidence: float) -> tuple[str, str]:
    """The ratio with its half-width, and its meaning.

    >>> from kernelpoint.estimation.paired import Interval
    >>> ratio = Interval(0.9, 0.01, 0.005, 9.0)
    >>> verdict(CounterRow("cycles", 100.0, 90.0, ratio, ratio, 0.04), 0.95)
    ('B / A = 0.9000 ± 0.0100', 'B has fewer cycles, at 95 % confidence.')
    """
    value, width = row.ratio.value, row.ratio.half_width
    if not (math.isfinite(value) and math.isfinite(width)):
        return f"B / A = {value:.4f}", "No bound is stated, so the order is not known."
    if abs(value - 1.0) <= width:
        meaning = "A tie: the interval contains 1."
    else:
        meaning = f"B has {'fewer' if value < 1.0 else 'more'} {row.counter}, at {100 * confidence:g} % confidence."
    return f"B / A = {value:.4f} ± {width:.4f}", meaning


def kernel_changes(first: Run, second: Run) -> list[tuple[str, int, float, float]]:
    """Name, launches, and estimated cycles in both runs of each kernel; the largest change first."""
    a, b = (view_run(run, plan_of(run)[0]) for run in (first, second))
    cycles = {kernel.name: kernel.cycles for kernel in b.kernels}
    rows = [(k.name, k.launches, k.cycles, cycles[k.name]) for k in a.kernels if k.name in cycles]
    return sorted(rows, key=lambda row: -abs(row[3] - row[2]))


def pair_page(first: Run, second: Run, result: Comparison) -> str:
    """The page: ratio and verdict of the error budget's counter, contributions of kernels, every counter."""
    counter = first.ended().counter
    main = next((row for row in result.rows if row.counter == counter), result.rows[0])
    figure, meaning = verdict(main, result.confidence)
    kernels = kernel_changes(first, second)
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    body = (
        f"<h1>B against A</h1><p>A: {escape(str(first.path))}<br>B: {escape(str(second.path))}</p>"
        f'<div class="verdict"><b>{escape(figure)}</b><strong>{escape(meaning)}</strong>'
        f"<p>{result.common:,} of {result.launches:,} launches were simulated in both runs "
        f"({result.first_drawn:,} in A, {result.second_drawn:,} in B).</p></div>"
        + (section("changes", "Change by kernel", CAPTION) + table(KERNELS, _kernel_rows(kernels)) if kernels else "")
        + f"<h2>Every counter</h2>{table(COUNTERS, map(_counter_row, result.rows))}"
        + (f'<h2>Assumptions</h2><ul class="soft">{notes}</ul>' if notes else "")
    )
    return document("KernelPoint: two runs", body, {"changes": _chart(kernels[:SHOWN])} if kernels else {})


def _kernel_rows(kernels: Sequence[tuple[str, int, float, float]]) -> list[str]:
    return [
        _cells(name, f"{n:,}", f"{a:,.0f}", f"{b:,.0f}", f"{b - a:+,.0f}", f"{b / a:.4f}" if a else "-")
        for name, n, a, b in kernels
    ]


def _counter_row(row: CounterRow) -> str:
    values = (row.first, row.difference.value, row.difference.half_width)
    ratio = (f"{v:.4f}" if math.isfinite(v) else "-" for v in (row.ratio.value, row.ratio.half_width, row.separate))
    return _cells(row.counter, *(number(v) if math.isfinite(v) else "-" for v in values), *ratio)


def _cells(*texts: str) -> str:
    return "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"


def _chart(kernels: Sequence[tuple[str, int, float, float]]) -> dict[str, Any]:
    """A bar for each kernel, the largest change on top."""
    rows = [{"kernel": name, "change": b - a, "more": b > a} for name, _, a, b in kernels]
    chart = alt.Chart(alt.InlineData(values=rows), width="container", height=alt.Step(18))
    bars = chart.mark_bar().encode(
        y=alt.Y("kernel:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("change:Q", title="cycles of B less those of A"),
        color=alt.Color("more:N", scale=alt.Scale(domain=[True, False], range=[VERMILION, BLUE]), legend=None),
        tooltip=["kernel:N", alt.Tooltip("change:Q", format="+,.0f")],
    )
    return dict(bars.to_dict())
