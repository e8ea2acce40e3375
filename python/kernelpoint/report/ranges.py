"""Ranges of a run (phases, layers, modules): a table whose rows open, and a CSV file."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import Run
from kernelpoint.journal.text import number
from kernelpoint.pages.numbers import half_width, percent
from kernelpoint.pages.tables import Column, Row, Table, write_table
from kernelpoint.ratios import RATIOS
from kernelpoint.report.counters import is_weak, known_total, total

WHOLE = "(whole run)"
CAPTION = (
    "Totals of the ranges that `ranges:` names, each with its own half-width, at the confidence of the run. Ranges inside a "
    "range, and its other launches, add up to it. A triangle opens a range."
)


def range_table(run: Run) -> Table | None:
    """Table of the ranges of a finished run, each followed by its inner ranges; None without ranges. Its counter is that of
    the error budget, or cycles.
    """
    if not run.ranges:
        return None
    counter = run.ended().counter
    counter = "cycles" if counter in RATIOS else counter
    inside: dict[str, list[str]] = {}
    for path in run.ranges:
        if path:
            inside.setdefault(path.rpartition("/")[0], []).append(path)
    whole = run.ranges[""].estimates.get(counter, Estimate()).estimate

    def row(path: str) -> Row:
        record = run.ranges[path]
        estimate = record.estimates.get(counter, Estimate())
        share = estimate.estimate / whole if whole else None
        cells = (
            path.rpartition("/")[2] or WHOLE,
            record.launches,
            record.simulated,
            known_total(estimate),
            estimate.relative_half_width,
            share,
        )
        return Row(cells, is_weak(estimate), inner=[row(child) for child in inside.get(path, ())] if path else ())

    columns = (
        Column("range", str),
        Column("launches"),
        Column("simulated"),
        Column(counter, total),
        Column("half-width", half_width),
        Column("share", percent),
    )
    return Table(
        columns, [row(path) for path in ("", *inside.get("", ()))], "Phases, layers, modules", CAPTION, name="ranges"
    )


def write_ranges(run: Run, path: Path) -> int:
    """Write one row for each range and counter; returns the number of ranges.

    Columns: path (parts separated by "/", empty of the whole run), launches, simulated, counter, estimate, half_width.

    Raises:
        ConfigError: the run has no ranges. OSError: the file cannot be written.
    """
    run.ended()
    if not run.ranges:
        raise ConfigError(f"--ranges: {run.path} has no ranges; run with `ranges:` in the configuration")
    rows = (
        (
            record.path,
            record.launches,
            record.simulated,
            counter,
            number(estimate.estimate),
            number(estimate.half_width),
        )
        for record in run.ranges.values()
        for counter, estimate in record.estimates.items()
    )
    write_table(path, ("path", "launches", "simulated", "counter", "estimate", "half_width"), rows)
    return len(run.ranges)
