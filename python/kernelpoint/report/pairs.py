"""Runs compared: two sampled runs of one list on two simulated GPUs, and a sweep, which is one plan on many, ranked; their
tables and their pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernelpoint.errors import JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import factor, is_finite, number, ratio, share, signed
from kernelpoint.pages.page import Chart, Page, Spec, Text, Verdict
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.paired import Comparison, CounterRow, compare_runs, row_apart
from kernelpoint.report.charts import BLUE, GREY, VERMILION, channel, chart_of, rows_by, tooltip
from kernelpoint.report.result import result_of

# ---- two runs --------------------------------------------------------------------------------------------------------

NOTHING = 1e-12  # Numerics: of a total, a smaller difference is rounding
SHOWN = 20  # kernels in the chart; the table has all
CAPTION = (
    "Estimated cycles of B less those of A. Orange: more cycles in B. Blue: fewer. Grey: a tie, the change is within its "
    "half-width, the sum of the kernel's half-widths in both runs. The bound above is for the difference of the whole runs."
)
COUNTERS = (
    Column("counter", str, of="counter"),
    Column("A", of="first"),
    Column("B - A", of=lambda row: row.difference.estimate if abs(row.difference.estimate) > NOTHING * row.first else 0.0),
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
    """Difference of one kernel between two runs: its number of launches, and its cycles in both runs."""

    launches: int
    cycles: CounterRow


def kernel_changes(first: Run, second: Run) -> list[Change]:
    """Difference of each kernel between two runs, the largest difference in cycles first.

    The half-width of a difference is the sum of both runs' half-widths, because the correlation of their errors is unknown; nan
    if a run states none.
    """
    in_second = {kernel.name: kernel for kernel in result_of(second).kernels}
    changes = [
        Change(kernel.launches, row_apart(kernel.name, kernel.cycles, in_second[kernel.name].cycles))
        for kernel in result_of(first).kernels
        if kernel.name in in_second
    ]
    return sorted(changes, key=lambda change: -abs(change.cycles.difference.estimate))


def verdict(row: CounterRow, confidence: float) -> tuple[str, str, str]:
    """Verdict on two runs: the ratio of their totals with its half-width, a sentence, and the colour of the chart's bars.

    Args:
        row: comparison of one counter.
        confidence: confidence level of the half-width.

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
    """Table of all counters of two runs: both totals, their difference and their ratio with half-widths."""
    return Table(COUNTERS, rows_of(COUNTERS, result.rows), title, notes=[NOTE])


def common(result: Comparison) -> str:
    """Sentence on the number of launches that both of two compared runs simulated."""
    return (
        f"{result.common:,} of {result.launches:,} launches were simulated in both runs ({result.first_drawn:,} in A, "
        f"{result.second_drawn:,} in B); every half-width by itself at {share(result.confidence)}"
    )


def pair_page(first: Run, second: Run, result: Comparison) -> str:
    """HTML page that compares two runs: verdict on the error budget's counter, differences of kernels, table of all
    counters.
    """
    counter = first.ended().counter
    main = sorted(result.rows, key=lambda row: row.counter != counter)[:1]
    verdicts = [verdict(row, result.confidence) for row in main]
    kernels = kernel_changes(first, second)
    rows = rows_of(KERNELS, kernels, key=lambda change: change.cycles.counter)
    blocks = [
        Text([f"A: {first.path}", f"B: {second.path}"]),
        *(Verdict(figure, claim, [f"{common(result)}."], colour=colour) for figure, claim, colour in verdicts),
        Chart("changes", "Change by kernel", CAPTION, _changes_chart(kernels[:SHOWN]) if kernels else None),
        Table(KERNELS, rows, name="kernels") if kernels else None,
        pair_table(result),
        Text(result.notes, "Assumptions") if result.notes else None,
    ]
    return Page("B against A", blocks, "KernelPoint: two runs").html()


def _changes_chart(changes: Sequence[Change]) -> Spec:
    """Chart of the changes: a bar for each kernel, the largest change on top."""
    rows = []
    for _, cycles in changes:
        change = cycles.difference
        kind = "tie" if not abs(change.estimate) > change.half_width else "more" if change.estimate > 0.0 else "fewer"
        rows.append({"kernel": cycles.counter, "change": change.estimate, "kind": kind})
    kinds = {"domain": ["more", "fewer", "tie"], "range": [VERMILION, BLUE, GREY]}
    encoding = {
        "y": rows_by("kernel"),
        "x": channel("change", title="cycles of B less those of A"),
        "color": channel("kind", "nominal", scale=kinds, legend=None),
        "tooltip": tooltip("kernel", change="+,.0f"),
    }
    return chart_of(rows, "bar", encoding, width="container", height={"step": 18})


# ---- a sweep ---------------------------------------------------------------------------------------------------------

SWEEP = (
    Column("configuration", str, of="name"),
    Column("rank", str, of=lambda row: f"{row.rank}{' =' if row.tied else ''}"),
    Column("total", of="total.estimate"),
    Column("half-width", of="total.half_width"),
    Column("ratio to the first", ratio, of="ratio.estimate"),
    Column("half-width", ratio, of="ratio.half_width"),
    Column("simulated", of="simulated"),
)
SWEEP_NOTE = (
    "Ratios are of totals, from the launches sampled in both runs, each with its bound at the runs' confidence; a "
    "small total is a fast GPU. A rank marked = is a tie with the one before it: the interval of their ratio contains 1."
)
SWEEP_CAPTION = "The total of each configuration with its stated interval, the smallest first."


@dataclass(frozen=True)
class SweepRow:
    """Row of a table that ranks configurations of the simulated GPU.

    Attributes:
        total: estimated total of the error budget's counter.
        ratio: ratio of the total to that of the first configuration; nan if no ratio is stated.
        simulated: number of simulated launches.
        note: reason for a missing ratio, or empty.
        tied: True if the ratio to the total of the row before does not differ from 1 by more than its half-width.
    """

    name: str
    total: Estimate
    ratio: Estimate
    simulated: int
    note: str
    rank: int = 0
    tied: bool = False


def ranked(names: Sequence[str], runs: Sequence[Run]) -> list[SweepRow]:
    """Rank runs of several configurations by total, smallest first.

    Two neighbours are marked as tied if the confidence interval of their ratio contains 1. Runs that cannot be compared with
    the first run come last.
    """
    counter = str(runs[0].setting("error_budget.counter"))
    rows = []
    for name, run in zip(names, runs, strict=True):
        compared, note = (Estimate.exact(1.0), "") if run is runs[0] else _ratio(runs[0], run, counter)
        rows.append(SweepRow(name, run.estimates()[counter], compared, run.ended().simulated, note))
    values = [row.ratio.estimate if math.isfinite(row.ratio.estimate) else math.inf for row in rows]
    order = sorted(range(len(rows)), key=values.__getitem__)
    placed: list[SweepRow] = []
    for rank, i in enumerate(order, start=1):
        between = _ratio(runs[order[rank - 2]], runs[i], counter)[0] if placed else None
        tied = between is not None and abs(between.estimate - 1.0) <= between.half_width
        placed.append(replace(rows[i], rank=placed[-1].rank if tied else rank, tied=tied))
    return placed


def _ratio(first: Run, second: Run, counter: str) -> tuple[Estimate, str]:
    """The paired ratio of the totals; nan with the reason where there is none."""
    try:
        rows = compare_runs(first, second).rows
    except JournalError as error:
        return Estimate(), str(error)
    paired = next((row.ratio for row in rows if row.counter == counter), None)
    return (Estimate(), f"no ratio of {counter} is stated") if paired is None else (paired, "")


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """Table of configurations of the simulated GPU, with the smallest total first."""
    notes = [SWEEP_NOTE, *(f"{row.name}: {row.note}" for row in rows if row.note)]
    return Table(SWEEP, rows_of(SWEEP, rows), "Every configuration", notes=notes)


def sweep_page(rows: Sequence[SweepRow]) -> str:
    """HTML page that ranks configurations of the simulated GPU: the fastest one, a chart of the totals, and the table."""
    chart = Chart("totals", "Totals", SWEEP_CAPTION, _totals_chart(rows))
    return Page("Configurations compared", [_fastest(rows), chart, sweep_table(rows)], "KernelPoint: sweep").html()


def _fastest(rows: Sequence[SweepRow]) -> Verdict:
    """Verdict of a sweep: the fastest configuration, or the configurations tied for the first rank."""
    best = [row for row in rows if row.rank == rows[0].rank]
    total, width = rows[0].total.estimate, rows[0].total.half_width
    if len(best) == 1:
        claim, colour = "has the smallest total; the interval of its ratio to the next one excludes 1.", "cool"
    else:
        claim, colour = "are tied: the intervals of the ratios between neighbours contain 1.", "plain"
    lines = [f"{rows[0].name}: {number(total)} ± {number(width)}, {rows[0].simulated:,} launches simulated."]
    return Verdict(", ".join(row.name for row in best[:5]) + ", ..." * (len(best) > 5), claim, lines, colour=colour)


def _totals_chart(rows: Sequence[SweepRow]) -> Spec:
    """Chart of the totals: a dot and an interval for each configuration, in the order of the table."""
    values = []
    for row in rows:
        total, half = row.total.estimate, row.total.half_width if row.total.is_bounded else 0.0
        if is_finite(total):
            values.append({"name": row.name, "total": total, "low": total - half, "high": total + half})
    scale, bar, dot = {"zero": False}, {"type": "rule", "strokeWidth": 3}, {"type": "point", "filled": True, "size": 80}
    interval = channel("low", title="total", scale=scale, axis={"tickCount": 6, "format": "~s"})
    layers = [
        chart_of(values, {**bar, "color": BLUE}, {"x": interval, "x2": {"field": "high"}}),
        chart_of(values, {**dot, "opacity": 1.0, "color": BLUE}, {"x": channel("total", scale=scale)}),
    ]
    encoding = {"y": rows_by("name"), "tooltip": tooltip("name", total=",.0f")}
    return {"layer": layers, "encoding": encoding, "width": "container", "height": {"step": 22}}
