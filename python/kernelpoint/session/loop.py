"""A run from its first launch to its last estimate. Read this file first.

A run is one generator. It orders launches, yields while the simulator has some left, and goes on when each has its outcome.
Decisions and outcomes are records: `accept` writes one to the journal and applies it. Records come from the simulator through
session.py, from the workers of a coordinator, and from kernelpoint.simulate.

A run that goes on after a kill is the same generator. It takes the records of the journal first (`_outcomes`), and steps of
its own as the journal has them (`_recalled`), and writes neither again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar, cast

import numpy as np

from kernelpoint.errors import HostError, JournalError, PlanError, SessionError
from kernelpoint.estimation import Design
from kernelpoint.journal import (
    DecisionRecord,
    DegradedRecord,
    FurtherValidationsRecord,
    LeftOutRecord,
    LookRecord,
    Outcome,
    PassRecord,
    PopulationRecord,
    Record,
    ResumeRecord,
)
from kernelpoint.planning.making import PlanInputs, origin_of
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.range_targets import widths
from kernelpoint.progress import silent
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.orders import OnlinePass, Orders
from kernelpoint.session.recorder import Recorder, describe
from kernelpoint.session.sample import Sample
from kernelpoint.session.setup import Setup
from kernelpoint.session.statement import Statement
from kernelpoint.session.validation import ReplayCheck, Validation, needs_validation, why_not_checked

# Steps of the loop in the journal. All other records are decisions, outcomes, and incidents in between.
STEPS = (PassRecord, LookRecord, FurtherValidationsRecord, PopulationRecord)
LoopStep = TypeVar("LoopStep", PassRecord, LookRecord, FurtherValidationsRecord, PopulationRecord)
Steps = Generator[None, None, None]


class Loop:
    """Control loop of a run: passes (rounds of sampling) until the error budget is met, each followed by an estimate.

    Args:
        setup: configuration, simulator, launches and plan, fixed when the run opens.
        recorder: writer of the journal; in a resumed run also the source of the earlier records.
        initial_states: cache state in which launches begin.

    Attributes:
        orders: the launches that the run waits for now: `sample`, `validation`, or the first pass of an online run.
        validation: orders of the launches that measure the error of restored caches; None for a run without them.
        sample: the launches drawn, and their results.
        is_done: True when the run has ended.
    """

    sample: Sample

    def __init__(self, setup: Setup, recorder: Recorder, initial_states: InitialStates) -> None:
        self._setup, self._recorder, self._initial_states = setup, recorder, initial_states
        self.validation: Validation | None = None
        self.is_done = False
        if setup.plan is None:
            self.orders: Orders = OnlinePass(setup.host.launch_counts)
        else:
            self._prepare(setup.plan)

    def _prepare(self, plan: Plan) -> None:
        """Prepare the run when its launches are known: draw the sample, begin the first pass."""
        self.orders = self.sample = Sample(self._setup, plan)
        if needs_validation(self._setup):
            self.validation = Validation(self._setup, self.sample, self._initial_states)

    def run(self) -> Steps:
        """Iterator over the steps of the whole run; it pauses wherever results of launches are needed."""
        recorder = self._recorder
        if isinstance(self.orders, OnlinePass):
            yield from self._list_launches(self.orders)
        sample, validation = self.sample, self.validation
        if validation is not None and validation.remaining:
            yield from self._validate(validation)
        if not self.next_is_step():  # a resumed run has said it before
            for unit, why in sorted(sample.plan.unreadable.items()):
                process, index = sample.place(unit)
                recorder.degrade(
                    f"launch {index} of process {process} is ordered for certain and tried at most twice, "
                    f"because its trace cannot be read: {why}"
                )
        while True:
            # A pass orders the launches that the sample lacks.
            if (recorded := self._recalled(PassRecord)) is not None:
                sample.pass_index = recorded.pass_index
                sample.begin_pass(recorded.state or {})
            elif recorder.is_resuming:
                raise recorder.misplaced()
            else:
                sample.begin_pass()
                recorder.write(PassRecord(sample.pass_index, sample.open_count, sample.engine.sampling.pass_state()))
                recorder.pass_begins(sample.pass_index, sample.open_count, sample.plan.program.size)
            yield from self._outcomes(sample)
            # Before the interim analysis, because the error of replay is part of every bound that it states.
            while validation is not None:
                further = self._recalled(FurtherValidationsRecord)
                if further is None and not recorder.is_resuming:
                    further = validation.further()
                if further is None:
                    break
                recorder.write(further)
                validation.extend(further)
                yield from self._validate(validation)
            if not self._end_pass():  # its docstring names the ends
                self.is_done = True
                return
            sample.pass_index += 1

    def _end_pass(self) -> bool:
        """Interim analysis: estimate, and draw more where the error budget is not met. True if another pass follows.

        The run ends here where

        - `Engine.look` ends the growth: the error budget is met, or no larger sample would meet it (then `Sample.grow` returns
          False);
        - the sample cannot grow (`Sample.grow`): all launches are drawn, at the latest at look `MOST_LOOKS` (a pass with
          missing results makes no look); the policy draws none at random, or `bound: none`; other errors use up the budget; or
          the next pass wants a launch that was not traced;
        - a launch failed for good that the policy cannot leave out, or before any has a result.

        It ends elsewhere where the journal cannot be written, with `on_error: abort` (`Recorder`), by `Session.finish`, called
        early, and where the simulator ends it, at its limit or a signal. Launches without a result and further
        validations come first.
        """
        sample, recorder, setup = self.sample, self._recorder, self._setup
        # A run that goes on follows its journal: its passes were drawn for the error budget of then.
        recorded = self._recalled(LookRecord)
        if recorded is None and recorder.is_resuming:  # without an estimate, as launches were missing
            return True
        failed = sample.failed_for_good() if recorded is None else []
        if failed and not (sample.results > 0 and self._leave_out(failed)):
            return False
        try:
            if recorded is not None or sample.is_complete:  # a look is taken again: the error budget may have changed
                sample.engine.systematic.set(self._replay_check().errors)
                look = sample.look = sample.engine.look()
                recorder.write(LookRecord(sample.pass_index, bool(look.met), look.estimates, look.ratios))
                ranges = widths(setup.config, look.ranges)
                recorder.looked(look, sample.pass_index, setup.budget, ranges, bool(setup.withdrawing))
            if self.next_is_step():
                return True
            another_pass = not sample.is_complete or sample.grow()
            if another_pass and sample.pass_index == 0:
                recorder.say(*sample.engine.systematic.beyond_budget())
            recorder.say(*sample.warnings)
            return another_pass
        except (SessionError, JournalError):
            raise
        except Exception as error:  # noqa: BLE001 - the failure rule: a policy's failure must not skip launches
            return self._simulate_everything(error)

    # ---- orders and outcomes ----------------------------------------------------------------------------------------

    def _outcomes(self, orders: Orders) -> Steps:
        """Wait for the outcomes of ordered launches: until the simulator asks for a launch, and none is left."""
        self.orders = orders
        if not self.next_is_step():
            yield

    def accept(self, record: Record) -> None:
        """Write a decision on a launch, or its result, to the journal, and then apply it to the state of the run."""
        self._recorder.write(record)
        self.apply(record)

    def apply(self, record: Record) -> None:
        """Update the state of the run from a journal record of a decision, a result or a failure."""
        match record:
            case DecisionRecord():
                self.orders.start(record)
            case Outcome():
                if failure := self.orders.apply(record):
                    self._recorder.degrade(failure)
                elif record.is_result:
                    self._recorder.completed(self.sample.results, self.sample.open_count)
            case LeftOutRecord():
                self.sample.leave_out(record.launches)
            case DegradedRecord():
                self._recorder.degraded.append(record.reason)
                if record.everything:
                    self.sample.simulate_everything()
            case ResumeRecord() if self._recorder.is_resuming:
                self.orders.forget_in_flight()
            case ResumeRecord():
                self._go_on(record)

    def next_is_step(self) -> bool:
        """Apply the journal's records of launches up to the next record of another step, such as the beginning or the end of a
        pass (round of sampling). Returns False at the end of the journal, from where this process continues the run.
        """
        past = self._recorder.past
        while past and not isinstance(past[0], STEPS):
            try:
                self.apply(self._recorder.pop())
            except HostError as error:
                raise self._recorder.damaged(error) from None
        return bool(past)

    def _recalled(self, step: type[LoopStep]) -> LoopStep | None:
        """Next step of the run in the journal, if it is the expected one; else None."""
        if self.next_is_step() and isinstance(self._recorder.past[0], step):
            return cast(LoopStep, self._recorder.pop())
        return None

    def _go_on(self, record: ResumeRecord) -> None:
        """Continue after the end of the journal. A launch that ended the previous process, and whose trace is
        unreadable, is left out.
        """
        self._recorder.say(f"resumed from {self._recorder.path}: {record.results:,} launches have their results")
        self._recorder.deferred = record  # a run that was complete leaves its journal as it is
        in_flight = set(self.orders.in_flight)
        self.orders.forget_in_flight()
        if not isinstance(self.orders, Sample):
            return
        ended = sorted(in_flight & self.sample.plan.unreadable.keys())
        if ended and self._leave_out(ended):
            self._recorder.degrade(f"{self._places(ended)} left out: the simulator ended in it, and its trace cannot be read")
        if (failed := self.sample.failed_for_good()) and self._leave_out(failed):
            self._recorder.degrade(f"{self._places(failed)} left out: the simulator ended in it, or in two that are alike")
        if self.sample.open_count:
            self._recorder.pass_begins(self.sample.pass_index, self.sample.open_count, self.sample.plan.program.size)

    def _places(self, units: list[int]) -> str:
        """Subject of the sentence on launches that are left out: their places, or their number."""
        if len(units) > 5:
            return f"{len(units)} launches are"
        return "launch " + ", ".join(str(self.sample.place(unit)[1]) for unit in units) + " is"

    # ---- steps ------------------------------------------------------------------------------------------

    def _list_launches(self, online: OnlinePass) -> Steps:
        """Find the launches, if they are not known beforehand; then plan."""
        setup, recorder = self._setup, self._recorder
        if self._recalled(PassRecord) is None:
            recorder.write(PassRecord(0))
        recorder.say("pass 0: no list names the launches before the run, so this pass simulates nothing and only reads traces")
        yield from self._outcomes(online)
        recorded = self._recalled(PopulationRecord)
        try:
            inputs = PlanInputs.of(setup.config, setup.policy, online.program(setup.config.seed))
            plan = inputs.make(recorder.say_plainly)
        except Exception as error:  # noqa: BLE001 - the failure rule: whatever goes wrong, no launch is skipped
            what = f"no plan could be made: {type(error).__name__}: {error}"
            recorder.degrade(f"{what}; every launch is simulated")
            plan = self._plan_of_each(online)
        if recorded is None:
            path: str | None = f"{recorder.path}.kpplan"  # for reports
            try:
                plan.save(str(path))
            except PlanError as error:
                recorder.say(str(error))
                path = None
            assert plan.strata_record is not None, "a list that is not known beforehand has no predictions"
            named = setup.record().hashes  # in the journal already
            hashes: dict[str, str | None] = {name: value for name, value in plan.hashes.items() if name not in named}
            recorder.write(PopulationRecord(list(plan.program.counts), path, hashes, plan.strata_record))
        elif recorded.hashes.get("design") != plan.hashes["design"]:
            raise JournalError(
                f"{recorder.path}: the traces have changed since this run began: hashes.design was "
                f"{recorded.hashes.get('design')}, and is {plan.hashes['design']}; start a new run with another `journal:`"
            )
        self._prepare(plan)
        self.sample.pass_index = 1

    def _plan_of_each(self, online: OnlinePass) -> Plan:
        """Plan that simulates each of the launches reported so far; no launch represents another."""
        program = online.program(self._setup.config.seed)
        origin = origin_of(self._setup.config, self._setup.policy, program, frozenset())
        return Plan(program, Design.take_all(program.u), origin)

    def _validate(self, validation: Validation) -> Steps:
        """Simulate validation launches, to estimate the error of replay."""
        further = "further " if validation.made else ""
        self._recorder.say(f"{validation.remaining:,} {further}launches for validation, to measure the replay error")
        yield from self._outcomes(validation)

    def _leave_out(self, units: list[int]) -> bool:
        """Continue without launches that failed for good; False if the run must end because of them."""
        if can_go_on := self.sample.can_leave_out(units):
            self.accept(LeftOutRecord(self.sample.pass_index, list(map(self.sample.place, units))))
        return can_go_on

    def _simulate_everything(self, error: Exception) -> bool:
        """No estimate could be made: simulate every launch that is left. False where launches have no trace."""
        if not self.sample.plan.program.size > self.sample.results:
            raise SessionError(f"the total over the simulated launches could not be computed: {describe(error)}") from error
        what = f"no estimate could be made at the end of pass {self.sample.pass_index}: {describe(error)}"
        if self.sample.plan.program.listed is not None:
            self._recorder.degrade(f"{what}; launches that were not traced cannot be simulated")
            self.sample.look = None
            return False
        self._recorder.degrade(f"{what}; every launch that is left is simulated", everything=True)
        self.sample.simulate_everything()
        return True

    def _replay_check(self) -> ReplayCheck:
        """Replay error of the sample's results, measured by validation launches where the run makes some."""
        if self.validation is None:
            return ReplayCheck(reason=why_not_checked(self._setup))
        return self.validation.replay_check()

    # ---- the end ----------------------------------------------------------------------------------------------------

    def statement(self) -> Statement:
        """Final statement of the run: estimates, bounds and counts. It has no estimate if the run ended inside a pass."""
        if isinstance(self.orders, OnlinePass):
            self._prepare(self._plan_of_each(self.orders))
        return Statement(self._setup, self.sample, self._replay_check(), self._recorder.degraded, self.is_done)


def run_with_results(
    setup: Setup, counters: Sequence[str], results: np.ndarray, initial_states: InitialStates | None = None
) -> Loop:
    """Make a whole sampled run without a simulator, from a table with the result of every launch.

    Forecasts of a run's cost and comparisons of sampling methods use it.

    Args:
        setup: configuration, launches and plan of the run.
        counters: names of the columns of `results`.
        results: float64 [N, counters], counters of each of the N launches.
        initial_states: cache state in which launches begin; None for a run that does not measure the error of restored caches.

    Raises:
        SessionError: an estimate could not be made, or a trace could not be read.
    """
    recorder = Recorder(None, silent, stops_at_errors=True)
    loop = Loop(setup, recorder, initial_states or InitialStates(setup.host, silent, plan=setup.plan))
    for _ in loop.run():
        loop.orders.take_results(counters, results)
    return loop
