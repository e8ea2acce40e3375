"""Two sampled runs of one list on two simulated GPUs: their table of counters, and their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt

from kernelpoint.journal import Run
from kernelpoint.pages.numbers import factor, is_finite, ratio, share, signed
from kernelpoint.pages.page import Chart, Page, Text, Verdict
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.paired import Comparison, CounterRow, row_apart
from kernelpoint.report.charts import BLUE, GREY, VERMILION, chart_of
from kernelpoint.report.result import result_of

SHOWN = 20  # kernels in the chart; the table has all
CAPTION = (
    "Estimated cycles of B less those of A. Orange: more cycles in B. Blue: fewer. Grey: a tie, the change is within its "
    "half-width, the sum of the kernel's half-widths in both runs. The bound above is for the difference of the whole runs."
)
COUNTERS = (
    Column("counter", str, of="counter"),
    Column("A", of="first"),
    Column("B - A", of="difference.estimate"),
    Column("half-width", of="difference.half_width"),
    Column("B / A", ratio, of="ratio.estimate"),
    Column("half-width", ratio, of="ratio.half_width"),
    Column("from both bounds", ratio, of="separate"),
    Column("tighter", factor, of=lambda row: row.tighter if is_finite(row.ratio.half_width) else None),
)
NOTE = (
    "From both bounds: half-width of B / A from the bounds of both runs. Tighter: that over the half-width of B / A, which "
    "uses the launches that both runs simulated"
)
KERNELS = (
    Column("kernel", str, of="cycles.counter"),
    Column("launches", of="launches"),
    Column("A", of="cycles.first"),
    Column("B", of="cycles.second"),
    Column("B - A", signed, of="cycles.difference.estimate"),
    Column("half-width", of="cycles.difference.half_width"),
    Column("B / A", ratio, of="cycles.ratio.estimate"),
)


class Change(NamedTuple):
    """Change of a kernel between two runs: its launches, and its cycles compared."""

    launches: int
    cycles: CounterRow


def kernel_changes(first: Run, second: Run) -> list[Change]:
    """Change of each kernel between two runs, largest first.

    The half-width is the sum of those of both runs: nothing is assumed of how their errors go together. nan: one has none.
    """
    in_second = {kernel.name: kernel for kernel in result_of(second).kernels}
    changes = [
        Change(kernel.launches, row_apart(kernel.name, kernel.cycles, in_second[kernel.name].cycles))
        for kernel in result_of(first).kernels
        if kernel.name in in_second
    ]
    return sorted(changes, key=lambda change: -abs(change.cycles.difference.estimate))


def verdict(row: CounterRow, confidence: float) -> tuple[str, str, str]:
    """Three parts of the verdict on two runs: their ratio with its half-width, a sentence, and the colour of the chart's bars.

    >>> from kernelpoint.estimate import Estimate
    >>> ratio, difference = Estimate.of(0.9, 0.01), Estimate.of(-10.0, 1.0)
    >>> verdict(CounterRow("cycles", 100.0, 90.0, ratio, difference, separate=0.04), 0.95)
    ('B / A = 0.9000 ± 0.0100', 'B has fewer cycles, at 95 % confidence.', 'cool')
    """
    value, width = row.ratio.estimate, row.ratio.half_width
    if not (is_finite(value) and is_finite(width)):
        return f"B / A = {ratio(value)}", "No bound is stated, so the order is not known.", "plain"
    figure = f"B / A = {ratio(value)} ± {ratio(width)}"
    if abs(value - 1.0) <= width:
        return figure, "A tie: the interval contains 1.", "plain"
    which, colour = ("fewer", "cool") if value < 1.0 else ("more", "warn")
    return figure, f"B has {which} {row.counter}, at {share(confidence)} confidence.", colour


def pair_table(result: Comparison, title: str = "Every counter") -> Table:
    """Table of all counters of two runs: total, difference and ratio, each with its bound."""
    return Table(COUNTERS, rows_of(COUNTERS, result.rows), title, notes=[NOTE])


def common(result: Comparison) -> str:
    """Sentence on how many launches both runs simulated."""
    return (
        f"{result.common:,} of {result.launches:,} launches were simulated in both runs ({result.first_drawn:,} in A, "
        f"{result.second_drawn:,} in B); every half-width by itself at {share(result.confidence)}"
    )


def pair_page(first: Run, second: Run, result: Comparison) -> str:
    """HTML page on two runs: verdict on the error budget's counter, changes of kernels, table of all counters."""
    counter = first.ended().counter
    main = sorted(result.rows, key=lambda row: row.counter != counter)[:1]
    verdicts = [verdict(row, result.confidence) for row in main]
    kernels = kernel_changes(first, second)
    rows = rows_of(KERNELS, kernels, key=lambda change: change.cycles.counter)
    blocks = [
        Text([f"A: {first.path}", f"B: {second.path}"]),
        *(Verdict(figure, claim, [f"{common(result)}."], colour=colour) for figure, claim, colour in verdicts),
        Chart("changes", "Change by kernel", CAPTION, _chart(kernels[:SHOWN]) if kernels else None),
        Table(KERNELS, rows, name="kernels") if kernels else None,
        pair_table(result),
        Text(result.notes, "Assumptions") if result.notes else None,
    ]
    return Page("B against A", blocks, "KernelPoint: two runs").html()


def _chart(changes: Sequence[Change]) -> alt.Chart:
    """A bar for each kernel, the largest change on top."""
    rows = []
    for _, cycles in changes:
        change = cycles.difference
        kind = "tie" if not abs(change.estimate) > change.half_width else "more" if change.estimate > 0.0 else "fewer"
        rows.append({"kernel": cycles.counter, "change": change.estimate, "kind": kind})
    kinds = alt.Scale(domain=["more", "fewer", "tie"], range=[VERMILION, BLUE, GREY])
    return (
        chart_of(rows, height=alt.Step(18))
        .mark_bar()
        .encode(
            y=alt.Y("kernel:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X("change:Q", title="cycles of B less those of A"),
            color=alt.Color("kind:N", scale=kinds, legend=None),
            tooltip=["kernel:N", alt.Tooltip("change:Q", format="+,.0f")],
        )
    )
