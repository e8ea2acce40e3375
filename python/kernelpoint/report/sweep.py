"""A sweep: runs of one plan and one seed on many simulated GPUs, ranked; their table and their page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import altair as alt

from kernelpoint.errors import JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import is_finite, number, ratio
from kernelpoint.pages.page import Chart, Page, Verdict
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.paired import compare_runs
from kernelpoint.report.charts import BLUE, chart_of

if TYPE_CHECKING:
    from kernelpoint.pages.page import AnyChart

COLUMNS = (
    Column("configuration", str, of="name"),
    Column("rank", str, of=lambda row: f"{row.rank}{' =' if row.tied else ''}"),
    Column("total", of="total.estimate"),
    Column("half-width", of="total.half_width"),
    Column("ratio to the first", ratio, of="ratio.estimate"),
    Column("half-width", ratio, of="ratio.half_width"),
    Column("simulated", of="simulated"),
)
NOTE = (
    "Ratios are of totals, from the launches sampled in both runs, each with its bound at the runs' confidence; a "
    "small total is a fast GPU. A rank marked = is a tie with the one before it: the interval of their ratio contains 1."
)
CAPTION = "The total of each configuration with its stated interval, the smallest first."


@dataclass(frozen=True)
class SweepRow:
    """Row of a sweep's table: one configuration of the simulated GPU and its estimate.

    Attributes:
        total: of the counter of the error budget.
        ratio: of the total to the first configuration's; nan where none is stated.
        simulated: number of launches.
        note: reason for a missing ratio, or empty.
        tied: equal to the one ranked before it, within the bound.
    """

    name: str
    total: Estimate
    ratio: Estimate
    simulated: int
    note: str
    rank: int = 0
    tied: bool = False


def ranked(names: Sequence[str], runs: Sequence[Run]) -> list[SweepRow]:
    """Rank the runs by total, smallest first. Neighbours are marked as a tie if the interval of their ratio contains 1."""
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
        tied = between is not None and not abs(between.estimate - 1.0) > between.half_width
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
    """Table of the configurations, fastest simulated GPU first."""
    notes = [NOTE, *(f"{row.name}: {row.note}" for row in rows if row.note)]
    return Table(COLUMNS, rows_of(COLUMNS, rows), "Every configuration", notes=notes)


def html_page(rows: Sequence[SweepRow]) -> str:
    """HTML page of a sweep: the fastest configuration, a chart of the totals, the table."""
    chart = Chart("totals", "Totals", CAPTION, _chart(rows))
    return Page("Configurations compared", [_verdict(rows), chart, sweep_table(rows)], "KernelPoint: sweep").html()


def _verdict(rows: Sequence[SweepRow]) -> Verdict:
    """The fastest configuration, or those of the first rank."""
    best = [row for row in rows if row.rank == rows[0].rank]
    total, width = rows[0].total.estimate, rows[0].total.half_width
    if len(best) == 1:
        claim, colour = "has the smallest total; the interval of its ratio to the next one excludes 1.", "cool"
    else:
        claim, colour = "are tied: the intervals of the ratios between neighbours contain 1.", "plain"
    lines = [f"{rows[0].name}: {number(total)} ± {number(width)}, {rows[0].simulated:,} launches simulated."]
    return Verdict(", ".join(row.name for row in best[:5]) + ", ..." * (len(best) > 5), claim, lines, colour=colour)


def _chart(rows: Sequence[SweepRow]) -> AnyChart:
    """A dot and an interval for each configuration, in the order of the table."""
    values = []
    for row in rows:
        total, half = row.total.estimate, row.total.half_width if row.total.is_bounded else 0.0
        if is_finite(total):
            values.append({"name": row.name, "total": total, "low": total - half, "high": total + half})
    base = chart_of(values, height=alt.Step(22)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=["name:N", alt.Tooltip("total:Q", format=",.0f")],
    )
    scale = alt.Scale(zero=False)
    low = alt.X("low:Q", title="total", scale=scale, axis=alt.Axis(tickCount=6, format="~s"))
    bars = base.mark_rule(strokeWidth=3, color=BLUE).encode(x=low, x2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1.0, color=BLUE).encode(x=alt.X("total:Q", scale=scale))
    return alt.layer(bars, dots)
