"""The bound on the ratio, and on the difference, of the totals of two runs from the launches drawn in both."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimation.bounds import joint_error_probability
from kernelpoint.estimation.inference import Errors, ratio
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change
from kernelpoint.journal import Run
from kernelpoint.paired.apart import compare_apart, separate_ratio
from kernelpoint.paired.comparison import Comparison, CounterRow, assumptions, check_shared, notes
from kernelpoint.paired.sample import DrawnSample, cells_of, is_predicted, predicts_traced, results_of, sample_of


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare `second` with `first`, counter by counter.

    Draws of both are prefixes of the same order of permanent random numbers in every stratum, so the launches drawn in
    both are again such a prefix, of the smaller size: given the sizes, a simple random sample of each stratum. The
    runs' own results choose the sizes; the price for that is paid with `joint_error_probability`.

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
        return _compare_predicted(first, second)
    if predicts_traced(first) or predicts_traced(second):
        return compare_apart(first, second)
    a, b = sample_of(first), sample_of(second)
    check_shared(first, second)
    confidence = min(run.ended().confidence for run in (first, second))
    units, rows_of_first, rows_of_second = np.intersect1d(a.units, b.units, return_indices=True)
    alpha = joint_error_probability((a.bound, b.bound), 1.0 - confidence, (a.kinds, b.kinds))
    rows = []
    for name in a.counters:
        if name not in b.counters:
            continue
        columns = a.values[rows_of_first, a.counters.index(name)], b.values[rows_of_second, b.counters.index(name)]
        rows.append(
            _row(first, second, name, PAIR, _errors(a, rows_of_first, np.column_stack(columns), alpha), confidence)
        )
    sentences = [*notes(first, second, rows), *assumptions(a, rows_of_first)]
    return Comparison.of(first, second, rows, len(units), confidence, sentences)


def _compare_predicted(first: Run, second: Run) -> Comparison:
    """Compare runs whose estimates rest on predictions. Their cells nest, so both runs sampled the smaller sample of each
    part."""
    a, b = cells_of(first), cells_of(second)
    check_shared(first, second, "assume", "error_budget.relative_error", "error_budget.counter")
    a.restrict_to(b)
    names = [name for name in first.counters if name in second.counters]
    drawn = a.drawn()
    pairs = {name: (f"{name} of the first run", f"{name} of the second run") for name in names}
    columns = [results_of(run, name)[drawn] for name in names for run in (first, second)]
    a.results.add_many(drawn, tuple(of_run for pair in pairs.values() for of_run in pair), np.column_stack(columns))
    a.looks = max(len(first.looks), len(second.looks))
    a.begin_comparison({of_run: name for name, pair in pairs.items() for of_run in pair})
    confidence = min(run.ended().confidence for run in (first, second))
    rows = [_row(first, second, name, pairs[name], a.errors, confidence) for name in names]
    assumed = (
        f"assumed: a launch that was not drawn changes by no more than {100 * a.design.care.allowance:g} % of its "
        "prediction otherwise than the drawn ones do"
    )
    sentences = [*notes(first, second, rows), *([assumed] if a.largest_share > 0.0 else [])]
    return Comparison.of(first, second, rows, len(drawn), confidence, sentences)


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
    return CounterRow(counter, total_of_first, total_of_second, quotient, difference, separate_ratio(a, b).half_width)


def _errors(run: DrawnSample, rows: np.ndarray, values: np.ndarray, alpha: float) -> Errors:
    """What the common launches, `rows` of `run`, tell of one counter of both runs, float64 [rows, 2]."""
    stratum, total = run.stratum[rows], run.strata_covariate
    inside = stratum >= 0
    x = None if total is None else run.x[rows][inside]
    sample = Sample(stratum[inside], run.strata_units, run.clusters, x, total)
    return errors_of_change(sample, values[inside], values[~inside], run.method, alpha)
