"""Two sampled runs of one list on two simulated GPUs: their table of counters, and their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from kernelpoint.journal import Run
from kernelpoint.pages.numbers import factor, is_finite, ratio, share, signed
from kernelpoint.pages.page import Chart, Page, Text, Verdict
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.paired import Comparison, CounterRow
from kernelpoint.report.charts import BLUE, GREY, VERMILION
from kernelpoint.report.view import view_of

SHOWN = 20  # kernels in the chart; the table has all
CAPTION = (
    "Estimated cycles of B less those of A. Orange: more cycles in B. Blue: fewer. Grey: a tie, the change is within its "
    "half-width, the sum of the kernel's half-widths in both runs. The bound above is for the difference of the whole runs."
)
COUNTERS = (
    Column("counter", str),
    Column("A"),
    Column("B - A"),
    Column("half-width"),
    Column("B / A", ratio),
    Column("half-width", ratio),
    Column("from both bounds", ratio),
    Column("tighter", factor),
)
NOTE = (
    "From both bounds: half-width of B / A from the bounds of both runs. Tighter: that over the half-width of B / A, which "
    "uses the launches that both runs simulated"
)
KERNELS = (
    Column("kernel", str),
    Column("launches"),
    Column("A"),
    Column("B"),
    Column("B - A", signed),
    Column("half-width"),
    Column("B / A", ratio),
)


def verdict(row: CounterRow, confidence: float) -> tuple[str, str]:
    """Sentence with the ratio of two runs, its half-width, and what it means.

    >>> from kernelpoint.estimation import Estimate
    >>> ratio, difference = Estimate.of(0.9, 0.01), Estimate.of(-10.0, 1.0)
    >>> verdict(CounterRow("cycles", 100.0, 90.0, ratio, difference, separate=0.04), 0.95)
    ('B / A = 0.9000 ± 0.0100', 'B has fewer cycles, at 95 % confidence.')
    """
    value, width = row.ratio.estimate, row.ratio.half_width
    if not (is_finite(value) and is_finite(width)):
        return f"B / A = {ratio(value)}", "No bound is stated, so the order is not known."
    if abs(value - 1.0) <= width:
        meaning = "A tie: the interval contains 1."
    else:
        meaning = f"B has {'fewer' if value < 1.0 else 'more'} {row.counter}, at {share(confidence)} confidence."
    return f"B / A = {ratio(value)} ± {ratio(width)}", meaning


def _colour(row: CounterRow) -> str:
    """Colour of the verdict, that of the chart's bars: warn (orange) for more in B, cool (blue) for fewer, plain for a tie."""
    value, width = row.ratio.estimate, row.ratio.half_width
    if not (is_finite(value) and is_finite(width)) or abs(value - 1.0) <= width:
        return "plain"
    return "warn" if value > 1.0 else "cool"


def kernel_changes(first: Run, second: Run) -> list[tuple[str, int, float, float, float, float, float]]:
    """Change of each kernel between two runs: name, launches, cycles in both, difference, its half-width, ratio; largest
    change first.

    The half-width is the sum of those of both runs: nothing is assumed of how their errors go together. nan: one has none.
    """
    b = {kernel.name: kernel for kernel in view_of(second).kernels}
    rows = []
    for kernel in view_of(first).kernels:
        if (other := b.get(kernel.name)) is None:
            continue
        bounds = [
            one.totals["cycles"].half_width if "cycles" in one.totals else float("nan") for one in (kernel, other)
        ]
        change, quotient = other.cycles - kernel.cycles, other.cycles / (kernel.cycles or float("nan"))
        rows.append((kernel.name, kernel.launches, kernel.cycles, other.cycles, change, sum(bounds), quotient))
    return sorted(rows, key=lambda row: -abs(row[4]))


def counter_table(result: Comparison, title: str = "Every counter") -> Table:
    """Table of all counters of two runs: total, difference and ratio, each with its bound."""
    rows = [
        Row(
            (
                row.counter,
                row.first,
                row.difference.estimate,
                row.difference.half_width,
                row.ratio.estimate,
                row.ratio.half_width,
                row.separate,
                row.tighter if is_finite(row.ratio.half_width) else None,
            )
        )
        for row in result.rows
    ]
    return Table(COUNTERS, rows, title, notes=[NOTE])


def common(result: Comparison) -> str:
    """Sentence on how many launches both runs simulated."""
    return (
        f"{result.common:,} of {result.launches:,} launches were simulated in both runs ({result.first_drawn:,} in A, "
        f"{result.second_drawn:,} in B); every half-width by itself at {share(result.confidence)}"
    )


def pair_page(first: Run, second: Run, result: Comparison) -> str:
    """HTML page on two runs: verdict on the error budget's counter, changes of kernels, table of all counters."""
    counter = first.ended().counter
    main = next((row for row in result.rows if row.counter == counter), result.rows[0])
    kernels = kernel_changes(first, second)
    blocks = [
        Text([f"A: {first.path}", f"B: {second.path}"]),
        Verdict(*verdict(main, result.confidence), [f"{common(result)}."], colour=_colour(main)),
        Chart("changes", "Change by kernel", CAPTION, _chart(kernels[:SHOWN]) if kernels else None),
        Table(KERNELS, [Row(row, key=row[0]) for row in kernels], name="kernels") if kernels else None,
        counter_table(result),
        Text(result.notes, "Assumptions") if result.notes else None,
    ]
    return Page("B against A", blocks, "KernelPoint: two runs").html()


def _chart(kernels: Sequence[tuple[str, int, float, float, float, float, float]]) -> dict[str, Any]:
    """A bar for each kernel, the largest change on top."""
    kinds = {True: "more", False: "fewer"}
    rows = [
        {"kernel": row[0], "change": row[4], "kind": kinds[row[4] > 0.0] if abs(row[4]) > row[5] else "tie"}
        for row in kernels
    ]
    chart = alt.Chart(alt.InlineData(values=rows), width="container", height=alt.Step(18))
    bars = chart.mark_bar().encode(
        y=alt.Y("kernel:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("change:Q", title="cycles of B less those of A"),
        color=alt.Color(
            "kind:N", scale=alt.Scale(domain=["more", "fewer", "tie"], range=[VERMILION, BLUE, GREY]), legend=None
        ),
        tooltip=["kernel:N", alt.Tooltip("change:Q", format="+,.0f")],
    )
    return dict(bars.to_dict())
