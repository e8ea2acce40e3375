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
    a, b = first.estimates(), second.estimates()
    rows = [_row_apart(name, a[name], b[name]) for name in first.counters if name in second.counters]
    note = (
        "each run predicts the traced launches for its own GPU and draws by that, so launches are not paired: every "
        f"half-width is that of both runs' own bounds together, at {100 * confidence:g} %; with `fast_model: off` in both "
        "runs launches are paired"
    )
    common = len(first.results.keys() & second.results.keys())
    return Comparison.of(first, second, rows, common, confidence, [note, *notes(first, second, rows)])


def _row_apart(counter: str, a: Estimate, b: Estimate) -> CounterRow:
    """One counter from the intervals that both runs state."""
    ratio, difference = separate_ratio(a, b), Estimate.of(b.estimate - a.estimate, a.half_width + b.half_width)
    return CounterRow(counter, a.estimate, b.estimate, ratio, difference, ratio.half_width)


def separate_ratio(a: Estimate, b: Estimate) -> Estimate:
    """Ratio B / A from two intervals alone, with the half-width to its farther end; nan if a bound is missing."""
    if not a.estimate > 0.0:
        return Estimate()
    ratio, lowest = b.estimate / a.estimate, a.estimate - a.half_width
    return Estimate.of(ratio, (b.estimate + b.half_width) / lowest - ratio if lowest > 0.0 else math.nan)
