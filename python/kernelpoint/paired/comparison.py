"""Two sampled runs of one list on two simulated GPUs: ratio and difference of their totals, each with a bound, from launches
that both drew, or from the intervals that both state. The samples come from the journals alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kernelpoint.errors import ConfigError, JournalError, PlanError, damaged_journal
from kernelpoint.estimation import AssistedDesign, Bound, CellSampling, ErrorBudget, Estimate, Method
from kernelpoint.estimation.bounds import Kind, joint_error_probability
from kernelpoint.estimation.constants import UNDRAWN_ERROR
from kernelpoint.estimation.inference import Errors, ratio
from kernelpoint.estimation.strata.estimators import StrataSample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change
from kernelpoint.journal import DecisionRecord, DegradedRecord, PassRecord, Run
from kernelpoint.journal.records import plain
from kernelpoint.pages.numbers import finite
from kernelpoint.planning.plan import Plan, hash_design
from kernelpoint.program import Program
from kernelpoint.session.verdict import NOT_COVERED

FEW = 2  # common launches of a stratum, from which on it may hide much


@dataclass(frozen=True)
class CounterRow:
    """Comparison of one counter between two runs.

    Attributes:
        first, second: totals of both runs, estimated from the launches that both simulated.
        ratio: second / first, with its half-width.
        difference: second - first, with its half-width.
        separate: half-width of the ratio computed from the separate bounds of the two runs. It is right if both bounds are, so
            its confidence is lower.
        tighter: `separate` over the half-width of `ratio`.

    >>> ratio, difference = Estimate.of(1.5, 0.01), Estimate.of(500.0, 10.0)
    >>> CounterRow("cycles", 1000.0, 1500.0, ratio, difference, separate=0.04).tighter
    4.0
    """

    counter: str
    first: float
    second: float
    ratio: Estimate
    difference: Estimate
    separate: float

    @property
    def tighter(self) -> float:
        """Factor by which the half-width of the ratio is smaller than the one computed from the separate bounds of the two
        runs.
        """
        return self.separate / self.ratio.half_width if self.ratio.half_width > 0.0 else math.inf


@dataclass(frozen=True)
class Comparison:
    """Comparison of two runs of the same launches on two simulated GPUs: one row for each counter.

    Attributes:
        common: number of launches drawn in both runs.
        first_drawn, second_drawn: number of launches drawn in each run.

    >>> import kernelpoint as kp
    >>> from kernelpoint.paired import compare_runs
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
        """The comparison as a JSON object, with estimates as in the summary of a run."""
        content = plain(self)
        rows = [{**row, "tighter": of.tighter} for row, of in zip(content.pop("rows"), self.rows, strict=True)]
        return dict(finite({**content, "counters": rows}))


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare two sampled runs of the same launches, counter by counter. Launches drawn in both runs are compared in pairs,
    which makes the bound of the ratio tighter.

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
            f"{first.path} is a run of the policy {first.policy}, {second.path} of {second.policy}; give two runs with the "
            "same policy, plan and seed. For the error of a sampled run against a full one: `kernelpoint report SAMPLED "
            "--full-run FULL`"
        )
    if predicts_traced(first) or predicts_traced(second):
        reason = "each run predicts the traced launches for its own GPU and draws by that, so launches are not paired"
        return _apart(first, second, reason, "; with `fast_model: off` in both runs launches are paired")
    lost = len(first.ended().lost), len(second.ended().lost)
    if any(lost):
        reason = f"A lacks the results of {lost[0]:,} launches that it needs and B of {lost[1]:,}, so launches are not paired"
        return _apart(first, second, reason)
    if is_predicted(first) and is_predicted(second):
        return _by_cells(first, second)
    return _by_strata(first, second)


def _by_strata(first: Run, second: Run) -> Comparison:
    """Draws of both runs are prefixes of the same order of permanent random numbers in every stratum, so the launches drawn in
    both are again such a prefix, of the smaller size: given the sizes, a simple random sample of each stratum. The
    runs' own results choose the sizes; the price for that is paid with `joint_error_probability`.
    """
    units = np.array(sorted(first.results.keys() & second.results.keys()), dtype=np.int64)
    (sample, by_chance), _ = (sample_of(run, units) for run in (first, second))
    kinds, bounds = (kinds_of(first), kinds_of(second)), (first.header.bound, second.header.bound)
    _check_shared(first, second)
    confidence = min(run.ended().confidence for run in (first, second))
    alpha = joint_error_probability(cast("tuple[Bound, Bound]", bounds), 1.0 - confidence, kinds)
    rows = []
    for name in _shared_counters(first, second):
        values = np.column_stack([results_of(run, name)[units] for run in (first, second)])
        method = cast(Method, first.header.estimate)
        errors = errors_of_change(sample, values[by_chance], values[~by_chance], method, alpha)
        rows.append(_row(first, second, name, PAIR, errors, confidence))
    undrawn = sample.n < sample.N
    few = int((undrawn & (sample.n <= FEW)).sum())
    assumed = (
        f"assumed: where the change of configuration acts on a stratum, the launches drawn there show it; {few} of "
        f"{int(undrawn.sum())} strata that are not fully drawn have {FEW} common launches or fewer, and what those miss is "
        "not in the bound"
    )
    notes = [*_notes(first, second, rows), *[assumed] * bool(undrawn.any())]
    return _comparison(first, second, rows, confidence, notes)


def _by_cells(first: Run, second: Run) -> Comparison:
    """Runs whose estimates rest on predictions: their cells nest, so both runs sampled the smaller sample of each part."""
    cells, other = cells_of(first), cells_of(second)
    _check_shared(first, second, "assume", "error_budget.relative_error", "error_budget.counter")
    cells.restrict_to(other)
    names, drawn = _shared_counters(first, second), cells.drawn()
    pairs = {name: (f"{name} of the first run", f"{name} of the second run") for name in names}
    columns = [results_of(run, name)[drawn] for name in names for run in (first, second)]
    cells.results.add(drawn, tuple(of_run for pair in pairs.values() for of_run in pair), np.column_stack(columns))
    cells.looks = max(len(first.looks), len(second.looks))
    cells.begin_comparison({of_run: name for name, pair in pairs.items() for of_run in pair})
    confidence = min(run.ended().confidence for run in (first, second))
    rows = [_row(first, second, name, pairs[name], cells.errors, confidence) for name in names]
    assumed = (
        f"assumed: a launch that was not drawn changes by no more than {100 * UNDRAWN_ERROR:g} % of its "
        "prediction otherwise than the drawn ones do"
    )
    notes = [*_notes(first, second, rows), *[assumed] * (len(drawn) < cells.design.size)]
    return _comparison(first, second, rows, confidence, notes, common=len(drawn))


def _apart(first: Run, second: Run, reason: str, cure: str = "") -> Comparison:
    """Runs whose launches cannot be paired: their samples differ, because each run predicted the launches of a selection for
    its own GPU, or launches were lost, and only the runs' own bounds contain what these may be.

    Both intervals are right with probability 1 - alpha_1 - alpha_2 at least (union bound), whichever launches the runs share.
    """
    for run in (first, second):
        check_comparable(run)
    _check_shared(first, second)
    confidence = sum(run.ended().confidence for run in (first, second)) - 1.0
    a, b = first.estimates(), second.estimates()
    note = f"{reason}: every half-width is that of both runs' own bounds together, at {100 * confidence:g} %{cure}"
    rows = [row_apart(name, a[name], b[name]) for name in _shared_counters(first, second)]
    return _comparison(first, second, rows, confidence, [note, *_notes(first, second, rows)])


def _comparison(
    first: Run, second: Run, rows: list[CounterRow], confidence: float, notes: list[str], common: int | None = None
) -> Comparison:
    """The comparison of rows; `common`: launches that they rest on, all with a result in both runs if None."""
    common = len(first.results.keys() & second.results.keys()) if common is None else common
    drawn = len(first.results), len(second.results)
    return Comparison(tuple(rows), first.ended().launches, common, *drawn, confidence, tuple(notes))


def _shared_counters(first: Run, second: Run) -> list[str]:
    return [name for name in first.counters if name in second.counters]


def _row(first: Run, second: Run, counter: str, pair: tuple[str, str], errors: Errors, confidence: float) -> CounterRow:
    """Row of one counter: exact if both runs know the counter exactly; otherwise ratio and difference from the launches
    drawn in both runs.
    """
    a, b = first.estimates()[counter], second.estimates()[counter]
    if a.half_width == b.half_width == 0.0:
        quotient = Estimate.exact(b.estimate / a.estimate) if a.estimate else Estimate()
        return CounterRow(counter, a.estimate, b.estimate, quotient, Estimate.exact(b.estimate - a.estimate), 0.0)
    total_of_first, total_of_second = (errors([(1.0, name)]).value for name in pair)
    difference = errors([(1.0, pair[1]), (-1.0, pair[0])]).estimate("", confidence)
    quotient = ratio("", pair[::-1], errors, confidence)
    separate = row_apart(counter, a, b).separate
    return CounterRow(counter, total_of_first, total_of_second, quotient, difference, separate)


def row_apart(name: str, a: Estimate, b: Estimate) -> CounterRow:
    """Compare two totals by their separate intervals. The half-width of the ratio is the distance to the farther end of its
    interval; nan if a bound is missing.

    Formula: for totals A +- a and B +- b, the difference is B - A +- (a + b), and the ratio lies between (B - b) / (A + a) and
    (B + b) / (A - a).

    Args:
        name: name of the counter.
        a, b: the two totals.

    >>> row = row_apart("cycles", Estimate.of(100.0, 10.0), Estimate.of(180.0, 9.0))
    >>> row.difference.half_width, round(row.ratio.half_width, 6)
    (19.0, 0.3)
    """
    ratio = Estimate()
    if a.estimate > 0.0:
        value, lowest = b.estimate / a.estimate, a.estimate - a.half_width
        ratio = Estimate.of(value, (b.estimate + b.half_width) / lowest - value if lowest > 0.0 else math.nan)
    difference = Estimate.of(b.estimate - a.estimate, a.half_width + b.half_width)
    return CounterRow(name, a.estimate, b.estimate, ratio, difference, ratio.half_width)


# ---- sentences -------------------------------------------------------------------------------------------------------


def _notes(first: Run, second: Run, rows: Sequence[CounterRow]) -> list[str]:
    """Sentences that explain the numbers of a comparison."""
    sentences = []
    if first.hashes.get("simulator_config") == second.hashes.get("simulator_config"):
        sentences.append("both runs simulated the same GPU: the ratio of a deterministic simulator is 1")
    wider = [row.counter for row in rows if row.tighter < 1.0]
    if wider:
        sentences.append(
            f"{', '.join(wider)}: the launches drawn in both say less than the runs by themselves; use the separate bounds, or "
            "run both with a smaller error budget"
        )
    return [*_not_the_estimate(first, rows), *sentences, *(f"not covered by the bound: {text}" for text in NOT_COVERED)]


def _not_the_estimate(first: Run, rows: Sequence[CounterRow]) -> list[str]:
    """Sentence on why total A differs from the total that the first run states; empty if it does not."""
    stated = first.ended().counters
    for row in rows:
        total = stated[row.counter].estimate
        if not math.isnan(total) and not math.isclose(row.first, total, rel_tol=1e-6):
            return [
                "A is estimated from the launches drawn in both runs, so that the comparison is launch by launch; "
                f"{first.path} states {total:,.0f} {row.counter}, from all launches that it drew"
            ]
    return []


def _check_shared(first: Run, second: Run, *settings: str) -> None:
    """Raise an error if two runs differ in launch list, plan or seed: their launches could not be paired."""

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
    """Advice if each run used a fast model of its own GPU; otherwise empty."""
    same = {name: first.hashes.get(name) == second.hashes.get(name) for name in ("traces", "design")}
    derived = any(is_predicted(run) and run.setting("fast_model") == "auto" for run in (first, second))
    if same["design"] or not same["traces"] or not derived:
        return []
    return [
        "with `fast_model: auto` each run predicted for its own GPU, so the draws differ; give both one model, `fast_model: "
        "FILE` with the configuration of either GPU, and run them again (another `journal:`, or `resume: never`)"
    ]


# ---- the sample of a run ---------------------------------------------------------------------------------------------


def sample_of(run: Run, units: np.ndarray) -> tuple[StrataSample, np.ndarray]:
    """Stratified sample of a finished run, restricted to some of its launches.

    Args:
        run: the run.
        units: int64 [n], indices of the launches that the sample may contain; each has a result.

    Returns:
        The sample, and bool [n], True for the launches in it; the others are launches that are always simulated.

    Raises:
        JournalError: the run has not ended, or its policy states no bound.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="random")
    >>> sample, by_chance = sample_of(run, np.array(sorted(run.results)))
    >>> sample.n.tolist(), int(by_chance.sum())
    ([6], 6)
    """
    check_comparable(run)
    if (strata := run.frozen.strata) is None:
        why = "its launches were not sampled in groups (strata); compare runs of a policy with strata, such as kernelpoint"
        raise _not_comparable(run, why)
    drawn = [(run.unit(record), record) for record in run.of(DecisionRecord) if record.action == "simulate"]
    stratum = {unit: -1 if record.stratum is None else record.stratum for unit, record in drawn}
    x = {unit: record.x for unit, record in drawn if record.x is not None}
    count = len(strata.units)
    parts = [part for part in (strata.covariate, strata.clusters) if part is not None]
    if any(len(part) != count for part in parts) or max(stratum.values(), default=-1) >= count:
        raise damaged_journal(
            run.path, f"the sizes or numbers of its {count} strata (groups of launches) contradict each other"
        )
    if strata.covariate is not None and (bare := [u for u, h in stratum.items() if h >= 0 and u not in x]):
        raise damaged_journal(run.path, f"it lacks the expected cost of launch {min(bare)}, which was sampled")
    if missing := run.results.keys() - stratum.keys():
        raise damaged_journal(run.path, f"launch {min(missing)} has a result, but no record says that it was to be simulated")
    of_unit = np.array([stratum[unit] for unit in units.tolist()], dtype=np.int64)
    by_chance = of_unit >= 0
    sizes, clusters = (np.array(of, np.int64) for of in (strata.units, strata.clusters or [0] * count))
    sample = StrataSample(of_unit[by_chance], sizes, clusters)
    if strata.covariate is not None:
        covariates = np.array([x[unit] for unit in units[by_chance].tolist()])
        sample = replace(sample, x=covariates, X=np.array(strata.covariate, dtype=float))
    return sample, by_chance


def kinds_of(run: Run) -> tuple[Kind, ...]:
    """Kind of each pass (round of sampling) of a run, from the journal's record of the last pass.

    Raises:
        JournalError: the record of the last pass does not contain the kinds.
    """
    last = list(run.of(PassRecord))[-1:]
    kinds = (last[0].state or {}).get("kinds") if last else ["first"]
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise damaged_journal(run.path, "its last round of sampling does not say why each round was drawn")
    return cast("tuple[Kind, ...]", tuple(kinds))


def _not_comparable(run: Run, why: str) -> JournalError:
    return JournalError(f"{run.path}: this run cannot be compared, because {why}")


def check_comparable(run: Run) -> None:
    """Raise an error if a run cannot be compared with another one.

    Raises:
        JournalError: the run has not ended, states no bound, stopped launches before their end, or changed to simulating every
            launch after a failure.
    """
    summary = run.ended()
    if summary.projected:
        what = f"{summary.projected} of its launches were stopped early and their results extrapolated"
        raise _not_comparable(run, f"{what}; repeat it without `project:`")
    if summary.bound == "none" or summary.estimate is None:
        what = f"its policy {run.policy} states no error bound"
        raise _not_comparable(run, f"{what}; compare runs of a policy with a bound, such as kernelpoint")
    if gave_up := next((record.reason for record in run.of(DegradedRecord) if record.everything), None):
        raise _not_comparable(run, f"it simulated all launches instead of a sample ({gave_up}); compare sampled runs")
    if lacking := [name for name in run.counters if name not in summary.counters]:
        raise damaged_journal(run.path, f"its summary lacks {', '.join(lacking)}, which its results have")


def is_predicted(run: Run) -> bool:
    """True if the design of a run uses predictions of launches. Then its strata (groups sampled separately) are not in the
    journal, and the predictions are in the plan.
    """
    return run.frozen.strata is None and run.header.plan is not None


def predicts_traced(run: Run) -> bool:
    """True if only some launches of the run were traced, and its design uses predictions of the traced launches (two-phase
    sampling).
    """
    return run.frozen.strata is None and run.setting("selection") is not None


def cells_of(run: Run) -> CellSampling:
    """Sampling state of a finished run whose design uses predictions: its cells (groups of launches with similar predicted
    cycles) in the last pass, without results.

    Raises:
        JournalError: the run states nothing that can be compared, or its plan is missing or was replaced by another plan.
    """
    check_comparable(run)
    program = Program(tuple(run.launches), int(run.setting("seed")))
    try:
        design = Plan.load(str(run.header.plan), program).design
        if not isinstance(design, AssistedDesign):
            raise ConfigError("it has no predictions")
        cells = CellSampling(design, _budget(run))
    except (PlanError, ConfigError) as error:
        raise JournalError(f"{run.path}: the plan of this run is needed to compare it, but cannot be read: {error}") from None
    if hash_design(design) != run.hashes.get("design"):
        what = f"its plan {run.header.plan} was changed after the run"
        raise _not_comparable(run, f"{what}; restore that file, or repeat the run")
    for record in run.of(PassRecord):
        cells.restore_pass(record.state or {})
    return cells


def results_of(run: Run, counter: str) -> np.ndarray:
    """Value of a counter for each launch, float64 [N]; nan for a launch without a result."""
    values = np.full(sum(run.launches), np.nan)
    for unit, result in run.results.items():
        values[unit] = result.counters[counter]
    return values


def _budget(run: Run) -> ErrorBudget:
    settings: dict[str, Any] = dict(run.setting("error_budget"))
    settings["bound"] = run.header.bound
    settings.pop("ranges", None)  # samples of their own
    try:
        return ErrorBudget(**({"further": {}} | settings))
    except (LookupError, TypeError) as error:
        raise damaged_journal(run.path, f"its error budget cannot be read ({error})") from None
