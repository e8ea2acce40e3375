"""A run from its first launch to its last estimate. Read this file first.

A run is one generator. It yields orders, launches that it waits for, and goes on when each of them has its outcome. The
simulator takes launches from the present orders and returns outcomes, through session.py. So do the workers of a
coordinator, and kernelpoint.simulate. An outcome is a record of the journal.

A run that goes on after a kill is the same generator. It receives the outcomes of the journal before new ones. Where the
journal holds a step of the loop (recorder.recalled), the loop takes that step as it was and does not write it again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from kernelpoint.errors import JournalError, PlanError, SessionError
from kernelpoint.journal import (
    AbortRecord,
    DecisionRecord,
    DegradedRecord,
    FurtherValidationsRecord,
    LaunchesRecord,
    LeftOutRecord,
    LookRecord,
    PassRecord,
    PopulationRecord,
    RangeRecord,
    Record,
    ResumeRecord,
    SummaryRecord,
)
from kernelpoint.planning.frame import SamplingFrame
from kernelpoint.planning.range_targets import widths
from kernelpoint.session.census import Census
from kernelpoint.session.orders import Orders, Outcome
from kernelpoint.session.recorder import Recorder, describe
from kernelpoint.session.sample import Sample
from kernelpoint.session.sampled_launches import MAX_ATTEMPTS, SampledLaunches
from kernelpoint.session.setup import Setup
from kernelpoint.session.statement import launches_records, look_record, range_records, summarise, without_bounds
from kernelpoint.session.validation import ReplayCheck, Validation, check_without_validation, needs_validation


class Loop:
    """The steps of a run.

    Args:
        setup: the fixed inputs of the run.
        recorder: takes the records of the run, and has those of the journal that is gone on with.

    Attributes:
        orders: the launches that the run waits for.
        sample: the launches drawn and their results.
        is_done: the run's end.
        census, validation: None in a run that makes none.
    """

    frame: SamplingFrame
    sample: Sample
    sampled: SampledLaunches

    def __init__(self, setup: Setup, recorder: Recorder) -> None:
        self._setup, self._recorder = setup, recorder
        self.census: Census | None = None
        self.validation: Validation | None = None
        self.is_done = False
        if setup.frame is None:
            self.orders: Orders = Census(setup)
            self.census = self.orders
        else:
            self._prepare(setup.frame)

    def _prepare(self, frame: SamplingFrame) -> None:
        """The launches are known."""
        self.frame = frame
        self.sample = Sample(self._setup, frame)
        self.orders = self.sampled = SampledLaunches(self._setup, frame, self.sample)
        if needs_validation(self._setup):
            self.validation = Validation(self._setup, frame, self.sample.engine, self.sampled.first_chains)

    def run(self) -> Generator[Orders, Outcome | None, None]:
        """The whole run."""
        if self.census is not None:
            yield from self._take_census(self.census)
        if self.validation is not None:
            yield from self._validate(self.validation)
        self._report_unreadable_traces()
        while True:
            self._begin_pass()
            yield from self._outcomes(self.sampled)
            # Before the interim analysis, because the error of replay is part of every bound that it states.
            while self.validation is not None and self._needs_more(self.validation):
                yield from self._validate(self.validation)
            if not self._end_pass():  # the error budget is met, or the sample cannot grow
                self.is_done = True
                return

    def _outcomes(self, orders: Orders) -> Generator[Orders, Outcome | None, None]:
        """Take the outcomes of ordered launches until None comes: the simulator asks for a launch, and none is left."""
        self.orders = orders
        while (outcome := (yield orders)) is not None:
            if failure := orders.take(outcome):
                self._recorder.degrade(failure)
            elif orders is self.sampled and not isinstance(outcome, AbortRecord):
                self._recorder.progress.completed(self.sample.results, self.sampled.ledger.open_count)

    # ---- before the sample ------------------------------------------------------------------------------------------

    def _take_census(self, census: Census) -> Generator[Orders, Outcome | None, None]:
        """Find the launches, if they are not known beforehand; then plan."""
        if self._recorder.recalled(PassRecord) is None:
            self._recorder.write(PassRecord(0))
        self._recorder.progress.say(
            "pass 0: launches are not known beforehand, so the first pass only reads their traces"
        )
        yield from self._outcomes(census)
        told = self._recorder.recalled(PopulationRecord)
        frame = self._frame_of(census)
        if told is None:
            self._recorder.write(census.record(frame, self._saved_plan(frame)))
        elif told.hashes.get("design") != frame.hashes["design"]:
            raise JournalError(
                f"{self._recorder.path}: hashes.design: the journal has {told.hashes.get('design')}, this run "
                f"{frame.hashes['design']}: the traces have changed"
            )
        self._prepare(frame)
        self.sampled.pass_index = 1

    def _frame_of(self, census: Census) -> SamplingFrame:
        """The launches and their plan; where none can be made, every launch is simulated (the failure rule)."""
        try:
            return census.frame(self._recorder.progress.say_plainly)
        except Exception as error:  # noqa: BLE001 - the failure rule: whatever goes wrong, no launch is skipped
            what = f"no plan could be made: {type(error).__name__}: {error}"
            self._recorder.degrade(f"{what}; every launch is simulated")
            return census.frame_without_plan()

    def _saved_plan(self, frame: SamplingFrame) -> str | None:
        """The plan's file beside the journal, for reports; None where it cannot be written."""
        path = f"{self._recorder.path}.kpplan"
        try:
            frame.plan.save(path)
        except PlanError as error:
            self._recorder.progress.say(str(error))
            return None
        return path

    def _validate(self, validation: Validation) -> Generator[Orders, Outcome | None, None]:
        """Simulate validation launches, to estimate the error of replay."""
        further = "further " if self.sample.results else ""
        self._recorder.progress.say(
            f"{validation.open_count:,} {further}launches for validation, to measure the replay error"
        )
        yield from self._outcomes(validation)

    def _needs_more(self, validation: Validation) -> bool:
        """True if the sample shows that more validation launches are needed before it is looked at."""
        further = self._recorder.recalled(FurtherValidationsRecord)
        if further is None and not self._recorder.is_replaying:
            further = validation.further(self.sample, self.sampled.pass_index)
        if further is None:
            return False
        self._recorder.write(further)
        validation.extend(further)
        return True

    def _report_unreadable_traces(self) -> None:
        if self._recorder.awaits(PassRecord):  # it was done
            return
        for unit, why in sorted(self.frame.plan.broken.items()):
            process, launch = self.sampled.ledger.place(unit)
            self._recorder.degrade(
                f"launch {launch} of process {process} is simulated because its trace cannot be read: {why}"
            )

    # ---- passes -----------------------------------------------------------------------------------------------------

    def _begin_pass(self) -> None:
        """Orders the launches that the sample lacks."""
        sampled, sample = self.sampled, self.sample
        if (told := self._recorder.recalled(PassRecord)) is not None:
            sampled.begin(told.pass_index, self.sample.open_pass(told.state or {}))
            return
        self._recorder.write(PassRecord(sampled.pass_index, len(sample.wanted()), sample.pass_state()))
        sampled.begin(sampled.pass_index, self.sample.open_pass())
        self._say_pass_begins()

    def _say_pass_begins(self) -> None:
        count = self.sampled.ledger.open_count
        self._recorder.progress.pass_begins(self.sampled.pass_index, count, self.frame.population.size)

    def _end_pass(self) -> bool:
        """Interim analysis: estimate, and draw more where the error budget is not met. True if another pass follows."""
        # A run that goes on follows its journal: its passes were drawn for the error budget of then.
        told = self._recorder.recalled(LookRecord)
        if told is None and self._recorder.is_replaying:
            return self._next_pass()  # without an estimate, as launches were missing
        if told is None and not self._can_lack_lost():
            return False
        try:
            if told is not None or self.sample.is_complete:
                self._look()
            goes_on = self._recorder.awaits(PassRecord) or self._grow()
        except SessionError:
            raise
        except Exception as error:  # noqa: BLE001 - the failure rule: whatever goes wrong in a policy must not skip launches
            goes_on = self._simulate_everything(error)
        return goes_on and self._next_pass()

    def _next_pass(self) -> bool:
        self.sampled.pass_index += 1
        return True

    def _look(self) -> None:
        """Estimate from all results so far. A look of the journal is taken again: the error budget may have changed."""
        self.sample.set_systematic_errors(self._replay_check().errors)
        look = self.sample.take_look()
        self._recorder.write(look_record(self.sampled.pass_index, look))
        ranges = widths(self._setup.config, self.sample.ranges)
        self._recorder.progress.looked(
            look, self.sampled.pass_index, self._setup.budget, ranges, bool(self._setup.withdrawing)
        )

    def _grow(self) -> bool:
        """Draw more where the budget is not met; True if launches are to be simulated."""
        goes_on = not self.sample.is_complete or self.sample.grow()
        if goes_on and self.sampled.pass_index == 0:
            self._recorder.progress.say(*self.sample.engine.errors_beyond_budget())
        self._recorder.progress.say(*self.sample.warnings())
        return goes_on

    def _can_lack_lost(self) -> bool:
        """Leave out launches that failed as often as is allowed; False where the run has to end for them."""
        lost = self._lost()
        return not lost or (self.sample.results > 0 and self._leave_out(lost))

    def _lost(self) -> list[int]:
        """Launches that failed for good. Model: where two of a kernel and shape ended the simulator, all of them would."""
        ledger = self.sampled.ledger
        lost = set(ledger.lost())
        shapes = self.frame.plan.kernels_and_shapes() if lost & ledger.fatal else None
        if shapes is not None:
            kinds, times = np.unique(shapes[sorted(ledger.fatal)], return_counts=True)
            alike = np.flatnonzero(np.isin(shapes, kinds[(times >= MAX_ATTEMPTS) & (kinds >= 0)]))
            lost |= {unit for unit in alike.tolist() if not self.sample.has_result[unit]} - self.sample.left_out
        return sorted(lost)

    def _leave_out(self, units: list[int]) -> bool:
        """Go on without launches that failed for good; False where the run has to end for them."""
        if can_go_on := self.sample.can_lack(units):
            places = [self.sampled.ledger.place(unit) for unit in units]
            record = LeftOutRecord(self.sampled.pass_index, places)
            self._recorder.write(record)
            self.recall(record)
        return can_go_on

    def _simulate_everything(self, error: Exception) -> bool:
        """No estimate could be made: simulate every launch that is left. False where launches have no trace."""
        if not self.frame.population.size > self.sample.results:
            raise SessionError(f"a full run has no estimate: {describe(error)}") from error
        what = f"no estimate could be made at the end of pass {self.sampled.pass_index}: {describe(error)}"
        if self.frame.population.listed is not None:
            self._recorder.degrade(f"{what}; launches that were not traced cannot be simulated")
            self.sample.look = None
            return False
        self._recorder.degrade(f"{what}; every launch that is left is simulated", everything=True)
        self.sample.simulate_everything()
        return True

    # ---- a run that goes on -----------------------------------------------------------------------------------------

    def recall(self, record: Record) -> None:
        """Repeat a step that a record of the journal reports."""
        if isinstance(record, DecisionRecord):
            self.orders.recall(record)
        elif isinstance(record, DegradedRecord):
            self._recorder.degraded.append(record.reason)
            if record.everything:
                self.sample.simulate_everything()
        elif isinstance(record, LeftOutRecord):
            self.sample.leave_out(self.sampled.ledger.give_up(record.launches))
        elif isinstance(record, ResumeRecord):
            self.orders.forget_in_flight()

    def go_on(self) -> None:
        """The journal ends here. A launch that the process before ended in, and whose trace cannot be read, is left out."""
        if not isinstance(self.orders, SampledLaunches):
            self.orders.forget_in_flight()
            return
        ended = sorted(self.sampled.ledger.in_flight & self.frame.plan.broken.keys())
        self.orders.forget_in_flight()
        if ended and self._leave_out(ended):
            self._recorder.degrade(
                f"{self._places(ended)} left out: the simulator ended in it, and its trace cannot be read"
            )
        if (fatal := self._lost()) and self._leave_out(fatal):
            self._recorder.degrade(
                f"{self._places(fatal)} left out: the simulator ended in it, or in two that are alike"
            )
        if self.sampled.ledger.open_count:
            self._say_pass_begins()

    def _places(self, units: list[int]) -> str:
        """Begin of the sentence that units are left out; of many, their number."""
        if len(units) > 5:
            return f"{len(units)} launches are"
        return "launch " + ", ".join(str(self.sampled.ledger.place(unit)[1]) for unit in units) + " is"

    # ---- the end ----------------------------------------------------------------------------------------------------

    def summary(self) -> SummaryRecord:
        """Statement of the run at its end; no estimate where it ends earlier."""
        if self.census is not None and self.orders is self.census:
            self._prepare(self.census.frame_without_plan())
        look = self.sample.statement() if self.is_done else None
        return summarise(self._setup, self.sampled, self._replay_check(), look, self._recorder.degraded)

    def ranges(self, summary: SummaryRecord) -> list[RangeRecord]:
        """Record of each range, where the configuration names some; none where the summary states no estimate."""
        known = self._setup.ranges
        look = None if known is None or summary.estimate is None else self.sample.statement()
        if look is None or known is None:
            return []
        records = range_records(known, look, self.sample)
        return without_bounds(records) if self._setup.withdrawing else records

    def launches(self, summary: SummaryRecord) -> Iterator[LaunchesRecord]:
        """Estimates of every launch, before a summary that states one."""
        return launches_records(self.frame, self.sample) if summary.estimate is not None else iter(())

    def kernel_name(self, process: int, index: int) -> str | None:
        """The kernel name of a launch, where its trace was read."""
        if self.census is not None and self.orders is self.census:
            return None
        return self.frame.plan.name_of_unit(self.sampled.ledger.unit(process, index))

    def _replay_check(self) -> ReplayCheck:
        """Replay error of the sample's results, measured by validation launches where the run makes some."""
        if self.validation is None:
            return check_without_validation(self._setup)
        return self.validation.outcome(self.sample)
