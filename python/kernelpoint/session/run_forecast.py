"""Rehearsals: forecasts of a run, from runs with synthetic results."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, Method, SystematicError, passes
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.randomness import generator
from kernelpoint.ranges import ranges_for
from kernelpoint.session.range_targets import check_range_targets, range_samples, targets_of_ranges
from kernelpoint.session.ratios import RATIOS
from kernelpoint.session.validation import first_number, shortest_list
from kernelpoint.simulators import simulator_of
from kernelpoint.workload import Population
from kernelpoint.workload.forecast import Forecast, targets_text
from kernelpoint.workload.plan import Plan

if TYPE_CHECKING:
    from kernelpoint.session.sample import Sample
    from kernelpoint.session.setup import Setup

BUDGETS = (0.05, 0.01, 0.005)
MOST_LAUNCHES = 1_000_000  # beyond that, planning for three budgets takes longer than anybody waits
MOST_LAUNCHES_AFTERWARDS = 100_000  # of a run that says at its end what the next budget would cost
LAUNCHES_OF_VALIDATION = 2  # the least; one more where it has to begin farther in front of the drawn launch
# Relative standard deviations about what is known: of all launches with one correction line (without predictions: of a
# stratum), of those known to be equal, of each launch
LINE_ERROR, PREDICTION_ERROR, LAUNCH_ERROR = 0.03, 0.003, 0.003
# In a run that is less like what is known: how far the first launch of each stratum is off, and how far launches of equal
# predictions are, as a part of the coefficient of variation of the predictions in their stratum
FIRST_LAUNCH_EXCESS, VARIATION_SHARE = 0.2, 0.05
# Of recorded runs (lab/coverage/forecasts.py), nine of ten take no less than the first rehearsal divided by MARGIN, and nine of
# ten no more than lies this part of the way, in logarithms, from the first rehearsal to the second.
MARGIN, PART_OF_WAY = 1.1, 0.75


def forecasts(config: Config, policy: type[Policy], population: Population, plan: Plan) -> list[Forecast]:
    """Rehearse runs at 5, 1 and 0.5 % and at the run's own budget, with synthetic results.

    A launch's result is its predicted cycles (else its time in the profile, else its instructions) times 1 + e, with e normal:
    one part, of standard deviation LINE_ERROR, shared by strata with one correction line, one, PREDICTION_ERROR, by launches of
    equal predictions, and one, LAUNCH_ERROR, for each. A second rehearsal, of a run that is less like its predictions, makes
    the first launch of each stratum longer by FIRST_LAUNCH_EXCESS, and adds to PREDICTION_ERROR the part VARIATION_SHARE of the
    coefficient of variation of the predictions in the stratum: where a kernel's launches differ, the model is off differently
    for each. The policy's design, its engine, its passes and its stopping rule are the real ones. Model: these five, as the
    fast model's residuals were on PyTorch training and in the embedded host; other launches may be less like their
    predictions still. Ranges are those of 80 % of recorded runs (`ranged`). Nothing is said of more than a million launches, of
    a budget on another counter than cycles, and of a policy without a bound.

    Args:
        population: complete with the inputs of the policy, where the plan has no predictions.
        plan: of the run's own budget; with predictions its design is the same for every budget.
    """
    known, design = _known(population, plan), plan.design
    if known is None or population.size > MOST_LAUNCHES or config.error_budget.counter != "cycles":
        return []
    bound = policy.bound_for(config)
    if bound == "none":
        return []
    found: list[Forecast] = []
    for relative_error in sorted({*BUDGETS, config.error_budget.relative_error}, reverse=True):
        wanted = config.error_budget.model_copy(update={"relative_error": relative_error})
        budget = ErrorBudget(relative_error, wanted.confidence, "cycles", wanted.scope, bound)
        try:
            if not isinstance(design, AssistedDesign):
                design = design_of(policy(config.model_copy(update={"error_budget": wanted})), population)
        except PolicyError:
            return []
        drawn = rehearse(design, budget, policy.estimate_for(config), known[0], config.seed)
        found.append(_forecast(population, plan, config, known, relative_error, drawn))
    found += _with_further_targets(config, policy, population, known, plan)
    return found + _with_ranges(config, policy, population, known, plan)


def _with_further_targets(
    config: Config,
    policy: type[Policy],
    population: Population,
    known: tuple[np.ndarray, str],
    plan: Plan,
) -> list[Forecast]:
    """Forecasts of the run's first target with each further one, and with all; [] without predictions of them."""
    design, wanted, found = plan.design, config.error_budget, []
    each = [{name: error} for name, error in wanted.further.items()]
    for further in [*each, *([wanted.further] if len(each) > 1 else [])]:
        counters = {counter for name in further for counter in RATIOS.get(name, (name,))} - {"cycles"}
        if not isinstance(design, AssistedDesign) or not counters <= design.means.keys():
            continue
        others = {name: design.means[name] for name in sorted(counters)}
        budget = ErrorBudget(
            wanted.relative_error, wanted.confidence, "cycles", wanted.scope, policy.bound_for(config), further
        )
        drawn = rehearse(design, budget, policy.estimate_for(config), known[0], config.seed, others)
        one = _forecast(population, plan, config, known, wanted.relative_error, drawn)
        found.append(replace(one, further=targets_text(further)))
    return found


def _with_ranges(
    config: Config,
    policy: type[Policy],
    population: Population,
    known: tuple[np.ndarray, str],
    plan: Plan,
) -> list[Forecast]:
    """Forecast of the run's own target with those of ranges: launches that any of the samples draws; [] without such."""
    design, wanted, targets = plan.design, config.error_budget, targets_of_ranges(config)
    if not targets or wanted.further:
        return []
    ranges = ranges_for(config.ranges, population, lambda line: None)
    check_range_targets(config, policy, ranges)
    bound, estimate = policy.bound_for(config), policy.estimate_for(config)
    budget = ErrorBudget(wanted.relative_error, wanted.confidence, "cycles", wanted.scope, bound)
    drawn = rehearse(design, budget, estimate, known[0], config.seed)
    for one in range_samples(config, ranges, design, bound, estimate):
        own = rehearse(design.within(one.units), one.engine.budget, estimate, known[0][one.units], config.seed)
        drawn = [np.union1d(all_units, one.units[units]) for all_units, units in zip(drawn, own, strict=True)]
    made = _forecast(population, plan, config, known, wanted.relative_error, drawn)
    return [replace(made, further=targets_text(targets))]


def rehearse(
    design: Design | AssistedDesign,
    budget: ErrorBudget,
    estimator: Method,
    work: np.ndarray,
    seed: int,
    others: Mapping[str, np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Units that two rehearsals simulate: of a run that is as predicted, and of one that is less so.

    Args:
        work: float64 [N], what is known of each unit's cycles; others: the same of further counters.
    """
    known = {"cycles": work, **(others or {})}
    labels = np.asarray(design.labels)
    shared = design.lines if isinstance(design, AssistedDesign) else None
    lines = labels if shared is None else np.append(shared, -1)[labels]
    made_up = zip(*(_made_up(values, labels, lines, seed, name) for name, values in known.items()), strict=True)
    return [
        _rehearse(Engine(design, budget, estimator, RATIOS), np.column_stack(values), tuple(known))
        for values in made_up
    ]


def ranged(as_predicted: float, less_so: float) -> tuple[float, float]:
    """Both ends of the 80 % range of a cost, given those of the two rehearsals.

    >>> ranged(11.0, 11.0 * 2.0**4)
    (10.0, 88.0)
    """
    return as_predicted / MARGIN, as_predicted * (less_so / as_predicted) ** PART_OF_WAY


def next_budget(setup: Setup, sample: Sample, replay: Mapping[str, SystematicError]) -> str | None:
    """One line: the cost of the next smaller error budget of BUDGETS beyond a run that met its own; None if it is not
    known.

    The run with that budget is rehearsed over the same design. Results are those of this run, else its estimates, each with the
    relative residual of a launch of the sample, chosen at random (bootstrap). Validation launches are left out.

    Args:
        replay: the replay errors of the run.
    """
    design, budget, engine = setup.frame.design if setup.frame else None, setup.budget, sample.engine
    smaller = next((one for one in sorted(BUDGETS, reverse=True) if one < budget.relative_error), None)
    look, size = sample.look, len(sample.has_result)
    if design is None or smaller is None or look is None or not look.met or size > MOST_LAUNCHES_AFTERWARDS:
        return None
    if budget.counter not in engine.counters or (errors := engine.unit_errors(budget.counter)) is None:
        return None
    values, drawn = sample.estimates(), np.flatnonzero(sample.has_result)
    of_budget = values[:, engine.counters.index(budget.counter)]
    residuals, expected = errors.residuals[drawn], of_budget[drawn] - errors.residuals[drawn]
    relative = np.divide(residuals, expected, out=np.zeros(len(drawn)), where=expected > 0.0)
    redrawn = generator(setup.config.seed, "rehearsal").choice(relative, size)
    of_budget *= np.where(sample.has_result, 1.0, 1.0 + redrawn)
    if not np.isfinite(values).all():
        return None
    rehearsed = Engine(design, replace(budget, relative_error=smaller), setup.estimate, RATIOS)
    rehearsed.set_systematic_errors(replay)
    more = _rehearse(rehearsed, values, engine.counters)
    lacking = more[~sample.has_result[more]]
    if not len(lacking):
        return f"+- {100 * smaller:g} % costs nothing more here"
    cost = values[lacking, engine.counters.index("cycles")].sum()
    return (
        f"+- {100 * smaller:g} % would take about {len(lacking):,} more launches of {cost:.2g} cycles, with `results_from: "
        f"{setup.config.journal}`"
    )


def _forecast(
    population: Population,
    plan: Plan,
    config: Config,
    known: tuple[np.ndarray, str],
    relative_error: float,
    drawn: Sequence[np.ndarray],
) -> Forecast:
    """The forecast that two rehearsals give; drawn: the units of each."""
    work, source = known
    count = first_number(config.replay, relative_error, config.error_budget.confidence)
    validations = LAUNCHES_OF_VALIDATION * count if population.size >= shortest_list(config.replay) else 0
    costs = [float(work[units].sum() + validations * work[units].mean()) for units in drawn]
    times = [_minutes(population, plan, units) * (1.0 + validations / len(units)) for units in drawn]
    fewest, most = ranged(len(drawn[0]), max(map(len, drawn)))
    least_cost, most_cost = ranged(costs[0], max(costs))
    minutes, most_minutes = ranged(times[0], max(times))
    return Forecast(
        relative_error,
        math.floor(fewest),
        float(work.sum()) / least_cost,
        minutes,
        source,
        most_launches=min(math.ceil(most), population.size),
        least_speedup=float(work.sum()) / most_cost,
        most_minutes=most_minutes,
        validations=validations,
        full_minutes=_minutes(population, plan, np.arange(population.size), is_full_run=True),
        simulator=simulator_of(population.paths).title,
    )


def _made_up(work: np.ndarray, strata: np.ndarray, lines: np.ndarray, seed: int, counter: str) -> Iterator[np.ndarray]:
    """Results of a run that is as predicted, and of one that is less so; float64 [N], cycles positive.

    lines: int [N], equal for units that the engine takes to be off alike; -1 for take-all units.
    """
    is_cycles = counter == "cycles"
    numbers = generator(seed, "rehearsal" if is_cycles else f"rehearsal of {counter}")
    different, which = np.unique(work, return_inverse=True)
    level = LINE_ERROR * numbers.standard_normal(int(lines.max(initial=-1)) + 2)[lines]
    alike, own = numbers.standard_normal(len(different))[which], LAUNCH_ERROR * numbers.standard_normal(len(work))
    least = 1.0 if is_cycles else 0.0
    yield np.maximum(work * (1.0 + level + PREDICTION_ERROR * alike + own), least)
    scatter = PREDICTION_ERROR + VARIATION_SHARE * _variation(work, strata)
    values = np.maximum(work * (1.0 + level + scatter * alike + own), least)
    values[np.unique(strata, return_index=True)[1]] *= 1.0 + FIRST_LAUNCH_EXCESS
    yield values


def _variation(work: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """float64 [N]: coefficient of variation of the known amounts of launches in the stratum of each.

    >>> _variation(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [0.5, 0.5, 0.0]
    """
    group = strata - strata.min(initial=0)
    count = np.maximum(np.bincount(group), 1)
    mean = np.bincount(group, work) / count
    square = np.bincount(group, (work - mean[group]) ** 2) / count
    return (np.sqrt(square) / np.where(mean > 0.0, mean, 1.0))[group]


def _rehearse(engine: Any, values: np.ndarray, counters: Sequence[str] = ("cycles",)) -> np.ndarray:
    """Units that are simulated by the time the budget is met; values: float64 [N, counters], or [N] of one."""
    deque(passes(engine, counters, values), maxlen=0)
    return np.asarray(engine.drawn())


def _known(population: Population, plan: Plan) -> tuple[np.ndarray, str] | None:
    """float64 [N], positive: cycles, time or instructions of each launch, and their name."""
    model, profile = population.model, population.profile
    if isinstance(plan.design, AssistedDesign):
        cycles = plan.design.means["cycles"]
        values, source = np.where(cycles > 0.0, cycles, np.nan), "the fast model's cycles"
    elif model is not None:
        values, source = model.counters["cycles"], "the fast model's cycles"
    elif profile is not None and np.isfinite(profile.time).any():
        values, source = profile.time, "the profile's times"
    elif (instructions := plan.count_of_unit("instructions")) is not None:
        values, source = instructions, "instructions"
    else:
        return None
    usual = float(np.nanmean(values)) if np.isfinite(values).any() else 0.0
    return (np.where(np.isfinite(values), values, usual), source) if usual > 0 else None


def _minutes(population: Population, plan: Plan, drawn: np.ndarray, is_full_run: bool = False) -> float:
    """Time that the drawn launches will take in the simulator of their traces, by instructions of its kind."""
    costs = simulator_of(population.paths).costs
    instructions = None if costs is None else plan.count_of_unit(costs.instructions)
    if costs is None or instructions is None:
        return float("nan")
    return costs.seconds(len(drawn), float(np.nansum(instructions[drawn])), is_full_run) / 60.0
