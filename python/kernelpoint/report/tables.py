"""The tables of a run: counters, kernels, ranges, findings of admission."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelpoint.errors import ConfigError
from kernelpoint.estimate import Estimate, relative
from kernelpoint.finding import Finding
from kernelpoint.journal import KernelRecord, RangeRecord, Run
from kernelpoint.journal.records import number as or_none
from kernelpoint.pages.numbers import amount, error, half_width, is_finite, number, percent, rate
from kernelpoint.pages.tables import Column, Row, Table, rows_of, write_table
from kernelpoint.ratios import RATIOS
from kernelpoint.report.result import NO_CYCLES, OTHERS, SHARES, FullRun, Kernel, Result, rates_from

WEAK = 0.25  # relative half-width; an estimate with a larger one is marked


def is_weak(estimate: Estimate) -> bool:
    """True if an estimate has a half-width above 25 %, or none."""
    return is_finite(estimate.estimate) and estimate.half_width != 0.0 and not estimate.relative_half_width <= WEAK


def known_total(estimate: Estimate) -> float:
    """Estimated total to show; nan if the estimate is negative, or is zero without a half-width and without an upper limit.

    >>> known_total(Estimate.of(0.0)), known_total(Estimate.exact(0.0)), known_total(Estimate("reads", 0.0, at_most=9.0))
    (nan, 0.0, 0.0)
    """
    says_nothing = estimate.estimate == 0.0 and not (estimate.is_bounded or is_finite(estimate.at_most))
    return math.nan if says_nothing or estimate.estimate < 0.0 else estimate.estimate


def _total(value: float | None) -> str:
    return number(value) if is_finite(value) else "not known"


# ---- counters --------------------------------------------------------------------------------------------------------

COUNTERS_NOTE = (
    "Half-width: as stated, never below the error budget. Computed: as the results show it. Simulated: sum over the simulated "
    "launches"
)
WEAK_NOTE = "Grey: the half-width is over 25 % of the estimate, or none is stated. At most: an upper limit of the total"


def computed(estimate: Estimate) -> float:
    """Relative half-width of an estimate as computed from the results, before it is raised to the error budget.

    >>> computed(Estimate.of(200.0, 2.0, computed_half_width=0.5))
    0.0025
    """
    return relative(estimate.computed_half_width, estimate.estimate, 0.0)


def stated_width(estimate: Estimate) -> str:
    """Relative half-width as text; "at most" the upper limit of a total that has one.

    >>> stated_width(Estimate.of(200.0, 2.0)), stated_width(Estimate("reads", 3.0, at_most=1200.0))
    ('1.00 %', 'at most 1,200')
    """
    is_limited = is_finite(estimate.at_most)
    return f"at most {number(estimate.at_most)}" if is_limited else half_width(estimate.relative_half_width)


def counter_table(run: Run, truth: FullRun | None = None) -> Table:
    """Table of the estimated totals of all counters, with those of a full run if there is one. Estimates with a wide bound are
    grey.
    """
    columns = [
        Column("counter", str, of="counter"),
        Column("estimated total", _total, of=known_total),
        Column("half-width", str, of=stated_width),
        Column("computed", half_width, of=computed),
        Column("simulated", of="simulated"),
    ]
    if truth is not None:
        true = truth.totals
        columns += [
            Column("full run", of=lambda estimate: true.get(estimate.counter)),
            Column("error", error, of=lambda e: e.estimate / true[e.counter] - 1.0 if true.get(e.counter) else None),
        ]
    named = [replace(estimate, counter=name) for name, estimate in run.estimates().items()]
    rows = rows_of(columns, named, weak=is_weak)
    notes = [COUNTERS_NOTE, *[WEAK_NOTE] * any(row.weak for row in rows)]
    return Table(columns, rows, "Every counter", notes=notes)


# ---- kernels ---------------------------------------------------------------------------------------------------------

RATES = {"ipc": "IPC", "l1_miss_rate": "L1 miss rate", "l2_miss_rate": "L2 miss rate"}
KERNELS_NOTE = (
    "±: half-width of the estimate, which can be too small where few of its launches were simulated. ?: none is stated. "
    "-: not known, or smaller than its half-width. Mean: cycles of a launch. CoV: standard deviation over mean of the "
    "simulated launches. Share of variance: the kernel's part in the uncertainty of the total. A heading sorts the table."
)
STALLS_NOTE = "Stalls: cycles of waiting warps per warp instruction"
INNER_NOTE = "A triangle opens the kernel's variants and the full run"


def kernel_table(result: Result) -> Table | None:
    """Table of the kernels of a run; None if no kernel name is known. A row can be expanded to the kernel's template instances
    and to its totals in the full run.
    """
    if not result.kernels:
        return None
    rates = list(dict.fromkeys(name for kernel in result.kernels for name in rates_from(kernel.estimates)))
    columns = [
        Column("kernel", str, of="name"),
        Column("share of cycles", percent, of=_of_kernel("share")),
        Column("launches", of="launches"),
        Column("simulated", of="simulated"),
        Column("cycles", amount, of=_cycles),
        Column("mean", amount, of=lambda part: _cycles(part) / Estimate.exact(float(max(part.launches, 1)))),
        *(Column(RATES.get(name, name.replace("_", " ")), rate if name in SHARES else amount, _rate(name)) for name in rates),
        Column("CoV", percent, of=_of_kernel("cov")),
        Column("share of variance", percent, of=_of_kernel("variance")),
        Column("error", error, of=_of_kernel("error")),
    ]
    columns = columns if result.truth is not None else columns[:-1]

    def inner(kernel: Kernel) -> list[Row]:
        rows = [] if [it.name for it in kernel.variants] == [kernel.name] else list(kernel.variants)
        if kernel.truth is not None:
            rows.append(KernelRecord("full run", kernel.launches, kernel.launches, dict(kernel.truth)))
        return rows_of(columns, rows)

    rows = rows_of(columns, result.kernels, key=lambda kernel: kernel.name, inner=inner)
    stalls, opens = any("stalls" in name for name in rates), any(row.inner for row in rows)
    return Table(columns, rows, notes=[KERNELS_NOTE, *[STALLS_NOTE] * stalls, *[INNER_NOTE] * opens], name="kernels")


def _of_kernel(field: str) -> Callable[[KernelRecord], Any]:
    """Cell for a kernel's row; empty in the rows of its instances."""
    return lambda part: getattr(part, field) if isinstance(part, Kernel) else ""


def _cycles(part: KernelRecord) -> Estimate:
    return part.estimates.get("cycles", NO_CYCLES)


def _rate(name: str) -> Callable[[KernelRecord], Estimate | None]:
    return lambda part: rates_from(part.estimates).get(name)


def largest_kernels(result: Result, rows: int) -> list[Kernel]:
    """The `rows` kernels with the most cycles, then one entry for all other kernels together, for which no bound is stated."""
    largest, rest = result.kernels[:rows], result.kernels[rows:]
    if not rest:
        return largest
    launches, simulated, share = (sum(getattr(kernel, name) for kernel in rest) for name in ("launches", "simulated", "share"))
    cycles = Estimate.of(sum(kernel.cycles.estimate for kernel in rest))
    return [*largest, Kernel(f"{OTHERS} ({len(rest)})", launches, simulated, {"cycles": cycles}, share)]


# ---- ranges ----------------------------------------------------------------------------------------------------------

WHOLE = "(whole run)"
RANGES_CAPTION = (
    "Totals of the ranges that `ranges:` names, each with its own half-width, at the confidence of the run. Ranges inside a "
    "range, and its other launches, add up to it. A triangle opens a range."
)


def range_table(run: Run) -> Table | None:
    """Table of the ranges (phases, layers, modules) of a finished run, each followed by its inner ranges; None without ranges.

    The counter is that of the error budget, or cycles if the budget is on a ratio.
    """
    if not run.ranges:
        return None
    counter = "cycles" if run.ended().counter in RATIOS else run.ended().counter

    def total(part: RangeRecord) -> Estimate:
        return part.estimates.get(counter, Estimate())

    whole = total(run.ranges[""]).estimate
    columns = (
        Column("range", str, of=lambda part: part.path.rpartition("/")[2] or WHOLE),
        Column("launches", of="launches"),
        Column("simulated", of="simulated"),
        Column(counter, _total, of=lambda part: known_total(total(part))),
        Column("half-width", half_width, of=lambda part: total(part).relative_half_width),
        Column("share", percent, of=lambda part: total(part).estimate / whole if whole else None),
    )
    inside: dict[str, list[RangeRecord]] = {}
    for path, part in run.ranges.items():
        if path:
            inside.setdefault(path.rpartition("/")[0], []).append(part)

    def rows(parts: list[RangeRecord]) -> list[Row]:
        return rows_of(
            columns,
            parts,
            weak=lambda part: is_weak(total(part)),
            inner=lambda part: rows(inside.get(part.path, []) if part.path else []),
        )

    outer = rows([run.ranges[""], *inside.get("", [])])
    return Table(columns, outer, "Phases, layers, modules", RANGES_CAPTION, name="ranges")


def write_ranges(run: Run, path: Path) -> int:
    """Write a table with one row for each range (phase, layer, module) and counter. Returns the number of ranges.

    Columns: path (parts separated by "/", empty for the whole run), launches, simulated, counter, estimate, half_width.

    Raises:
        ConfigError: the run has no ranges.
        OSError: the file cannot be written.
    """
    run.ended()
    if not run.ranges:
        raise ConfigError(
            f"--ranges: {run.path} has no ranges (named parts of a run); run again with `ranges:` in the configuration"
        )
    rows = (
        (part.path, part.launches, part.simulated, counter, or_none(total.estimate), or_none(total.half_width))
        for part in run.ranges.values()
        for counter, total in part.estimates.items()
    )
    write_table(path, ("path", "launches", "simulated", "counter", "estimate", "half_width"), rows)
    return len(run.ranges)


# ---- findings --------------------------------------------------------------------------------------------------------

FINDINGS = (
    Column("finding", str, of="kind"),
    Column("what", str, of="what"),
    Column("launches", percent, of="launches"),
    Column("time", percent, of="time"),
    Column("effect", str, of=lambda finding: "accepted" if finding.accepted else finding.outcome.value),
    Column("remedy", str, of="remedy"),
)


def finding_table(findings: list[Finding]) -> Table | None:
    """Table of the defects that input checks found in the input of a run; None if there are none."""
    caption = "Shares are of the launches and of their time."
    return Table(FINDINGS, rows_of(FINDINGS, findings), "What is wrong with the input", caption) if findings else None
