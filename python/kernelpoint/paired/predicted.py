"""The sample of a run whose estimate rests on predictions of every launch; from its journal and its plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpoint.errors import ConfigError, JournalError, PlanError
from kernelpoint.estimation import AssistedEngine, ErrorBudget, engine_for
from kernelpoint.journal import PassRecord, Run
from kernelpoint.paired.sample import check_comparable
from kernelpoint.session.frame import hash_design
from kernelpoint.session.plan import Plan
from kernelpoint.workload import Population


def is_predicted(run: Run) -> bool:
    """True if the design of a run is one with predictions: its journal holds no strata, and its plan does the rest."""
    return run.frozen.strata is None and run.header.plan is not None


def predicts_traced(run: Run) -> bool:
    """True if a run over a selection rests on predictions of the launches that were traced (two-phase sampling)."""
    return run.frozen.strata is None and run.setting("selection") is not None


def engine_of(run: Run) -> AssistedEngine:
    """The engine of a finished run in its last pass, without results.

    Raises:
        JournalError: the run says nothing that a comparison could use, or its plan is gone or not its own any more.
    """
    check_comparable(run)
    u = Population(tuple(run.launches), int(run.setting("seed"))).u
    try:
        design = Plan.load(str(run.header.plan), u).design
        engine = engine_for(design, _budget(run))
    except (PlanError, ConfigError) as error:
        raise JournalError(f"{run.path}: the plan of the run is needed: {error}") from None
    if hash_design(design) != run.hashes.get("design") or not isinstance(engine, AssistedEngine):
        raise JournalError(f"{run.path}: {run.header.plan} is not the plan of this run any more")
    for record in run.of(PassRecord):
        engine.restore_pass(record.state or {})
    return engine


def results_of(run: Run, counter: str) -> np.ndarray:
    """float64 [N]: a counter of every launch, nan where it has no result."""
    values = np.full(sum(run.launches), np.nan)
    for unit, result in run.results.items():
        values[unit] = result.counters[counter]
    return values


def _budget(run: Run) -> ErrorBudget:
    settings: dict[str, Any] = dict(run.setting("error_budget"))
    settings["bound"] = run.header.bound
    try:
        return ErrorBudget(**{name: settings[name] for name in ErrorBudget.__dataclass_fields__})
    except (LookupError, TypeError) as error:
        raise JournalError(f"{run.path}: the error budget of the run cannot be read: {error}") from None
