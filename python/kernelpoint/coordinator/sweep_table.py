"""Table of a sweep, as text and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from kernelpoint.journal import EstimateRecord
from kernelpoint.report.html import document, section, table

HEADINGS = ("rank", "configuration", "total", "+-", "ratio to the first", "+-", "simulated")
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
class Row:
    """A configuration in the table.

    Attributes:
        total, ratio: with their half-widths.
        tied: equal to the one ranked before it, within the bound.
        note: reason for a missing ratio, or empty.
    """

    name: str
    total: EstimateRecord
    ratio: Ratio
    simulated: str
    rank: int = 0
    tied: bool = False
    note: str = ""


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, under HEADINGS."""
    return (
        f"{row.rank}{' =' if row.tied else ''}",
        row.name,
        _text(row.total.estimate, "{:,.0f}"),
        _text(row.total.half_width, "{:,.0f}"),
        _text(row.ratio.value, "{:.4f}"),
        _text(row.ratio.half_width, "{:.4f}"),
        row.simulated,
    )


def html_page(rows: Sequence[Row]) -> str:
    """The table as a page, with a chart of the totals."""
    body = ("<tr>" + "".join(f"<td>{escape(part)}</td>" for part in cells(row)) + "</tr>" for row in rows)
    notes = "".join(f"<li>{escape(row.name)}: {escape(row.note)}</li>" for row in rows if row.note)
    return document(
        "KernelPoint: sweep",
        f"<h1>Configurations compared</h1>{section('totals', 'Totals', CAPTION)}{table(HEADINGS, body)}"
        f'<p class="soft">{escape(NOTE)}</p><ul class="soft">{notes}</ul>',
        {"totals": _chart(rows)},
    )


def _chart(rows: Sequence[Row]) -> dict[str, Any]:
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


def _text(value: float | None, form: str) -> str:
    return form.format(value) if value is not None and math.isfinite(value) else "-"
