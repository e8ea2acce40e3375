"""The table of kernels on the page of a run: cycles, IPC, miss rates and stalls, each with its half-width; rows that open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelpoint.estimation import Estimate
from kernelpoint.pages.numbers import amount, error, percent, rate
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.report.view import SHARES, Kernel, RunView, Variant

RATES = {"ipc": "IPC", "l1_miss_rate": "L1 miss rate", "l2_miss_rate": "L2 miss rate"}
NOTE = (
    "±: half-width of the estimate, which can be too small where few of its launches were simulated. ?: none is stated. "
    "-: not known, or smaller than its half-width. Mean: cycles of a launch. CoV: standard deviation over mean of the "
    "simulated launches. Share of variance: the kernel's part in the uncertainty of the total. A heading sorts the table."
)
STALLS_NOTE = "Stalls: cycles of waiting warps per warp instruction"
INNER_NOTE = "A triangle opens the kernel's variants and the full run"


def kernel_table(view: RunView) -> Table | None:
    """Table of kernels, which the reader can filter; None if the run's kernels have no names."""
    if not view.kernels:
        return None
    rates = list(dict.fromkeys(name for kernel in view.kernels for name in kernel.rates))
    columns = [
        Column("kernel", str),
        Column("share of cycles", percent),
        Column("launches"),
        Column("simulated"),
        Column("cycles", amount),
        Column("mean", amount),
        *(Column(RATES.get(name, name.replace("_", " ")), rate if name in SHARES else amount) for name in rates),
        Column("CoV", percent),
        Column("share of variance", percent),
        Column("error", error),
    ]
    columns = columns if view.truth is not None else columns[:-1]
    rows = []
    for kernel in view.kernels:
        cells = [kernel.name, kernel.share, *_amounts(kernel, rates), kernel.cov, kernel.variance, kernel.error]
        rows.append(Row(cells[: len(columns)], key=kernel.name, inner=_inner(kernel, rates, len(columns))))
    notes = [
        NOTE,
        *([STALLS_NOTE] if any("stalls" in name for name in rates) else []),
        *([INNER_NOTE] if any(row.inner for row in rows) else []),
    ]
    return Table(columns, rows, notes=notes, name="kernels")


def _amounts(of: Variant, rates: Sequence[str]) -> list[Any]:
    """Launches, simulated ones, cycles, mean and rates of a kernel."""
    cycles, rates_of_kernel = of.totals.get("cycles", Estimate.of(of.cycles)), of.rates
    mean = cycles / Estimate.exact(float(max(of.launches, 1)))
    return [of.launches, of.simulated, cycles, mean, *(rates_of_kernel.get(name) for name in rates)]


def _inner(kernel: Kernel, rates: Sequence[str], columns: int) -> list[Row]:
    """The kernel's instances by template arguments, and the kernel in the full run."""
    rows = list(kernel.variants)
    if len(rows) == 1 and rows[0].name == kernel.name:
        rows = []
    if kernel.truth is not None:
        rows.append(
            Variant("full run", kernel.launches, kernel.launches, kernel.truth["cycles"].estimate, kernel.truth)
        )
    cells = [[row.name, "", *_amounts(row, rates)] for row in rows]
    return [Row([*filled, *[""] * (columns - len(filled))]) for filled in cells]
