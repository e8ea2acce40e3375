"""Ranges of a run (phases, layers, modules): rows of a table, a tree on the page, a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.files import open_output
from kernelpoint.journal import EstimateRecord, Run
from kernelpoint.report.html import table
from kernelpoint.report.sentences import is_weak, number, percent, total
from kernelpoint.session.ratios import RATIOS
from kernelpoint.spreadsheet import safe_cell

WHOLE = "(whole run)"
MOST_ROWS = 3000  # of the page
HEAD = ("range", "launches", "simulated", "estimate", "half-width", "share")
CAPTION = (
    "Totals of the ranges that `ranges:` names, each with its own half-width, at the confidence of the run. Ranges inside a "
    "range, and its other launches, add up to it. Click a row to open or close it."
)


@dataclass(frozen=True)
class RangeRow:
    """One range: path, number of ranges that it lies in, launches, estimate of `counter`, and its share of that of the run."""

    path: str
    depth: int
    launches: int
    simulated: int
    counter: str
    estimate: EstimateRecord
    share: float | None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2] or WHOLE


def range_rows(run: Run) -> list[RangeRow]:
    """The ranges of a run, each followed by those inside it. The counter is that of the error budget, or cycles."""
    if not run.ranges:
        return []
    counter = run.ended().counter
    counter = "cycles" if counter in RATIOS else counter
    whole = run.ranges[""].estimates.get(counter, EstimateRecord()).estimate
    rows, places = [], {path: place for place, path in enumerate(run.ranges)}
    for path in sorted(run.ranges, key=lambda path: _place(path, places)):
        record = run.ranges[path]
        found = record.estimates.get(counter, EstimateRecord())
        share = found.estimate / whole if whole and found.estimate is not None else None
        depth = len(path.split("/")) if path else 0
        rows.append(RangeRow(path, depth, record.launches, record.simulated, counter, found, share))
    return rows


def _place(path: str, places: dict[str, int]) -> list[int]:
    """Places of a range and of those that it lies in, outermost first."""
    parts = path.split("/") if path else []
    return [places["/".join(parts[: depth + 1])] for depth in range(len(parts))]


def write_ranges(run: Run, path: Path) -> int:
    """Write one line for each range and counter; returns the number of ranges.

    Columns: path (parts separated by "/", empty of the whole run), launches, simulated, counter, estimate, half_width.

    Raises:
        ConfigError: the run has no ranges. OSError: the file cannot be written.
    """
    run.ended()
    if not run.ranges:
        raise ConfigError(f"--ranges: {run.path} has no ranges; run with `ranges:` in the configuration")
    with open_output(path) as file:
        lines = csv.writer(file)
        lines.writerow(("path", "launches", "simulated", "counter", "estimate", "half_width"))
        for record in run.ranges.values():
            for counter, found in record.estimates.items():
                known = (record.path, record.launches, record.simulated, counter, found.estimate, found.half_width)
                lines.writerow(map(safe_cell, known))
    return len(run.ranges)


def range_tree(run: Run) -> str:
    """HTML of the ranges, as a table whose rows open; empty of a run without ranges."""
    rows = range_rows(run)
    if not rows:
        return ""
    shown = sorted(rows, key=lambda row: row.depth)[:MOST_ROWS]  # the outermost, where there are too many
    kept = {row.path for row in shown}
    inner = {row.path.rpartition("/")[0] for row in shown if row.path}
    body = [_row(row, row.path in inner) for row in rows if row.path in kept]
    left = (
        f"<p>{len(rows) - len(shown):,} of the innermost ranges are left out here.</p>"
        if len(rows) > len(shown)
        else ""
    )
    return (
        f'<h2>Phases, layers, modules</h2><p class="soft">{escape(CAPTION)}</p>'
        f"{table((HEAD[0], *HEAD[1:3], rows[0].counter, *HEAD[4:]), body, 'ranges')}{left}"
    )


def _row(row: RangeRow, opens: bool) -> str:
    share = "-" if row.share is None else f"{100 * row.share:.2f} %"
    cells = [
        f"{row.launches:,}",
        f"{row.simulated:,}",
        total(row.estimate),
        percent(row.estimate.relative_half_width),
        share,
    ]
    classes = " ".join(name for name, holds in (("opens", opens), ("weak", is_weak(row.estimate))) if holds)
    name = f'<td style="padding-left:{1 + row.depth}em"><span>{escape(row.name)}</span></td>'
    values = "".join(f"<td>{cell}</td>" for cell in cells)
    hidden = " hidden" if row.depth > 1 else ""
    return f'<tr class="{classes}" data-depth="{row.depth}" title="{escape(row.path)}"{hidden}>{name}{values}</tr>'


def range_lines(run: Run) -> list[tuple[str, ...]]:
    """Cells of the outermost ranges for a terminal, as of HEAD."""
    return [
        (
            "  " * row.depth + row.name,
            f"{row.launches:,}",
            f"{row.simulated:,}",
            number(row.estimate.estimate),
            percent(row.estimate.relative_half_width),
            "-" if row.share is None else f"{100 * row.share:.2f} %",
        )
        for row in range_rows(run)
        if row.depth <= 2
    ]
