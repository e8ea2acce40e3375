"""Forecast of what a run will take at several error budgets, before anything is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import ErrorBudget, engine_for
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.randomness import generator
from kernelpoint.workload import Population

BUDGETS = (0.05, 0.01, 0.005)
MOST_LAUNCHES = 1_000_000  # beyond that, planning for three budgets takes longer than anybody waits
MOST_PASSES = 8
ALIKE, OWN = 0.01, 0.003  # relative standard deviations about what is known: of launches known to be equal, and of each
LEAST_SPEEDUP = 2.0  # below that sampling hardly pays
# Model: of Accel-Sim on one core, to a factor of two or three: seconds a launch, and for each thread instruction.
LAUNCH_SECONDS, INSTRUCTION_SECONDS = 0.33, 1.0 / 300_000


@dataclass(frozen=True)
class Forecast:
    """Expected cost of a run. speedup: all cycles over those simulated, or what `source` says stands for cycles; minutes: in
    Accel-Sim on one core, nan where the instructions are not known.
    """

    relative_error: float
    launches: int
    speedup: float
    minutes: float
    source: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Forecast:
        """Content of a plan."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def forecasts(config: Config, policy: type[Policy], population: Population) -> list[Forecast]:
    """Rehearse a run at 5, 1 and 0.5 % and at its own budget, with results made up from what is known of the launches.

    A launch's result is its predicted cycles (else its time in the profile, else its instructions) times 1 + e, with e normal:
    one part, of standard deviation ALIKE, shared by launches of equal predictions, and one, OWN, for each. The policy's design,
    its engine, its passes and its stopping rule are the real ones. Model: ALIKE and OWN, as residuals of the fast model were
    in Accel-Sim on PyTorch training; other launches may be less like their predictions. Nothing is said of more than a million
    launches, of a budget on another counter than cycles, and of a policy without a bound.

    Args:
        population: complete with what the policy asks for.
    """
    known = _known(population)
    if known is None or population.size > MOST_LAUNCHES or config.error_budget.counter != "cycles":
        return []
    work, source = known
    bound = policy.bound_for(config)
    if bound == "none":
        return []
    made_up = work * (1.0 + _deviations(work, config.seed))
    found = []
    for relative_error in sorted({*BUDGETS, config.error_budget.relative_error}, reverse=True):
        wanted = config.error_budget.model_copy(update={"relative_error": relative_error})
        budget = ErrorBudget(relative_error, wanted.confidence, "cycles", wanted.scope, bound)
        try:
            design = design_of(policy(config.model_copy(update={"error_budget": wanted})), population)
        except PolicyError:
            return []
        drawn = _rehearse(engine_for(design, budget, policy.estimate_for(config)), np.maximum(made_up, 1.0))
        speedup = float(work.sum() / work[drawn].sum())
        found.append(Forecast(relative_error, len(drawn), speedup, _minutes(population, drawn), source))
    return found


def _deviations(work: np.ndarray, seed: int) -> np.ndarray:
    numbers = generator(seed, "rehearsal")
    different, which = np.unique(work, return_inverse=True)
    shared = numbers.standard_normal(len(different))
    return ALIKE * shared[which] + OWN * numbers.standard_normal(len(work))


def _rehearse(engine: Any, values: np.ndarray) -> np.ndarray:
    """Units that are simulated by the time the budget is met."""
    for _ in range(MOST_PASSES):
        units = engine.wanted()
        engine.record_many(units, ("cycles",), values[units])
        if engine.look().met or not engine.grow():
            break
    return engine.drawn()


def _known(population: Population) -> tuple[np.ndarray, str] | None:
    """float64 [N], positive: cycles, time or instructions of each launch, and what they are."""
    model, profile, scan = population.model, population.profile, population.scan
    if model is not None:
        values, source = model.counters["cycles"], "the fast model's cycles"
    elif profile is not None and np.isfinite(profile.time).any():
        values, source = profile.time, "the profile's times"
    elif scan is not None:
        values, source = scan.instructions.astype(float), "instructions"
    else:
        return None
    usual = float(np.nanmean(values)) if np.isfinite(values).any() else 0.0
    return (np.where(np.isfinite(values), values, usual), source) if usual > 0 else None


def _minutes(population: Population, drawn: np.ndarray) -> float:
    """Time that the drawn launches will take, by the instructions of their threads."""
    if population.model is not None:
        instructions = population.model.counters["instructions"]
    elif population.scan is not None:
        instructions = population.scan.thread_instructions.astype(float)
    else:
        return float("nan")
    return (LAUNCH_SECONDS * len(drawn) + INSTRUCTION_SECONDS * float(np.nansum(instructions[drawn]))) / 60.0


def sentences(found: Sequence[Forecast], launches: int) -> list[str]:
    """Lines for the user, the last ones warnings."""
    if not found:
        return []
    lines = [f"expected, by {found[0].source}; minutes in Accel-Sim on one core, to a factor of three:"]
    for one in found:
        minutes = "" if np.isnan(one.minutes) else f", about {one.minutes:,.3g} min"
        lines.append(
            f"  +- {100 * one.relative_error:g} %: {one.launches:,} of {launches:,} launches, {one.speedup:,.3g} times "
            f"less than all{minutes}"
        )
    slow = [f"{100 * one.relative_error:g} %" for one in found if one.speedup < LEAST_SPEEDUP]
    if slow:
        lines.append(f"sampling will hardly pay at {', '.join(slow)}: nearly as much is simulated as in a full run")
    return lines


def compared(found: Sequence[Forecast], relative_error: float, launches: int, speedup: float | None) -> str | None:
    """One line on what a run took against what was expected; None where nothing was expected at its budget."""
    for one in found:
        if one.relative_error == relative_error and speedup:
            return (
                f"expected when planned: {one.launches:,} launches, {one.speedup:,.3g} times less than all; it took "
                f"{launches:,} and {speedup:,.3g} times fewer cycles"
            )
    return None
