"""The bound on the ratio, and on the difference, of the totals of two runs: from the launches drawn in both, or from the
intervals that both state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.estimation.bounds import joint_error_probability
from kernelpoint.estimation.inference import Errors, ratio
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change
from kernelpoint.journal import Run
from kernelpoint.paired.comparison import Comparison, CounterRow, assumptions, check_shared, notes
from kernelpoint.paired.sample import (
    DrawnSample,
    cells_of,
    check_comparable,
    is_predicted,
    predicts_traced,
    results_of,
    sample_of,
)


@dataclass(frozen=True)
class Compared:
    """Rows of the counters, number of launches drawn in both runs, confidence, and sentences on how they were compared."""

    rows: list[CounterRow]
    common: int
    confidence: float
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare `second` with `first`, counter by counter.

    Raises:
        JournalError: list, plan, seed, policy or estimator differ (the message names each key with both values), or a run has
            not ended, or states no bound.

    >>> import kernelpoint as kp
    >>> first, second = (kp.simulate("traces/kernelslist.g", f"{gpu}.kpjournal", gpu, "all") for gpu in ("v100", "rtx"))
    >>> cycles = compare_runs(first, second).rows[0]
    >>> cycles.counter, cycles.ratio.half_width
    ('cycles', 0.0)
    """
    if first.policy != second.policy:
        raise JournalError(
            f"{first.path} is a run of the policy {first.policy}, {second.path} of {second.policy}; two runs that are compared "
            "have one policy, plan and seed. The error of a sampled run beside a full one: `kernelpoint report SAMPLED "
            "--full-run FULL`"
        )
    if is_predicted(first) and is_predicted(second):
        compared = _by_cells(first, second)
    elif predicts_traced(first) or predicts_traced(second):
        compared = _apart(first, second)
    else:
        compared = _by_strata(first, second)
    return Comparison(
        rows=tuple(compared.rows),
        launches=first.ended().launches,
        common=compared.common,
        first_drawn=len(first.results),
        second_drawn=len(second.results),
        confidence=compared.confidence,
        notes=(*compared.before, *notes(first, second, compared.rows), *compared.after),
    )


def _shared_counters(first: Run, second: Run) -> list[str]:
    return [name for name in first.counters if name in second.counters]


def _by_strata(first: Run, second: Run) -> Compared:
    """Draws of both runs are prefixes of the same order of permanent random numbers in every stratum, so the launches drawn in
    both are again such a prefix, of the smaller size: given the sizes, a simple random sample of each stratum. The
    runs' own results choose the sizes; the price for that is paid with `joint_error_probability`.
    """
    a, b = sample_of(first), sample_of(second)
    check_shared(first, second)
    confidence = min(run.ended().confidence for run in (first, second))
    units, rows_of_first, rows_of_second = np.intersect1d(a.units, b.units, return_indices=True)
    alpha = joint_error_probability((a.bound, b.bound), 1.0 - confidence, (a.kinds, b.kinds))
    rows = []
    for name in _shared_counters(first, second):
        columns = a.values[rows_of_first, a.counters.index(name)], b.values[rows_of_second, b.counters.index(name)]
        errors = _errors(a, rows_of_first, np.column_stack(columns), alpha)
        rows.append(_row(first, second, name, PAIR, errors, confidence))
    return Compared(rows, len(units), confidence, after=tuple(assumptions(a, rows_of_first)))


def _errors(run: DrawnSample, rows: np.ndarray, values: np.ndarray, alpha: float) -> Errors:
    """Errors of two counters in the launches that both runs simulated: `rows` of `run`, values float64 [rows, 2]."""
    stratum, total = run.stratum[rows], run.strata_covariate
    inside = stratum >= 0
    x = None if total is None else run.x[rows][inside]
    sample = Sample(stratum[inside], run.strata_units, run.clusters, x, total)
    return errors_of_change(sample, values[inside], values[~inside], run.method, alpha)


def _by_cells(first: Run, second: Run) -> Compared:
    """Runs whose estimates rest on predictions: their cells nest, so both runs sampled the smaller sample of each part."""
    cells, other = cells_of(first), cells_of(second)
    check_shared(first, second, "assume", "error_budget.relative_error", "error_budget.counter")
    cells.restrict_to(other)
    names, drawn = _shared_counters(first, second), cells.drawn()
    pairs = {name: (f"{name} of the first run", f"{name} of the second run") for name in names}
    columns = [results_of(run, name)[drawn] for name in names for run in (first, second)]
    cells.results.add_many(drawn, tuple(of_run for pair in pairs.values() for of_run in pair), np.column_stack(columns))
    cells.looks = max(len(first.looks), len(second.looks))
    cells.begin_comparison({of_run: name for name, pair in pairs.items() for of_run in pair})
    confidence = min(run.ended().confidence for run in (first, second))
    rows = [_row(first, second, name, pairs[name], cells.errors, confidence) for name in names]
    assumed = (
        f"assumed: a launch that was not drawn changes by no more than {100 * cells.design.care.allowance:g} % of its "
        "prediction otherwise than the drawn ones do"
    )
    return Compared(rows, len(drawn), confidence, after=(assumed,) if cells.largest_share > 0.0 else ())


def _row(first: Run, second: Run, counter: str, pair: tuple[str, str], errors: Errors, confidence: float) -> CounterRow:
    """Row of a counter: exact if both runs know it exactly, from traces or full runs, else the ratio and the difference of
    `pair`, by the launches that were drawn in both.
    """
    a, b = first.estimates()[counter], second.estimates()[counter]
    if a.half_width == b.half_width == 0.0:
        return CounterRow.exact(counter, a.estimate, b.estimate)
    total_of_first, total_of_second = (errors([(1.0, name)]).value for name in pair)
    difference = errors([(1.0, pair[1]), (-1.0, pair[0])]).estimate("", 0.0, confidence)
    quotient = ratio("", pair[::-1], errors, 0.0, confidence)
    return CounterRow(counter, total_of_first, total_of_second, quotient, difference, ratio_apart(a, b).half_width)


# ---- from two intervals ----------------------------------------------------------------------------------------------


def _apart(first: Run, second: Run) -> Compared:
    """Runs of one selection whose samples differ, because each run predicted its launches for its own GPU.

    Both intervals are right with probability 1 - alpha_1 - alpha_2 at least (union bound), whichever launches the runs share.
    """
    for run in (first, second):
        check_comparable(run)
    check_shared(first, second)
    confidence = sum(run.ended().confidence for run in (first, second)) - 1.0
    a, b = first.estimates(), second.estimates()
    note = (
        "each run predicts the traced launches for its own GPU and draws by that, so launches are not paired: every "
        f"half-width is that of both runs' own bounds together, at {100 * confidence:g} %; with `fast_model: off` in both "
        "runs launches are paired"
    )
    rows = [row_apart(name, a[name], b[name]) for name in _shared_counters(first, second)]
    return Compared(rows, len(first.results.keys() & second.results.keys()), confidence, before=(note,))


def row_apart(name: str, a: Estimate, b: Estimate) -> CounterRow:
    """Compare two totals by their own intervals.

    Formula: B - A +- (a + b) from A +- a and B +- b; the ratio lies between (B - b) / (A + a) and (B + b) / (A - a).

    >>> row = row_apart("cycles", Estimate.of(100.0, 10.0), Estimate.of(180.0, 9.0))
    >>> row.difference.half_width, round(row.ratio.half_width, 6)
    (19.0, 0.3)
    """
    ratio, difference = ratio_apart(a, b), Estimate.of(b.estimate - a.estimate, a.half_width + b.half_width)
    return CounterRow(name, a.estimate, b.estimate, ratio, difference, ratio.half_width)


def ratio_apart(a: Estimate, b: Estimate) -> Estimate:
    """Ratio B / A from two intervals alone, with the half-width to its farther end; nan if a bound is missing."""
    if not a.estimate > 0.0:
        return Estimate()
    ratio, lowest = b.estimate / a.estimate, a.estimate - a.half_width
    return Estimate.of(ratio, (b.estimate + b.half_width) / lowest - ratio if lowest > 0.0 else math.nan)
