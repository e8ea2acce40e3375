"""The table of a sweep, and its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kernelpoint.journal import EstimateRecord
from kernelpoint.pages.numbers import ratio
from kernelpoint.pages.page import Chart, Page
from kernelpoint.pages.tables import Column, Row, Table

COLUMNS = (
    Column("configuration", str),
    Column("rank", str),
    Column("total"),
    Column("half-width"),
    Column("ratio to the first", ratio),
    Column("half-width", ratio),
    Column("simulated"),
)
NOTE = (
    "Ratios are of totals, from the launches sampled in both runs, each with its bound at the runs' confidence; a "
    "small total is a fast GPU. A rank marked = is a tie with the one before it: the interval of their ratio contains 1."
)
CAPTION = "The total of each configuration with its stated interval, the smallest first."
BLUE = "#0072B2"


class Ratio(NamedTuple):
    """Total over the first one's, and half-width; nan where none is stated."""

    value: float = math.nan
    half_width: float = math.nan


@dataclass(frozen=True)
class SweepRow:
    """A configuration in the table.

    Attributes:
        total, ratio: with their half-widths.
        simulated: number of launches.
        tied: equal to the one ranked before it, within the bound.
        note: reason for a missing ratio, or empty.
    """

    name: str
    total: EstimateRecord
    ratio: Ratio
    simulated: int
    rank: int = 0
    tied: bool = False
    note: str = ""


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """The configurations, the fastest simulated GPU first."""
    cells = [
        (
            row.name,
            f"{row.rank}{' =' if row.tied else ''}",
            row.total.estimate,
            row.total.half_width,
            *row.ratio,
            row.simulated,
        )
        for row in rows
    ]
    notes = [NOTE, *(f"{row.name}: {row.note}" for row in rows if row.note)]
    return Table(COLUMNS, [Row(one) for one in cells], "Every configuration", notes=notes)


def html_page(rows: Sequence[SweepRow]) -> str:
    """The table as a page, with a chart of the totals."""
    chart = Chart("totals", "Totals", CAPTION, _chart(rows))
    return Page("Configurations compared", [chart, sweep_table(rows)], "KernelPoint: sweep").html()


def _chart(rows: Sequence[SweepRow]) -> dict[str, Any]:
    """A dot and an interval for each configuration, in the order of the table."""
    import altair as alt  # here, because the table in the terminal does without

    shown = [(row.name, row.total.estimate, row.total.half_width or 0.0) for row in rows if row.total.estimate]
    values = [{"name": n, "total": total, "low": total - w, "high": total + w} for n, total, w in shown]
    base = alt.Chart(alt.InlineData(values=values), width="container", height=alt.Step(22)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=["name:N", alt.Tooltip("total:Q", format=",.0f")],
    )
    scale = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=3, color=BLUE).encode(x=alt.X("low:Q", title="total", scale=scale), x2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1.0, color=BLUE).encode(x=alt.X("total:Q", scale=scale))
    return dict(alt.layer(bars, dots).to_dict())
