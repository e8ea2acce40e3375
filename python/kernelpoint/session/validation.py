"""Validation launches: how many cycles launches of the sample take with their real state.

A few launches of the first pass are simulated directly after the launches that precede them, with the state that these leave.
The sample simulates the same launches from replayed state. The difference is the error of replay
(docs/evidence/replay-error.md). Where it leaves too little of the error budget to sampling, further validation launches follow
the pass that showed it. Where predictions include the scatter of launches, all are chosen after the first pass, most often
launches that are not as predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import (
    EXPECTED_CYCLES,
    AssistedDesign,
    Compared,
    Engine,
    ErrorBudget,
    Estimate,
    enough_validations,
    replay_error,
    state_error,
    trajectory_error,
)
from kernelpoint.journal import FurtherValidationsRecord, Outcome
from kernelpoint.planning.validation_launches import (
    DEEPEST_UNKNOWN,
    MOST_COST,
    MOST_VALIDATED,
    ValidationChain,
    always_deepest,
    choose,
    dependence_of,
    first_number,
    shortest_list,
)
from kernelpoint.ratios import ACTIVE_CYCLES, RATIOS
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.orders import (
    KEPT,
    REPLAYED,
    SIMULATE,
    Answer,
    Order,
    Orders,
    Planned,
    check_counters,
    not_in_flight,
)
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.verdict import OF_MEAN
from kernelpoint.simulators import MISPREDICTIONS, OF_TOTAL, CoreModel, simulator_of

OF_TRAJECTORIES = (
    "the full run differs from the mean of all equally likely full runs as replications of the model of the cores do"
)
OF_DEEPEST = f"the simulator restores the state that launches more than {DEEPEST_UNKNOWN} before one leave"
MOST_EXTENSIONS = 2
# Model: times as many validation launches where predictors learn: most pairs agree to the last cycle, and a wrong state of a
# predictor shows in few
OF_TRAJECTORIES_MORE = 3
MOST_GROWTH = 4  # times as many: one or two validation launches say little of how many are needed


# ---- runs that make validation launches --------------------------------------------------------------------------------


def needs_validation(setup: Setup) -> bool:
    """True if the run simulates validation launches (launches simulated twice to measure the error of restored caches). Such a
    run states a bound, skips launches, and has a simulator that can restore caches.
    """
    return setup.budget.bound != "none" and not setup.is_full_run and not why_not_checked(setup)


def why_not_checked(setup: Setup) -> str:
    """Reason why the run cannot estimate its replay error (the error due to restored caches); empty text if it can."""
    if setup.host.executes and not setup.host.restores_state:
        return "this simulator runs skipped launches functionally, which leaves caches as the last simulated launch left them"
    if setup.config.replay.state == "empty":
        return "each launch begins from empty caches"
    if not setup.host.restores_state:
        return "this simulator does not restore the state between launches"
    if setup.host.not_replayed:
        return f"with {setup.host.not_replayed} a full run keeps state that is not replayed"
    if setup.host.process_count > 1 or setup.host.concurrent:
        return "launches of several applications have no real state of their own"
    if setup.host.predictor[0] > 0 and not has_trajectories(setup):
        return "branch predictors learn during the whole run, which validation launches cannot show"
    if setup.config.replay.validation == 0:
        return "replay.validation is 0"
    if setup.plan is None:
        return "no list named the launches before the run"
    if setup.plan.program.listed is not None:
        return "the launches between those that were traced are not known, so neither is the state that they leave"
    if setup.plan.program.size < shortest_list(setup.config.replay) and not has_trajectories(setup):
        return "the list is too short for validation launches"
    return ""


def has_trajectories(setup: Setup) -> bool:
    """True if the predictions include how far each launch varies between equally likely simulations of the list."""
    predictions = {} if setup.plan is None else setup.plan.design.computed
    return OF_TOTAL in predictions and setup.budget.counter == "cycles"


# ---- the orders -----------------------------------------------------------------------------------------------------


class Validation(Orders):
    """Orders for chains of consecutive launches. The last launch of a chain, the validation launch, is simulated here after its
    real predecessors and in the sample with restored caches; the difference shows the error of restoring.

    Args:
        setup: configuration and launches of the run.
        sample: sample of the run before its first pass.
        initial_states: cache state in which launches begin.

    Attributes:
        chains: all chains that may be simulated, in order.
        count: number of chains that the run will simulate, as known so far.
    """

    def __init__(self, setup: Setup, sample: Sample, initial_states: InitialStates) -> None:
        plan = sample.plan
        super().__init__(plan.program.offsets, setup.host.executes)
        self._setup, self._plan, self._sample, self._initial_states = setup, plan, sample, initial_states
        replay, budget = setup.config.replay, setup.budget
        self._first = first_number(replay, plan.design, budget.targets, budget.confidence)
        if replay.validation == "auto" and has_trajectories(setup):
            self._first = min(OF_TRAJECTORIES_MORE * self._first, MOST_VALIDATED)
        self.chains: list[ValidationChain] = []
        self.count = self._extensions = self._position = 0
        self._failed: set[int] = set()
        self._copied: set[int] = set()  # positions of results of an earlier run
        self._results: dict[int, dict[str, float]] = {}  # by position in the steps
        self._checked: tuple[tuple[Engine, int, int, int], ReplayCheck] | None = None  # the last outcome, and what it is of
        self._awaits_results = has_trajectories(setup)  # of the first pass, which decide what is validated
        if self._awaits_results:
            self._order_first(0)
        else:
            self._choose(self._first)

    def _choose(self, count: int) -> None:
        """Choose the chains, and order the first `count` of them. Surprises are differences from the predictions."""
        setup, design, engine = self._setup, self._plan.design, self._sample.engine
        drawn, surprises = engine.drawn(), None
        if self._awaits_results and isinstance(design, AssistedDesign):
            drawn = drawn[[self._sample.is_exact(unit) for unit in drawn.tolist()]]
            cycles = engine.predict(drawn, ["cycles"])[:, 0]
            surprises = np.abs(cycles - design.known["cycles"].of_draw(drawn)) / np.maximum(cycles, 1.0)
        most = MOST_VALIDATED if setup.config.replay.validation == "auto" else self._first
        shares = self._initial_states.shares_left if setup.host.can_replay else always_deepest
        cost = math.inf if setup.host.keeps_l1 or not setup.host.can_replay else MOST_COST
        self.chains = choose(setup.config.seed, design, engine, drawn, most, shares, cost, surprises)
        self._awaits_results = False
        self._order_first(count)

    def _order_first(self, count: int) -> None:
        """Order the first `count` chains, those that were made included."""
        self.count = min(count, len(self.chains))
        self._steps = [
            (number, Order(0, launch, KEPT if launch > chain.launches[0] else REPLAYED))
            for number, chain in enumerate(self.chains[: self.count])
            for launch in chain.launches
        ]
        self._order_next()

    @property
    def made(self) -> int:
        """Number of launches of chains that have been simulated."""
        return len(self._results)

    @property
    def remaining(self) -> int:
        """Number of launches of chains that still have to be simulated."""
        return len(self._steps) - self._position

    def _order_next(self) -> None:
        """Order the next launch, unless its chain has failed."""
        while self.remaining and self._steps[self._position][0] in self._failed:
            self._position += 1
        self.begin([self._steps[self._position][1].launch] if self.remaining else [])

    def order(self, unit: int) -> Order:
        """Order for the next launch of a chain. It continues with the caches of the launch before it; the first one begins with
        restored caches.
        """
        return self._steps[self._position][1]

    def answer(self, unit: int) -> Answer:
        """Answer to the simulator: simulate the launch if it is the next of the chain, else skip it. The journal does not
        record it.
        """
        if self._is_open[unit]:
            self.in_flight.add(unit)
        answer = super().answer(unit)
        return answer._replace(uncounted=int(answer.action == SIMULATE))

    def planned(self) -> list[Planned]:
        """Work for idle workers: chains that have not begun, then the launches of the first sample."""
        chains: dict[int, list[Order]] = {}
        for number, order in self._steps[self._position :]:
            if tuple(self.chains[number].launches) in self._setup.earlier.of_chain:
                continue
            if number not in self._failed and (order.state == REPLAYED or number in chains):
                chains.setdefault(number, []).append(order)  # else its chain has begun already
        ordered = {order for chain in chains.values() for order in chain}
        costs = [self._plan.expected_costs(np.array([order.launch for order in chain])) for chain in chains.values()]
        mine = [Planned(tuple(chain), float(cost.sum())) for chain, cost in zip(chains.values(), costs, strict=True)]
        self._sample.begin(self._sample.engine.wanted())  # of the pass that follows
        return mine + [plan for plan in self._sample.planned() if ordered.isdisjoint(plan.chain)]

    def result(self, unit: int, counters: dict[str, float], stopped: bool) -> Outcome:
        if stopped:
            raise HostError(f"the simulator stopped launch {unit} before its end, although it was to continue")
        expected = tuple(next(iter(self._results.values()), ())) or self._setup.host.counters
        check_counters(unit, counters, expected, self._setup.budget.counter)
        return self._result(counters)

    def copy(self, unit: int) -> Outcome | None:
        """Journal record of the launch's result in an earlier run, if that run simulated the whole chain; else None."""
        number, _ = self._steps[self._position]
        results = self._setup.earlier.of_chain.get(tuple(self.chains[number].launches))
        return None if results is None else self._result(results[unit], copied=True)

    def _result(self, counters: dict[str, float], copied: bool | None = None) -> Outcome:
        number, order = self._steps[self._position]
        state: Literal["kept", "replayed"] = "replayed" if order.state else "kept"
        return Outcome(0, order.launch, counters=counters, copied=copied, validation=number, state=state)

    def apply(self, record: Outcome) -> str:
        """Store the result of a launch in a chain; after a failure the chain is given up. Then continue with the next
        launch.
        """
        number, order = self._steps[self._position] if self.remaining else (None, None)
        if record.counters:
            if order is None or (order.launch, number) != (record.launch, record.validation):
                raise HostError(
                    f"launch {record.launch}: got a result of validation {record.validation}, which was not planned"
                )
            self._results[self._position] = record.counters
            if record.copied:
                self._copied.add(self._position)
        elif number is None:
            raise not_in_flight(record.process, record.launch)
        else:
            self._failed.add(number)
        self.in_flight.clear()
        self._position += 1
        self._order_next()
        return ""

    def take_results(self, counters: Sequence[str], results: np.ndarray) -> None:
        # Restored caches show no error then
        for position in range(self._position, len(self._steps)):
            launch = self._steps[position][1].launch
            self._results[position] = dict(zip(counters, results[launch].tolist(), strict=True))
        self._position = len(self._steps)
        self._order_next()

    def forget_in_flight(self) -> None:
        """Begin the chain again, because the simulator process with the caches of its earlier launches has ended."""
        super().forget_in_flight()
        while self.remaining and self._steps[self._position][1].state == KEPT:
            self._position -= 1
            self._results.pop(self._position, None)
        self._order_next()

    # ---- the error of replay ----------------------------------------------------------------------------------------

    def replay_check(self) -> ReplayCheck:
        """Error of each counter due to restored caches, from the launches that were simulated both with restored and with real
        caches.
        """
        sample = self._sample
        state = sample.engine, sample.pass_index, sample.results, len(self._results)
        if self._checked is None or self._checked[0] != state:
            self._checked = state, self._check()
        return self._checked[1]

    def _check(self) -> ReplayCheck:
        """Compare launches with restored caches with the same launches in a full run."""
        sample, engine, confidence = self._sample, self._sample.engine, self._setup.budget.confidence
        simulated = len(self._results.keys() - self._copied)
        cycles = sum(counters["cycles"] for step, counters in self._results.items() if step not in self._copied)
        kept: dict[int, dict[str, float]] = {}  # of each validation launch with real caches, in the order of the choice
        for position, counters in self._results.items():
            number, order = self._steps[position]
            if order.launch == self.chains[number].launches[-1]:
                kept[order.launch] = counters
        units = np.array([unit for unit in kept if sample.is_exact(unit)], dtype=np.int64)
        if not len(units):
            return ReplayCheck(cycles=cycles, simulated=simulated, reason="too few validation launches could be simulated")
        chances = {chain.launches[-1]: chain.chance for chain in self.chains}
        drawn = engine.drawn()
        weights, replayed = engine.sampling.expansions(units), engine.predict(units)
        of_drawn, values = engine.sampling.expansions(drawn), np.nan_to_num(engine.predict(drawn))
        by_name = dict(zip(engine.counters, values.T, strict=True))
        mean = float(np.average(dependence_of(by_name, len(drawn)), weights=of_drawn * np.maximum(by_name["cycles"], 1.0)))
        of_pairs = dependence_of(dict(zip(engine.counters, np.nan_to_num(replayed).T, strict=True)), len(units))
        errors = {}
        for column, name in enumerate(engine.counters):
            of_cycles = float(name in ("cycles", ACTIVE_CYCLES))
            amounts = of_drawn * np.maximum(values[:, column], 1.0)
            compared = Compared(
                weights * np.array([kept[unit].get(name, 0.0) for unit in units.tolist()]),
                weights * replayed[:, column],
                np.array([chances[unit] for unit in units.tolist()]),
                of_pairs,
                mean,
                len(drawn),
                weights * EXPECTED_CYCLES * of_cycles,
                float(((EXPECTED_CYCLES * of_drawn * of_cycles) ** 2).sum() / amounts.sum() ** 2),
            )
            errors[name] = replay_error(compared, confidence)
        if ACTIVE_CYCLES in errors:  # both differ by a constant, so the error is that of the others
            active = errors[ACTIVE_CYCLES]
            part = float(of_drawn @ by_name[ACTIVE_CYCLES]) / max(float(of_drawn @ by_name["cycles"]), 1.0)
            errors["cycles"] = Estimate.of(part * active.estimate, part * active.half_width)
        check = ReplayCheck(errors, cycles, simulated, validations=len(units))
        if has_trajectories(self._setup):
            return self._with_trajectories(check, self._state_error())
        return replace(check, assumption=OF_DEEPEST) if self._setup.host.restores else check

    def _state_error(self) -> Estimate:
        """Error caused by wrongly restored caches and branch predictors, estimated from the events of the drawn launches."""
        engine, design = self._sample.engine, self._plan.design
        events = {name: of for name, of in self._core_model().state_events.items() if name in engine.counters}
        if not events or not isinstance(design, AssistedDesign):
            return Estimate.of(0.0, 0.0)
        units = engine.drawn()
        units = units[(engine.results.rows[units] >= 0) & (design.groups[units] >= 0)]
        cycles, *counts = engine.predict(units, ["cycles", *events]).T
        predicted, *expected = (design.known[name].of_draw(units) for name in ("cycles", *events.values()))
        weights, size = engine.sampling.expansions(units), self._plan.program.size
        return state_error(
            cycles, predicted, np.array(counts), np.array(expected), weights, size, self._setup.budget.confidence
        )

    def _core_model(self) -> CoreModel:
        """Model of the simulator's cores that made the predictions."""
        model = simulator_of(self._plan.program.traces).cores
        assert model is not None, "a model of the cores made these predictions"
        return model

    def _with_trajectories(self, check: ReplayCheck, state: Estimate) -> ReplayCheck:
        """Add the errors that validation launches cannot show: long-lived state, and the scatter of equally likely full
        runs.
        """
        host, model, predictions = simulator_of(self._plan.program.traces), self._core_model(), self._plan.design.computed
        budget, of_mean = self._setup.budget, self._setup.config.replay.total == "mean"
        scatter = trajectory_error(predictions["cycles"], predictions[OF_TOTAL], model.replications, budget.confidence, of_mean)
        of_pairs = check.errors["cycles"]
        cycles = Estimate.of(
            abs(of_pairs.estimate) + abs(state.estimate),
            math.hypot(of_pairs.half_width, state.half_width, scatter.half_width),
        )
        warning = ""
        if self._setup.host.predictor[0] and MISPREDICTIONS not in self._sample.engine.counters:
            warning = (
                f"this build of {host.title} does not report {MISPREDICTIONS}, so errors of replayed branch predictors are not "
                f"in the bound: patch it again (kernelpoint patch {host.name} CHECKOUT) and build it"
            )
        assumption = OF_MEAN if of_mean else OF_TRAJECTORIES
        return replace(check, errors={**check.errors, "cycles": cycles}, assumption=assumption, warning=warning)

    def further(self) -> FurtherValidationsRecord | None:
        """Journal record of the decision to simulate more validation launches, so that enough of the error budget remains for
        sampling; None if no more are needed or allowed.
        """
        if self._awaits_results and self._sample.results:
            return FurtherValidationsRecord(self._sample.pass_index, self._first)
        if self._extensions == MOST_EXTENSIONS or self.count == len(self.chains) or not self._sample.is_complete:
            return None
        check = self.replay_check()
        more = max(self._lacking(check, target) for target in self._setup.budget.each())
        return FurtherValidationsRecord(self._sample.pass_index, self.count + more) if more else None

    def _lacking(self, check: ReplayCheck, budget: ErrorBudget) -> int:
        """Number of further validation launches that one target needs."""
        names = RATIOS.get(budget.counter, (budget.counter,))
        errors = [check.errors[name] for name in names if name in check.errors]
        if not errors:
            return 0
        error = Estimate.of(sum(abs(e.estimate) for e in errors), sum(e.half_width for e in errors))
        n, eps = check.validations, budget.relative_error
        most = min(n + len(self.chains) - self.count, MOST_GROWTH * n)
        return enough_validations(error, n, eps, budget.confidence, most) - n

    def extend(self, record: FurtherValidationsRecord) -> None:
        """Add chains with further validation launches."""
        if self._awaits_results:
            self._choose(record.validations)
        else:
            self._extensions += 1
            self._order_first(record.validations)


@dataclass(frozen=True)
class ReplayCheck:
    """Estimated errors of a run due to restored caches.

    Attributes:
        errors: relative error of each counter's total, by counter.
        cycles, simulated: cycles and number of launches that were simulated to measure the errors.
        reason: reason why no errors could be measured, or empty.
        assumption: assumption behind the errors, or empty.
        validations: number of launches that were compared.
        warning: sentence on errors that this comparison cannot show, or empty.
    """

    errors: dict[str, Estimate] = field(default_factory=dict)
    cycles: float = 0.0
    simulated: int = 0
    reason: str = ""
    assumption: str = ""
    validations: int = 0
    warning: str = ""
