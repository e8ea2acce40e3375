"""The bound on the ratio, and on the difference, of the totals of two runs from the launches drawn in both."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimation.assisted_paired import assisted_pair
from kernelpoint.estimation.estimators import Sample
from kernelpoint.estimation.paired import Interval, PairedTotals, joint_error_probability, paired_totals
from kernelpoint.journal import Run
from kernelpoint.paired.predicted import engine_of, is_predicted, predicts_traced, results_of
from kernelpoint.paired.sample import DrawnSample, check_comparable, sample_of
from kernelpoint.session.summary import NOT_COVERED, number

FEW = 2  # common launches of a stratum, from which on it may hide much


@dataclass(frozen=True)
class CounterRow:
    """One counter. first, second: estimated totals from the common launches; ratio: second / first, with its bound;
    difference: second - first, with its bound; separate: half-width of the ratio from the bounds that both runs state by
    themselves (the ratio lies there where both hold, so its confidence is lower); tighter: separate over paired.
    """

    counter: str
    first: float
    second: float
    ratio: Interval
    difference: Interval
    separate: float

    @property
    def tighter(self) -> float:
        """Factor by which the paired interval of the ratio is than that of the separate bounds."""
        return self.separate / self.ratio.half_width if self.ratio.half_width > 0.0 else math.inf

    def record(self) -> dict[str, Any]:
        """For JSON, which has no nan."""
        ratio, difference = ({k: number(v) for k, v in asdict(i).items()} for i in (self.ratio, self.difference))
        return {
            "counter": self.counter,
            "first": number(self.first),
            "second": number(self.second),
            "ratio": ratio,
            "difference": difference,
            "separate_half_width": number(self.separate),
            "tighter": number(self.tighter),
        }


@dataclass(frozen=True)
class Comparison:
    """Two runs compared. common: launches drawn in both; first_drawn, second_drawn: in each.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> comparison = compare_runs(run, run)
    >>> comparison.common, comparison.rows[0].counter
    (6, 'cycles')
    """

    rows: tuple[CounterRow, ...]
    launches: int
    common: int
    first_drawn: int
    second_drawn: int
    confidence: float
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """For JSON."""
        counts = {"launches": self.launches, "common": self.common}
        drawn = {"first_drawn": self.first_drawn, "second_drawn": self.second_drawn}
        rows = [row.record() for row in self.rows]
        return {**counts, **drawn, "confidence": self.confidence, "counters": rows, "notes": list(self.notes)}


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare `second` with `first`, counter by counter.

    Draws of both are prefixes of the same order of permanent random numbers in every stratum, so the launches drawn in
    both are again such a prefix, of the smaller size: given the sizes, a simple random sample of each stratum. The sizes
    are chosen by the runs' own results; what that costs is paid with `joint_error_probability`.

    Raises:
        JournalError: list, plan, seed, policy or estimator differ (the message names each key with both values), or a run has
            not ended, or states no bound.

    >>> import kernelpoint as kp
    >>> first, second = (kp.simulate("traces/kernelslist.g", f"{gpu}.kpjournal", gpu, "all") for gpu in ("v100", "rtx"))
    >>> cycles = compare_runs(first, second).rows[0]
    >>> cycles.counter, cycles.ratio.half_width
    ('cycles', 0.0)
    """
    if is_predicted(first) and is_predicted(second):
        return _compare_predicted(first, second)
    if predicts_traced(first) or predicts_traced(second):
        return _compare_apart(first, second)
    a, b = sample_of(first), sample_of(second)
    _check_shared(first, second)
    confidence = min(run.ended().confidence for run in (first, second))
    units, own, other = np.intersect1d(a.units, b.units, return_indices=True)
    alpha = joint_error_probability((a.bound, b.bound), 1.0 - confidence, (a.kinds, b.kinds))
    rows = []
    for name in a.counters:
        if name not in b.counters:
            continue
        columns = a.values[own, a.counters.index(name)], b.values[other, b.counters.index(name)]
        pair = _pair(a, own, np.column_stack(columns), alpha)
        rows.append(
            CounterRow(name, pair.first, pair.second, pair.ratio, pair.difference, _separate(first, second, name))
        )
    return Comparison(
        tuple(rows),
        first.ended().launches,
        len(units),
        len(a.units),
        len(b.units),
        confidence,
        (*_notes(first, second, rows), *_assumed(a, own)),
    )


def _compare_predicted(first: Run, second: Run) -> Comparison:
    """The same for runs whose estimates rest on predictions: cells nest, so the smaller sample of a part is drawn in both."""
    a, b = engine_of(first), engine_of(second)
    _check_shared(first, second, "assume", "error_budget.relative_error", "error_budget.counter")
    joint, run = a, first
    joint.restrict_to(b)
    names = [name for name in first.counters if name in second.counters]
    drawn = joint.drawn()
    kept = np.array([[run.results[int(unit)].counters[name] for name in run.counters] for unit in drawn])
    joint.record_many(drawn, tuple(run.counters), kept)
    confidence = min(run.ended().confidence for run in (first, second))
    alpha = (1.0 - confidence) * (0.5 ** max(len(first.looks), len(second.looks)) if joint.design.care.shares else 1.0)
    rows = []
    for name in names:
        values = np.column_stack([results_of(first, name), results_of(second, name)])
        pair = assisted_pair(joint, values, name, alpha)
        rows.append(
            CounterRow(name, pair.first, pair.second, pair.ratio, pair.difference, _separate(first, second, name))
        )
    assumed = (
        f"assumed: a launch that was not drawn changes by no more than {100 * joint.design.care.odd:g} % of its prediction "
        "otherwise than the drawn ones do"
    )
    return Comparison(
        tuple(rows),
        first.ended().launches,
        len(drawn),
        len(first.results),
        len(second.results),
        confidence,
        (*_notes(first, second, rows), *([assumed] if joint.largest_share > 0.0 else [])),
    )


def _compare_apart(first: Run, second: Run) -> Comparison:
    """Runs over one selection whose samples do not nest, since each run predicts its traced launches for its own GPU.

    Formula: B - A +- (a + b) from the stated intervals A +- a and B +- b; the ratio lies between (B - b) / (A + a) and
    (B + b) / (A - a). Both intervals hold with 1 - alpha_1 - alpha_2 at least (union bound), whatever launches the runs share.
    """
    for run in (first, second):
        check_comparable(run)
    _check_shared(first, second)
    confidence = sum(run.ended().confidence for run in (first, second)) - 1.0
    rows = [_row_apart(first, second, name) for name in first.counters if name in second.counters]
    note = (
        "each run predicts the traced launches for its own GPU and draws by that, so launches are not paired: every "
        f"half-width is that of both runs' own bounds together, at {100 * confidence:g} %; with `fast_model: off` in both "
        "runs launches are paired"
    )
    common = len(first.results.keys() & second.results.keys())
    return Comparison(
        tuple(rows),
        first.ended().launches,
        common,
        len(first.results),
        len(second.results),
        confidence,
        (note, *_notes(first, second, rows)),
    )


def _row_apart(first: Run, second: Run, counter: str) -> CounterRow:
    """One counter from the intervals that both runs state."""
    (a, wide_a), (b, wide_b) = (_stated(run, counter) for run in (first, second))
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


def _stated(run: Run, counter: str) -> tuple[float, float]:
    """Estimate and half-width of a counter in the summary of a run; nan where it states none."""
    row = run.ended().counters[counter]
    estimate, half = (math.nan if value is None else value for value in (row.estimate, row.half_width))
    return estimate, half


def _check_shared(first: Run, second: Run, *settings: str) -> None:
    """Without these launch i of one is not launch i of the other, or was not drawn by the same number."""

    def shared(run: Run) -> dict[str, Any]:
        hashes = {f"hashes.{name}": run.hashes.get(name) for name in ("traces", "design")}
        config = {f"config.{key}": run.setting(key) for key in ("seed", "policy", *settings)}
        return {"launches": run.launches, **hashes, **config, "estimate": run.header.estimate}

    a, b = shared(first), shared(second)
    differing = [f"{key}: {first.path} has {a[key]!r}, {second.path} {b[key]!r}" for key in a if a[key] != b[key]]
    if differing:
        raise JournalError(
            "runs are compared launch by launch; both need the same list, plan and seed:\n"
            + "\n".join([*differing, *_cure(first, second)])
        )


def _cure(first: Run, second: Run) -> list[str]:
    """Sentence on what to do where each run has derived a fast model of its own GPU; nothing elsewhere."""
    same = {name: first.hashes.get(name) == second.hashes.get(name) for name in ("traces", "design")}
    derived = any(is_predicted(run) and run.setting("fast_model") == "auto" for run in (first, second))
    if same["design"] or not same["traces"] or not derived:
        return []
    return [
        "with `fast_model: auto` each run predicted for its own GPU, so the draws differ; give both one model, `fast_model: "
        "FILE` with the gpgpusim.config or params.in of either GPU, and run them again (another `journal:`, or `resume: never`)"
    ]


def _pair(run: DrawnSample, rows: np.ndarray, values: np.ndarray, alpha: float) -> PairedTotals:
    """The comparison of one counter over the common launches, which are `rows` of `run`."""
    stratum, total = run.stratum[rows], run.strata_covariate
    inside = stratum >= 0
    x = None if total is None else run.x[rows][inside]
    sample = Sample(stratum[inside], run.strata_units, run.clusters, x, total)
    return paired_totals(sample, values[inside], values[~inside], run.method, alpha)


def _separate(first: Run, second: Run, counter: str) -> float:
    """Half-width of the ratio if all that is known are the two intervals that the runs state; nan if one states none."""
    (a, wide_a), (b, wide_b) = (_stated(run, counter) for run in (first, second))
    return 0.5 * ((b + wide_b) / (a - wide_a) - (b - wide_b) / (a + wide_a)) if a > wide_a else math.nan


def _notes(first: Run, second: Run, rows: list[CounterRow]) -> list[str]:
    """Sentences that a reader has to know beside the numbers."""
    found = []
    if first.hashes.get("simulator_config") == second.hashes.get("simulator_config"):
        found.append("both runs simulated the same GPU: the ratio of a deterministic simulator is 1")
    if (a := first.setting("warmup.launches")) != (b := second.setting("warmup.launches")):
        found.append(f"warm-up differs ({a} and {b} launches), and so does the non-sampling error")
    wider = [row.counter for row in rows if row.tighter < 1.0]
    if wider:
        found.append(
            f"{', '.join(wider)}: the launches drawn in both say less than the runs by themselves; use the separate bounds, or "
            "run both with a smaller error budget"
        )
    return [*_not_the_estimate(first, rows), *found, *(f"not covered by the bound: {text}" for text in NOT_COVERED)]


def _not_the_estimate(first: Run, rows: list[CounterRow]) -> list[str]:
    """Sentence on why A is not the total that the first run states; nothing where it is."""
    stated = first.ended().counters
    for row in rows:
        own = stated[row.counter].estimate
        if own is not None and not math.isclose(row.first, own, rel_tol=1e-6):
            return [
                "A is estimated from the launches drawn in both runs, so that the comparison is launch by launch; "
                f"{first.path} states {own:,.0f} {row.counter}, from all launches that it drew"
            ]
    return []


def _assumed(run: DrawnSample, rows: np.ndarray) -> list[str]:
    """Assumptions of the bound on the common launches, which are `rows` of `run`; nothing where all are known."""
    stratum = run.stratum[rows]
    drawn = np.bincount(stratum[stratum >= 0], minlength=len(run.strata_units))
    left = drawn < run.strata_units
    if not left.any():
        return []
    few = int((left & (drawn <= FEW)).sum())
    return [
        f"assumed: where the change of configuration acts on a stratum, the launches drawn there show it; {few} of "
        f"{int(left.sum())} strata that are not fully drawn have {FEW} common launches or fewer, and what those miss is not "
        "in the bound"
    ]
