"""The table of a run's counters, for the terminal, the page and notebooks."""

from __future__ import annotations

import math

from kernelpoint.estimate import Estimate, relative
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import error, half_width, is_finite, number
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.report.full_run import FullRun

WEAK = 0.25  # relative half-width; a counter with a larger one is marked
NOTE = (
    "Half-width: as stated, never below the error budget. Computed: as the results show it. Simulated: sum over the simulated "
    "launches. Price: launches to simulate, about, for the error budget in this counter"
)
WEAK_NOTE = "Grey: the half-width is over 25 % of the estimate, or none is stated"


def is_weak(row: Estimate) -> bool:
    """True if an estimate has a half-width above 25 %, or none."""
    return is_finite(row.estimate) and row.half_width != 0.0 and not row.relative_half_width <= WEAK


def known_total(row: Estimate) -> float:
    """An estimate, or nan where it says nothing: below zero, or zero without a half-width, since no simulated launch has any.

    >>> known_total(Estimate.of(0.0, simulated=0.0)), known_total(Estimate.exact(0.0))
    (nan, 0.0)
    """
    is_unmet = row.estimate == 0.0 and not row.is_bounded
    return math.nan if is_unmet or row.estimate < 0.0 else row.estimate


def total(value: float | None) -> str:
    """Format an estimated total.

    >>> total(80651.0), total(None)
    ('80,651', 'not known')
    """
    return number(value) if is_finite(value) else "not known"


def computed(row: Estimate) -> float:
    """The half-width that results show, as a share of the estimate; the stated one is no smaller than the error budget.

    >>> computed(Estimate.of(200.0, 2.0, computed_half_width=0.5))
    0.0025
    """
    return relative(row.computed_half_width, row.estimate, 0.0)


def price(run: Run, row: Estimate) -> float:
    """Launches to simulate until the half-width of a counter is that of the error budget; nan where no bound is stated.

    Model: n (w / b)^2, at most all launches, for n simulated launches, half-width w and budget b: half-widths fall with the
    root of the sample.
    """
    width = computed(row)
    if (s := run.summary) is None or not math.isfinite(width):
        return math.nan
    return min(float(s.launches), math.ceil(s.simulated * (width / s.relative_error) ** 2))


COLUMNS = (
    Column("counter", str),
    Column("estimated total", total),
    Column("half-width", half_width),
    Column("computed", half_width),
    Column("simulated"),
    Column("price"),
)
AGAINST_FULL_RUN = (Column("full run"), Column("error", error))


def counter_table(run: Run, truth: FullRun | None = None) -> Table:
    """Table of the estimates of all counters, beside the full run if there is one; uncertain ones are grey."""
    rows = []
    for name, estimate in run.estimates().items():
        cells = [
            name,
            known_total(estimate),
            estimate.relative_half_width,
            computed(estimate),
            estimate.simulated,
            price(run, estimate),
        ]
        if truth is not None:
            true = truth.totals.get(name)
            cells += [true, estimate.estimate / true - 1.0 if true else None]
        rows.append(Row(cells, is_weak(estimate)))
    columns = COLUMNS if truth is None else COLUMNS + AGAINST_FULL_RUN
    notes = [NOTE, *([WEAK_NOTE] if any(row.weak for row in rows) else [])]
    return Table(columns, rows, "Every counter", notes=notes)
