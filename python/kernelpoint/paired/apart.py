"""Runs compared by the bounds that each states by itself."""

from __future__ import annotations

import math

from kernelpoint.estimation import Estimate
from kernelpoint.journal import Run
from kernelpoint.paired.comparison import Comparison, CounterRow, check_shared, notes
from kernelpoint.paired.sample import check_comparable


def compare_apart(first: Run, second: Run) -> Comparison:
    """Compare two runs of one selection whose samples differ, because each run predicted its launches for its own GPU.

    Formula: B - A +- (a + b) from the stated intervals A +- a and B +- b; the ratio lies between (B - b) / (A + a) and
    (B + b) / (A - a). Both intervals are right with probability 1 - alpha_1 - alpha_2 at least (union bound),
    whichever launches the runs share.
    """
    for run in (first, second):
        check_comparable(run)
    check_shared(first, second)
    confidence = sum(run.ended().confidence for run in (first, second)) - 1.0
    rows = [_row_apart(first, second, name) for name in first.counters if name in second.counters]
    note = (
        "each run predicts the traced launches for its own GPU and draws by that, so launches are not paired: every "
        f"half-width is that of both runs' own bounds together, at {100 * confidence:g} %; with `fast_model: off` in both "
        "runs launches are paired"
    )
    common = len(first.results.keys() & second.results.keys())
    return Comparison.of(first, second, rows, common, confidence, [note, *notes(first, second, rows)])


def _row_apart(first: Run, second: Run, counter: str) -> CounterRow:
    """One counter from the intervals that both runs state."""
    a, b, ratio = stated(first, counter), stated(second, counter), separate_ratio(first, second, counter)
    difference = Estimate.of(b.estimate - a.estimate, a.half_width + b.half_width)
    return CounterRow(counter, a.estimate, b.estimate, ratio, difference, ratio.half_width)


def exact_row(first: Run, second: Run, counter: str) -> CounterRow | None:
    """Row of a counter that both runs know exactly; None for other counters."""
    a, b = stated(first, counter), stated(second, counter)
    return CounterRow.exact(counter, a.estimate, b.estimate) if a.half_width == b.half_width == 0.0 else None


def stated(run: Run, counter: str) -> Estimate:
    """Estimate of a counter in a run's summary; nan if there is none."""
    row = run.ended().counters[counter]
    return Estimate.of(*(math.nan if value is None else value for value in (row.estimate, row.half_width)))


def separate_ratio(first: Run, second: Run, counter: str) -> Estimate:
    """Ratio B / A from the stated intervals of two runs alone, with the half-width to its farther end; nan if a bound is
    missing.
    """
    a, b = stated(first, counter), stated(second, counter)
    if not a.estimate > 0.0:
        return Estimate.of(math.nan)
    ratio, lowest = b.estimate / a.estimate, a.estimate - a.half_width
    return Estimate.of(ratio, (b.estimate + b.half_width) / lowest - ratio if lowest > 0.0 else math.nan)
