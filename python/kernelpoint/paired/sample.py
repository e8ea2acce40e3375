"""The sample of a run, launch by launch, as a comparison needs it; from the journal alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from kernelpoint.errors import ConfigError, JournalError, PlanError
from kernelpoint.estimation import AssistedDesign, CellSampling, ErrorBudget
from kernelpoint.estimation.bounds import Kind
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.journal import DecisionRecord, DegradedRecord, PassRecord, Run
from kernelpoint.planning.plan import Plan, hash_design
from kernelpoint.program import Program


def sample_of(run: Run, units: np.ndarray) -> tuple[Sample, np.ndarray]:
    """Sample of the strata of a finished run, of which only some launches count.

    Args:
        units: int64 [n], launches with a result.

    Returns:
        The sample, and bool [n], which of the launches are in it; the others were simulated for certain.

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
        raise JournalError(f"{run.path}: the run's launches were never divided into strata that two runs could share")
    drawn = [(run.unit(record), record) for record in run.of(DecisionRecord) if record.action == "simulate"]
    stratum = {unit: -1 if record.stratum is None else record.stratum for unit, record in drawn}
    x = {unit: record.x for unit, record in drawn if record.x is not None}
    count = len(strata.units)
    parts = [part for part in (strata.covariate, strata.clusters) if part is not None]
    if any(len(part) != count for part in parts) or max(stratum.values(), default=-1) >= count:
        raise JournalError(f"{run.path}: the strata do not add up: sizes of {count}, and others that do not fit them")
    if strata.covariate is not None and (bare := [u for u, h in stratum.items() if h >= 0 and u not in x]):
        raise JournalError(
            f"{run.path}: launch unit {min(bare)} was sampled, but the journal lacks its expected cost (covariate)"
        )
    if missing := run.results.keys() - stratum.keys():
        raise JournalError(f"{run.path}: launch unit {min(missing)} has a result and no decision to simulate it")
    of_unit = np.array([stratum[unit] for unit in units.tolist()], dtype=np.int64)
    by_chance = of_unit >= 0
    sample = Sample(
        of_unit[by_chance], np.array(strata.units, np.int64), np.array(strata.clusters or [0] * count, np.int64)
    )
    if strata.covariate is not None:
        covariates = np.array([x[unit] for unit in units[by_chance].tolist()])
        sample = replace(sample, x=covariates, X=np.array(strata.covariate, dtype=float))
    return sample, by_chance


def kinds_of(run: Run) -> tuple[Kind, ...]:
    """Kind of each pass of a run, which the engine notes with the last one.

    Raises:
        JournalError: the state of the last pass does not say them.
    """
    last = list(run.of(PassRecord))[-1:]
    kinds = (last[0].state or {}).get("kinds") if last else ["first"]
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise JournalError(f"{run.path}: the state of the last pass does not say the kinds of the passes")
    return cast("tuple[Kind, ...]", tuple(kinds))


def check_comparable(run: Run) -> None:
    """Raise an error if a run states nothing that can be compared.

    Raises:
        JournalError: the run has not ended, states no bound, stopped launches inside, or gave its design up.
    """
    summary = run.ended()
    if summary.projected:
        raise JournalError(
            f"{run.path}: {summary.projected} launches were stopped before their end; a comparison needs whole launches"
        )
    if summary.bound == "none" or summary.estimate is None:
        raise JournalError(
            f"{run.path}: the run (policy {run.policy}) states no bound; a comparison needs two runs that do"
        )
    if gave_up := next((record.reason for record in run.of(DegradedRecord) if record.everything), None):
        raise JournalError(f"{run.path}: the run gave up its strata and simulated everything ({gave_up})")
    if lacking := [name for name in run.counters if name not in summary.counters]:
        raise JournalError(f"{run.path}: the summary says nothing of {', '.join(lacking)}, which results report")


def is_predicted(run: Run) -> bool:
    """True if the design of a run uses predictions. Its journal then has no strata, and its plan has the predictions."""
    return run.frozen.strata is None and run.header.plan is not None


def predicts_traced(run: Run) -> bool:
    """True if the run has a `selection` and its design uses predictions of the traced launches (two-phase sampling)."""
    return run.frozen.strata is None and run.setting("selection") is not None


def cells_of(run: Run) -> CellSampling:
    """Cells of a finished run in its last pass, without results.

    Raises:
        JournalError: the run says nothing that a comparison could use, or its plan is gone or not its own any more.
    """
    check_comparable(run)
    program = Program(tuple(run.launches), int(run.setting("seed")))
    try:
        design = Plan.load(str(run.header.plan), program).design
        if not isinstance(design, AssistedDesign):
            raise ConfigError("it has no predictions")
        cells = CellSampling(design, _budget(run))
    except (PlanError, ConfigError) as error:
        raise JournalError(f"{run.path}: the plan of the run is needed: {error}") from None
    if hash_design(design) != run.hashes.get("design"):
        raise JournalError(f"{run.path}: {run.header.plan} is not the plan of this run any more")
    for record in run.of(PassRecord):
        cells.restore_pass(record.state or {})
    return cells


def results_of(run: Run, counter: str) -> np.ndarray:
    """float64 [N]: a counter of every launch, nan for a launch without a result."""
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
        raise JournalError(f"{run.path}: the error budget of the run cannot be read: {error}") from None
