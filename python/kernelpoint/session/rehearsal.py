"""Rehearsals: runs of the loop (loop.py) with synthetic results, before the run of a simulator. They forecast what the run will
cost, and decide whether a full run is cheaper than a sampled one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget
from kernelpoint.planning.forecast import CHEAP_SHARE, Forecast, targets_text
from kernelpoint.planning.plan import Plan, hash_design
from kernelpoint.planning.range_targets import check_range_targets, targets_of_ranges
from kernelpoint.planning.validation_launches import first_number, shortest_list
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.program import Program
from kernelpoint.progress import Log, silent
from kernelpoint.randomness import generator
from kernelpoint.ranges import Ranges, ranges_for
from kernelpoint.ratios import RATIOS
from kernelpoint.session.loop import run_with_results
from kernelpoint.session.setup import Setup
from kernelpoint.simulators import OF_TOTAL, simulator, simulator_of
from kernelpoint.workload.host_info import HostInfo

Results = tuple[tuple[str, ...], np.ndarray]  # counters, float64 [N, counters]

BUDGETS = (0.05, 0.01, 0.005)
MOST_LAUNCHES = 1_000_000  # beyond that, planning for three budgets takes longer than anybody waits
# What caches decide; traces determine no such counter
PRICED = ("l1_misses", "l2_accesses", "l2_misses", "dram_reads", "dram_writes")
MOST_PRICED = 10_000  # beyond that, the rehearsals of PRICED take seconds
LAUNCHES_OF_VALIDATION = 2  # the least; one more where it has to begin farther in front of the drawn launch
# Relative standard deviations of results about the known amounts. LINE_ERROR is shared by launches with one correction line, or
# without predictions by those of a stratum; each launch, and launches of equal amounts together, have SINGLE_ERROR.
LINE_ERROR, SINGLE_ERROR = 0.03, 0.003
# The second rehearsal. Excess of the first launch of each stratum; scatter of launches of equal predictions, as a part of the
# coefficient of variation of the predictions in their stratum.
FIRST_LAUNCH_EXCESS, VARIATION_SHARE = 0.2, 0.05
# Of 420 recorded runs (lab/coverage/measure.py --show forecasts), 16 take less than the first rehearsal divided by this
MARGIN = 1.2
LEAST_SHARE = 0.3  # of all predicted cycles in the first pass; below that a sample pays, whatever follows


def forecasts(config: Config, policy: type[Policy], program: Program, plan: Plan) -> list[Forecast]:
    """Forecast the cost of runs at error budgets of 5, 1 and 0.5 % and at the budget of this run, with synthetic results.

    The sampling policy, the passes and the stopping rule are those of a real run; only the results are synthetic. The synthetic
    result of a launch is a (1 + e): a is its predicted cycles, or else its profiled time, or else its instructions; e is a
    normal relative error. There are two rehearsals, and with further targets a third one before them:

    1. Small errors. e is a sum of three parts: one shared by all strata (groups of launches sampled separately) that have one
      correction of the predictions, standard deviation LINE_ERROR; one shared by launches with equal predictions; one of each
      launch alone, standard deviation SINGLE_ERROR for both.
    2. Larger errors. The first launch of each stratum is also longer by FIRST_LAUNCH_EXCESS, and the first part grows by
      VARIATION_SHARE of the coefficient of variation of the stratum's predictions.
    0. The results of the other counters are their predictions. Where few launches have most of a counter, such as misses, a run
       takes few launches if its draws are as predicted, and nearly all if they are not.

    Model: the four constants were measured for the fast model on PyTorch training and in the embedded host (KernelPoint's small
    simulator). Real errors can be larger. The ranges contain 80 % of recorded runs (`ranged`).

    There is no forecast for more than a million launches, for a budget on another counter than cycles, or for a policy without
    a bound.

    Args:
        program: launches of the run, with all inputs of the policy if the plan has no predictions.
        plan: plan for the run's own budget.
    """
    amounts, wanted = _amounts(program, plan), config.error_budget
    if amounts is None or program.size > MOST_LAUNCHES or wanted.counter != "cycles" or policy.bound_for(config) == "none":
        return []
    run = _PlannedRun(config, policy, program, plan, *amounts)
    budget = replace(policy.budget_for(config), counter="cycles", further={})
    made: list[Forecast | None] = []
    try:
        for error in sorted({*BUDGETS, wanted.relative_error}, reverse=True):
            design = plan.design
            if not isinstance(design, AssistedDesign):
                changed = replace(wanted, relative_error=error)
                design = design_of(policy(replace(config, error_budget=changed)), program)
            forecast = run.forecast(design, replace(budget, relative_error=error))
            is_wanted = error == wanted.relative_error
            made.append(replace(forecast, prices=run.prices(forecast, budget)) if is_wanted else forecast)
    except PolicyError:
        return []
    each = [{name: error} for name, error in wanted.further.items()]
    made += [run.with_further(budget, further) for further in [*each, *([wanted.further] if len(each) > 1 else [])]]
    if (targets := targets_of_ranges(config)) and not wanted.further:
        ranges = ranges_for(config.ranges, program, silent)
        check_range_targets(config, policy, ranges)
        made.append(run.forecast(plan.design, budget, ranges=ranges, further=targets_text(targets)))
    return [forecast for forecast in made if forecast is not None]


@dataclass(frozen=True)
class _PlannedRun:
    """Planned run, with forecasts by rehearsal.

    Attributes:
        work: float64 [N], positive: cycles, time or instructions of each launch.
        source: origin of `work`, as text.
    """

    config: Config
    policy: type[Policy]
    program: Program
    plan: Plan
    work: np.ndarray
    source: str

    @cached_property
    def _of_cycles(self) -> list[Results]:
        """Synthetic cycles for the plan's design, which serve rehearsals with every budget."""
        return made_up({"cycles": self.work}, self.plan.design.labels, self.config.seed)

    def with_further(self, budget: ErrorBudget, further: Mapping[str, float], ends_only: bool = False) -> Forecast | None:
        """Forecast of the run with further targets; None without predictions of one of them. `ends_only`: the rehearsal with
        small errors, whose cost lies between those without and with larger errors, is left out.
        """
        design = self.plan.design
        counters = {counter for name in further for counter in RATIOS.get(name, (name,))} - {"cycles"}
        if not isinstance(design, AssistedDesign) or not counters <= design.means.keys():
            return None
        others = {name: design.means[name] for name in sorted(counters)}
        wanted = replace(budget, further=further)
        return self.forecast(design, wanted, others, further=targets_text(further), ends_only=ends_only)

    def forecast(
        self,
        design: Design | AssistedDesign,
        budget: ErrorBudget,
        others: Mapping[str, np.ndarray] | None = None,
        ranges: Ranges | None = None,
        further: str = "",
        ends_only: bool = False,
    ) -> Forecast:
        """The forecast that rehearsals with a design and a budget give; further: targets of the budget, as text; ends_only: see
        `with_further`.
        """
        config, work, size, relative_error = self.config, self.work, self.program.size, budget.relative_error
        is_alone = not others and design is self.plan.design
        results = self._of_cycles if is_alone else made_up({"cycles": work, **(others or {})}, design.labels, config.seed)
        results = [results[0], results[-1]] if ends_only else results
        host = HostInfo("a rehearsal", launch_counts=self.program.counts, stateless=True)
        plan, estimate = replace(self.plan, design=design, knows_errors=False), self.policy.estimate
        drawn = rehearse(Setup(config, host, self.policy, budget, estimate, plan, ranges=ranges), results)
        count = first_number(config.replay, self.plan.design, {"cycles": relative_error}, config.error_budget.confidence)
        validations = LAUNCHES_OF_VALIDATION * count if size >= shortest_list(config.replay) else 0
        costs = [float(work[units].sum() + validations * work[units].mean()) for units in drawn]
        times = [self._minutes(units) * (1.0 + validations / len(units)) for units in drawn]
        (fewest, most), (least_cost, most_cost), (minutes, most_minutes) = map(ranged, (map(len, drawn), costs, times))
        undrawn = np.delete(np.arange(size), drawn[0])
        unseen = int(undrawn[np.argmax(work[undrawn])]) if len(undrawn) else -1
        return Forecast(
            relative_error,
            math.floor(fewest),
            float(work.sum()) / least_cost,
            minutes,
            self.source,
            most_launches=min(math.ceil(most), size),
            least_speedup=float(work.sum()) / most_cost,
            most_minutes=most_minutes,
            validations=validations,
            full_minutes=self._minutes(np.arange(size), is_full_run=True),
            simulator=simulator_of(self.program.traces).title,
            further=further,
            unseen_times=1.0 + relative_error * float(work.sum() / work[unseen]) if len(undrawn) else 0.0,
            unseen_kernel=self.plan.name_of_unit(unseen) or "" if len(undrawn) else "",
        )

    def prices(self, least: Forecast, budget: ErrorBudget) -> dict[str, list[int]]:
        """Launches for the error budget in cycles and in one more counter, the 80 % range, for PRICED that the model predicts.

        Each is the forecast of a run with this further target, but neither below the run's first pass nor below `least`, the
        forecast without it. Counters with equal predictions have one price. {} for lists of more than MOST_PRICED launches, and
        for simulators that name other counters.
        """
        design, wanted = self.plan.design, self.config.error_budget
        is_long = self.program.size > MOST_PRICED or simulator_of(self.program.traces).cores is not None
        if is_long or not isinstance(design, AssistedDesign):
            return {}
        first, prices = len(Engine(design, budget).drawn()), dict[str, list[int]]()
        for name in (name for name in PRICED if name in design.known and name not in wanted.further):
            values = design.known[name].values
            equal = next((other for other in prices if np.array_equal(design.known[other].values, values)), None)
            further = {name: wanted.relative_error}
            forecast = None if equal else self.with_further(budget, further, ends_only=True)
            if forecast is not None:
                most = max(forecast.most_launches, least.most_launches)
                prices[name] = [max(forecast.launches, least.launches, first), most]
            elif equal:
                prices[name] = prices[equal]
        return prices

    def _minutes(self, drawn: np.ndarray, is_full_run: bool = False) -> float:
        """Time that the drawn launches will take in the simulator of their traces, by instructions of its kind."""
        costs = simulator_of(self.program.traces).costs
        instructions = None if costs is None else self.plan.count_of_unit(costs.instructions)
        if costs is None or instructions is None:
            return float("nan")
        return costs.seconds(len(drawn), float(np.nansum(instructions[drawn])), is_full_run) / 60.0


def rehearse(setup: Setup, results: Sequence[Results]) -> list[np.ndarray]:
    """Indices of the launches that a run simulates until it meets its budget: one array for each table of synthetic
    `results`, which are in the order of their errors. If a run simulates every launch, so do those with larger errors.
    """
    drawn: list[np.ndarray] = []
    for table in results:
        is_whole = bool(drawn) and len(drawn[-1]) == len(table[1])
        drawn.append(drawn[-1] if is_whole else run_with_results(setup, *table).sample.engine.drawn())
    return drawn


def ranged(costs: Iterable[float]) -> tuple[float, float]:
    """Range that contains the cost of 8 in 10 runs.

    Args:
        costs: cost of each rehearsal, in the order of `made_up`: the last two with small and with larger prediction errors.

    >>> ranged([12.0, 40.0]), ranged([6.0, 12.0, 40.0])
    ((10.0, 40.0), (5.0, 40.0))
    """
    *exact, small, larger = costs
    return min([*exact, small]) / MARGIN, max(small, larger)


def made_up(amounts: Mapping[str, np.ndarray], strata: np.ndarray, seed: int) -> list[Results]:
    """Sets of synthetic results of all launches: one with small prediction errors, then one with larger. If there are
    counters other than cycles, a set in which those counters have no error comes first.

    Args:
        amounts: expected value of each counter, float64 [N], by name.
        strata: int [N], group of each launch; launches of one group share a part of the error. -1: always simulated.
        seed: seed of the errors.
    """
    tables = [np.empty((len(strata), len(amounts))) for _ in range(2)]
    for column, (counter, work) in enumerate(amounts.items()):
        is_cycles = counter == "cycles"
        numbers = generator(seed, "rehearsal" if is_cycles else f"rehearsal of {counter}")
        different, which = np.unique(work, return_inverse=True)
        level = LINE_ERROR * numbers.standard_normal(int(strata.max(initial=-1)) + 2)
        alike = numbers.standard_normal(len(different))
        single = SINGLE_ERROR * numbers.standard_normal(len(work))
        for table, variation in zip(tables, (np.zeros(len(level)), _variation(work, strata)), strict=True):
            scatter = SINGLE_ERROR + VARIATION_SHARE * variation
            values = scatter[strata] * alike[which]
            values += (1.0 + level)[strata]
            values += single
            values *= work
            np.maximum(values, 1.0 if is_cycles else 0.0, out=table[:, column])
        tables[1][np.unique(strata, return_index=True)[1], column] *= 1.0 + FIRST_LAUNCH_EXCESS
    if len(amounts) > 1:
        exact = [tables[0][:, column] if name == "cycles" else values for column, (name, values) in enumerate(amounts.items())]
        tables.insert(0, np.column_stack(exact))
    return [(tuple(amounts), table) for table in tables]


def _variation(work: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """float64 [H + 1]: coefficient of variation of the known amounts of launches in each stratum; last, of those in none (-1).

    >>> _variation(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [0.5, 0.0, 0.0]
    """
    group = np.where(strata < 0, strata.max(initial=-1) + 1, strata)
    least = int(strata.max(initial=-1)) + 2
    count = np.maximum(np.bincount(group, minlength=least), 1)
    mean = np.bincount(group, work, least) / count
    square = np.bincount(group, (work - mean[group]) ** 2, least) / count
    return np.asarray(np.sqrt(square) / np.where(mean > 0.0, mean, 1.0))


def _amounts(program: Program, plan: Plan) -> tuple[np.ndarray, str] | None:
    """float64 [N], positive: cycles, time or instructions of each launch, and their name."""
    if isinstance(plan.design, AssistedDesign):
        cycles = plan.design.known["cycles"]
        source = "the profile's times" if cycles.is_observed else "the fast model's cycles"
        values = replace(cycles, values=np.where(cycles.values > 0.0, cycles.values, np.nan)).mean
    elif program.predictions is not None:
        values, source = program.predictions["cycles"], "the fast model's cycles"
    elif program.source and np.isfinite(program.time).any():
        values, source = program.time, "the profile's times"
    elif (instructions := plan.count_of_unit("instructions")) is not None:
        values, source = instructions, "instructions"
    else:
        return None
    has = np.isfinite(values)
    usual = float(np.nanmean(values)) if has.any() else 0.0
    return (values if has.all() else np.where(has, values, usual), source) if usual > 0 else None


def in_full(setup: Setup, begun_with: Mapping[str, str | None] | None, log: Log) -> Setup:
    """Setup of a full run, if the sample would cost about as much as a full run; else the setup unchanged.

    In a full run each launch begins with the caches that the launch before it left, and the total is exact. Only simulators
    with a detailed model of their cores are changed to a full run: the error of restored caches is largest there.

    Args:
        setup: setup of the sampled run.
        begun_with: hashes in the journal of a resumed run, which stays sampled or full as it began; None for a new run.
    """
    plan = setup.plan
    if plan is None or simulator(setup.host.simulator).cores is None or plan.program.listed is not None:
        return setup
    design = Design.take_all(plan.design.u)
    of_design = hash_design(design)
    if begun_with is not None:
        is_whole = begun_with.get("design") == of_design
    else:
        is_whole = of_design == plan.hashes["design"] or _costs_as_much(setup, plan, log)
    return replace(setup, plan=replace(plan, design=design), estimate="mean", is_full_run=True) if is_whole else setup


def _costs_as_much(setup: Setup, plan: Plan, log: Log) -> bool:
    """True if the sample is expected to cost CHEAP_SHARE of a full run, by two rehearsals of it."""
    design, budget = plan.design, setup.budget
    if plan.unreadable or not isinstance(design, AssistedDesign) or OF_TOTAL not in design.computed:
        return False
    work = np.asarray(design.computed["cycles"], dtype=float)
    first = Engine(design, budget).wanted()
    if len(first) == plan.program.size:
        return True
    if work[first].sum() < LEAST_SHARE * work.sum() or budget.counter != "cycles":
        return False
    results = made_up({"cycles": np.maximum(work, 1.0)}, design.labels, plan.program.seed)
    drawn = rehearse(replace(setup, host=HostInfo("a rehearsal", launch_counts=plan.program.counts, stateless=True)), results)
    costs = [float(work[units].sum() / work.sum()) for units in drawn]
    share = min(1.0, float(np.mean(ranged(costs))))
    if share < CHEAP_SHARE:
        return False
    log(
        f"kernelpoint: an error budget of {100 * budget.relative_error:g} % would take about {100 * share:.0f} % of the "
        "cycles of a full run: every launch is simulated"
    )
    return True
