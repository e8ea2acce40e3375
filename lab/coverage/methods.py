"""KernelPoint's engine on populations of known total, run by run, as its session drives it."""

from __future__ import annotations

from dataclasses import dataclass
from unittest import mock

import numpy as np
from designs import Knowledge, design
from populations import Population

from kernelpoint.estimation import Engine, ErrorBudget, passes
from kernelpoint.estimation.inference import Inference
from kernelpoint.estimation.quantiles import two_sided


@dataclass(frozen=True)
class Outcome:
    """One run: relative error, relative half-width stated, whether a statement was ever wrong, share of the total simulated,
    relative half-width t SE before it is raised to the budget (bounds.stated), passes."""

    error: float
    half_width: float
    ever_wrong: bool
    simulated: float
    computed: float
    passes: int


def kernelpoint(
    population: Population, budget: ErrorBudget, seed: int, knowledge: Knowledge = "a", assume: str = "ordinary"
) -> Outcome:
    """The engine on the shipped policy's design."""
    return run_engine(Engine(design(population, budget, seed, knowledge, assume), budget), population.y)


def run_engine(engine: Engine, y: np.ndarray, total: float | None = None) -> Outcome:
    """Passes until the budget is met or nothing is left to draw. Reports of single clusters are left out, for speed."""
    total = float(y.sum()) if total is None else total
    with mock.patch.object(Inference, "_parts", lambda self, groups, name: []):
        return _passes(engine, y, total)


def _passes(engine: Engine, y: np.ndarray, total: float) -> Outcome:
    wrong, spent = False, 0.0
    for look in passes(engine, ("cycles",), y):
        estimate = look.estimates["cycles"]
        spent = estimate.simulated
        wrong |= not estimate.contains(total)
    computed = 0.0
    if estimate.std_error > 0.0:
        alpha = 0.5 * (1.0 - engine.budget.confidence)
        computed = two_sided(alpha, round(estimate.degrees_of_freedom, 3)) * estimate.std_error / estimate.estimate
    return Outcome(
        estimate.estimate / total - 1.0,
        estimate.relative_half_width,
        wrong,
        spent / float(y.sum()),
        computed,
        engine.looks,
    )
