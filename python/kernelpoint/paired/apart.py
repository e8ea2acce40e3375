"""Runs compared by the bounds that each states by itself."""

from __future__ import annotations

import math

from kernelpoint.estimation.paired import Interval
from kernelpoint.journal import Run
from kernelpoint.paired.comparison import Comparison, CounterRow, check_shared, notes
from kernelpoint.paired.sample import check_comparable


def compare_apart(first: Run, second: Run) -> Comparison:
    """Runs over one selection whose samples do not nest, since each run predicts its traced launches for its own GPU.

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
    (a, wide_a), (b, wide_b) = (stated(run, counter) for run in (first, second))
    ratio = b / a if a > 0.0 else math.nan
    half = (b + wide_b) / (a - wide_a) - ratio if a > wide_a else math.nan
    return CounterRow(
        counter,
        a,
        b,
        Interval(ratio, half, math.nan, math.nan),
        Interval(b - a, wide_a + wide_b, math.nan, math.nan),
        half,
    )


def exact_row(first: Run, second: Run, counter: str) -> CounterRow | None:
    """The row of a counter that both runs know exactly, from traces or full runs; None of any other."""
    (a, wide_a), (b, wide_b) = (stated(run, counter) for run in (first, second))
    return CounterRow.exact(counter, a, b) if wide_a == wide_b == 0.0 else None


def stated(run: Run, counter: str) -> tuple[float, float]:
    """Estimate and half-width of a counter in the summary of a run; nan where it states none."""
    row = run.ended().counters[counter]
    estimate, half = (math.nan if value is None else value for value in (row.estimate, row.half_width))
    return estimate, half


def separate_half_width(first: Run, second: Run, counter: str) -> float:
    """Half-width of the ratio if all that is known are the two intervals that the runs state; nan if one states
    none."""
    (a, wide_a), (b, wide_b) = (stated(run, counter) for run in (first, second))
    return 0.5 * ((b + wide_b) / (a - wide_a) - (b - wide_b) / (a + wide_a)) if a > wide_a else math.nan
