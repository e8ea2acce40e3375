"""The phase that draws: passes over launches that are known, decided by a frozen design.

At the end of a pass the engine looks, and the run is done or the sample grows; never inside one (design, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kernelpoint.errors import HostError, SessionError
from kernelpoint.estimation import Look
from kernelpoint.journal import (
    AbortRecord,
    DecisionRecord,
    DegradedRecord,
    FurtherRunUpsRecord,
    LeftOutRecord,
    LookRecord,
    PassRecord,
    Record,
    ResultRecord,
    ResumeRecord,
    SummaryRecord,
    WarmupRecord,
)
from kernelpoint.session.courses import Courses
from kernelpoint.session.frame import Frame
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.intra_kernel import InsideKernel
from kernelpoint.session.phases.ahead import planned
from kernelpoint.session.phases.kept_state import KeptState
from kernelpoint.session.phases.ledger import Ledger
from kernelpoint.session.phases.phase import (
    BEFORE_FIRST,
    DONE,
    END_OF_LIST,
    OK,
    PENDING,
    SIMULATE,
    SKIP,
    Answer,
    MeasuresReplay,
    Phase,
    describe,
)
from kernelpoint.session.phases.sample import Sample
from kernelpoint.session.recorder import Recorder
from kernelpoint.session.replays import check_without_run_ups
from kernelpoint.session.setup import Setup
from kernelpoint.session.summary import Account, look_record, summarise
from kernelpoint.session.work import Planned


class Sampling:
    """Passes over the launches of a frame; see Phase for the methods.

    Args:
        setup: what is fixed; frame: the launches and their plan; recorder: takes records.
        screened: results of launches that a screening pass simulated, by unit; attempts: how often others of it failed.
        run_ups: compares results from the real state with those of the sample; None where the run makes none.

    Attributes:
        sample: the launches drawn and their results; ledger: what became of each launch of the pass; state: what launches
            begin with; done: the run's end.
    """

    def __init__(
        self,
        setup: Setup,
        frame: Frame,
        recorder: Recorder,
        screened: Mapping[int, Mapping[str, float]] | None = None,
        attempts: Mapping[int, int] | None = None,
        run_ups: MeasuresReplay | None = None,
    ) -> None:
        self.setup, self.frame, self.recorder = setup, frame, recorder
        self.sample = Sample(setup, frame)
        self.ledger = Ledger(frame.population.offsets, setup.config.warmup.launches)
        self.ledger.attempts |= attempts or {}
        courses = Courses(setup.host, frame.population, recorder.progress.say)
        self.inside = InsideKernel(setup.config.inside_kernel, setup.budget, courses.of, setup.is_full_run)
        self._run_ups, unchecked = run_ups, check_without_run_ups(setup)
        self._check = run_ups.outcome if run_ups else (lambda _: unchecked)
        self.state = KeptState(setup)
        self.done = False
        self.pass_index = self.warmups = 0
        self._warmup_cycles, self._was_screened = 0.0, screened is not None
        self._stands_at = "begin"  # or "pass", "run-ups", "look"
        for unit, counters in (screened or {}).items():
            self.sample.take(unit, counters)

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def decide(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """See Phase."""
        unit = self.ledger.unit(process, index)
        if unit not in self.ledger.in_flight:
            record = DecisionRecord(process, index, self.pass_index, self.ledger.action(unit))
            self.sample.explain(unit, record)
            self.recorder.write(record)
            self.apply(record)
            if record.action == "skip":
                return Answer(SKIP, self.pass_index)
        warms_up = self.ledger.is_warmup(unit)
        interval = 0 if warms_up else self.inside.follow(unit)
        return Answer(SIMULATE, self.pass_index, interval, self.state.of(unit, self.pass_index), int(warms_up))

    def next(self, process: int, after: int) -> tuple[int, int]:
        """See Phase; the launch is one to simulate."""
        if self.done:
            return DONE, -1
        self.ledger.unit(process, max(after, 0))
        if after != END_OF_LIST and (found := self.ledger.next_after(process, after)) is not None:
            return OK, found
        if (found := self.ledger.next_after(process, BEFORE_FIRST)) is not None:
            return OK, found
        if self.ledger.has_open():
            return PENDING, -1
        while not self.done and not self.ledger.has_open():  # a pass whose launches all have results is at its end
            if self._run_ups is not None and self._run_ups.extend(self.sample, self.pass_index):
                self._stands_at = "run-ups"
                return DONE, -1
            self._end_pass()
        return self.next(process, BEFORE_FIRST)

    def ahead(self) -> list[Planned]:
        """See Phase: launches of the pass, with those that warm up for them in one chain."""
        return planned(self.ledger, self.frame, self.setup.config.warmup.launches > 0, self.inside.interval)

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """See Phase."""
        unit = self.ledger.in_flight_unit(process, index, "progress of")
        try:
            return self.inside.stops(unit, *point)
        except (ArithmeticError, LookupError, ValueError) as error:  # the failure rule: leave nothing out by mistake
            self.inside.forget(unit)
            self.recorder.degrade(f"launch {index} of process {process} is simulated to its end: {describe(error)}")
            return False

    def complete(self, process: int, index: int, result: HostResult) -> None:
        """See Phase. What the engine would refuse is refused before it stands in the journal."""
        unit = self.ledger.in_flight_unit(process, index, "a result for")
        if result.stopped and not self.inside.was_told_to_stop(unit):
            raise HostError(f"launch {index} was stopped inside although it was told to continue")
        known = self.sample.engine.counters or self.setup.host.counters
        result.check(index, known, self.setup.budget.counter)
        counters = result.counters
        if self.ledger.is_warmup(unit):
            record: Record = WarmupRecord(process, index, self.pass_index, counters)
        else:
            taken, projection = self.inside.result(unit, result.stopped, counters)
            self.sample.engine.check(unit, tuple(taken), tuple(taken.values()))
            at_once = self.inside.issued_at_once(unit)
            record = ResultRecord(process, index, self.pass_index, taken, projection, at_once)
        self.recorder.write(record)
        self.apply(record)
        self.recorder.progress.completed(self.pass_index, self.sample.results, self.ledger.open_count)

    def abort(self, process: int, index: int, reason: str | None) -> None:
        """See Phase: once more in the next pass, then never."""
        unit = self.ledger.in_flight_unit(process, index, "an abort of")
        record = AbortRecord(process, index, self.pass_index, reason)
        self.recorder.write(record)
        self.apply(record)
        told = unit in self.frame.plan.broken or self.ledger.is_warmup(unit)
        if self.ledger.attempts.get(unit) == 1 and not told:
            why = reason or "no reason given"
            self.recorder.degrade(f"launch {index} of process {process} could not be simulated: {why}")

    def name(self, process: int, index: int) -> str | None:
        """See Phase."""
        return self.frame.plan.name_of_unit(self.ledger.unit(process, index))

    # ---- passes -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See Phase: the first pass, or what follows a screening pass, whose results are here."""
        if self._stands_at == "run-ups":
            self._stands_at = "pass"
            self.state.forget()  # the simulator holds that of the run-ups
            return
        if self._was_screened:
            self._end_pass()
            return
        for unit, why in sorted(self.frame.plan.broken.items()):
            process, launch = self.ledger.place(unit)
            sentence = f"launch {launch} of process {process} is simulated because its trace cannot be read: {why}"
            if sentence not in self.recorder.degraded:  # by the process that was killed before the pass began
                self.recorder.degrade(sentence)
        self._begin_pass(0)

    def _begin_pass(self, pass_index: int) -> None:
        """Start a pass with the engine's present sample."""
        engine = self.sample.engine
        self.recorder.write(PassRecord(pass_index, len(engine.wanted()), engine.pass_state()))
        self._open_pass(pass_index, self.sample.open_pass())
        self.recorder.progress.pass_begins(pass_index, self.ledger.open_count, self.frame.population.size)

    def _open_pass(self, pass_index: int, wanted: np.ndarray) -> None:
        self.pass_index, self._stands_at = pass_index, "pass"
        self.ledger.begin_pass(wanted)

    def _end_pass(self) -> None:
        if (lost := self.ledger.lost()) and not (self.sample.results and self._leave_out(lost)):
            self.done = True
            return
        try:
            self._look_and_grow()
        except SessionError:
            raise
        except Exception as error:  # the failure rule: whatever goes wrong in a policy must not skip launches
            if not self.frame.population.size > self.sample.results:
                raise SessionError(f"a full run has no estimate: {describe(error)}") from error
            what = f"no estimate could be made at the end of pass {self.pass_index}: {describe(error)}"
            if self.frame.population.listed is not None:
                self.recorder.degrade(f"{what}; launches that were not traced cannot be simulated")
                self.sample.look, self.done = None, True
                return
            self.recorder.degrade(f"{what}; every launch that is left is simulated", everything=True)
            self.sample.simulate_everything()
        if not self.done:
            self._begin_pass(self.pass_index + 1)

    def _leave_out(self, lost: list[int]) -> bool:
        """Go on without launches that failed for good; False where the run has to end for them."""
        if can_go_on := self.sample.can_lack(lost):
            record = LeftOutRecord(self.pass_index, [self.ledger.place(unit) for unit in lost])
            self.recorder.write(record)
            self.apply(record)
        return can_go_on

    def _look_and_grow(self) -> None:
        if not self.sample.is_complete:
            return  # launches that were aborted, or that a failure added: the next pass simulates them
        look = self._take_look()
        self.recorder.write(look_record(self.pass_index, look))
        self.recorder.progress.looked(look, self.pass_index, self.setup.budget.counter)
        self._grow()

    def _grow(self) -> None:
        self.done = self.sample.is_complete and not self.sample.grow()
        self.recorder.progress.say(*self.sample.warnings())

    def _take_look(self) -> Look:
        self._stands_at = "look"
        self.sample.engine.set_systematic_errors(self._check(self.sample).errors)
        look = self.sample.take_look()
        if self.sample.engine.wants_exact_results:
            self.inside.stop_projecting()
        return look

    # ---- records ----------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """See Phase."""
        if isinstance(record, DecisionRecord):
            if record.action != "skip":
                unit = self.ledger.unit(record.process, record.launch)
                self.ledger.start(unit)
                self.state.start(record.process, unit)
        elif isinstance(record, ResultRecord):
            self._apply_result(record)
        elif isinstance(record, WarmupRecord):
            unit = self.ledger.unit(record.process, record.launch)
            self.ledger.complete(unit)
            self.state.end(unit)
            self.warmups += 1
            self._warmup_cycles += record.counters["cycles"]
        elif isinstance(record, AbortRecord):
            unit = self.ledger.unit(record.process, record.launch)
            self.inside.forget(unit)
            (self.ledger.complete if self.ledger.is_warmup(unit) else self.ledger.abort)(unit)
        elif isinstance(record, LeftOutRecord):
            self.sample.leave_out(self.ledger.give_up(record.launches))
        elif isinstance(record, PassRecord):
            self._open_pass(record.pass_index, self.sample.open_pass(record.state or {}))
        elif isinstance(record, LookRecord):  # computed again: the error budget may have changed
            self._take_look()
        elif isinstance(record, FurtherRunUpsRecord):
            self._stands_at = "run-ups"
        elif isinstance(record, ResumeRecord):
            self.ledger.forget_in_flight()
            self.state.forget()
        elif isinstance(record, DegradedRecord) and record.everything:
            self.sample.simulate_everything()

    def _apply_result(self, record: ResultRecord) -> None:
        unit, projection = self.ledger.unit(record.process, record.launch), record.projection
        self.ledger.complete(unit)
        self.state.end(unit)
        self.sample.take(unit, record.counters, projection.half_widths if projection else None)
        self.inside.forget(unit)
        self.inside.take(record)

    def resume(self) -> None:
        """See Phase. A launch that the process before ended in, and whose trace cannot be read, is not tried again."""
        ended = sorted(self.ledger.in_flight & self.frame.plan.broken.keys())
        self.ledger.forget_in_flight()
        self.state.forget()
        if ended and self._leave_out(ended):
            where = ", ".join(str(self.ledger.place(unit)[1]) for unit in ended)
            self.recorder.degrade(
                f"launch {where} is left out: the simulator ended in it, and its trace cannot be read"
            )
        if self._stands_at == "begin":
            self.begin()
        elif self._stands_at == "look":
            self._grow()
            if not self.done:
                self._begin_pass(self.pass_index + 1)
        elif self.ledger.open_count:
            self.recorder.progress.pass_begins(self.pass_index, self.ledger.open_count, self.frame.population.size)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def sampling(self) -> Sampling:
        """See Phase."""
        return self

    def following(self) -> Phase:
        """See Phase: further run-ups, while it waits for them."""
        return self._run_ups if self._run_ups is not None and self._stands_at == "run-ups" else self

    def summary(self) -> SummaryRecord:
        """Statement of the run at its end; no estimate where it ends inside a pass."""
        look, checked = self.sample.statement() if self.done else None, self._check(self.sample)
        account = Account(
            launches=self.frame.population.size,
            simulated=self.sample.results,
            passes=self.pass_index + 1,
            warmups=self.warmups,
            uncounted_cycles=self._warmup_cycles + checked.cycles - self.inside.saved_cycles,
            projected=self.inside.projected,
            simulated_totals=self.sample.engine.simulated_totals(),
            one_per_stream_cycles=self.sample.one_per_stream_cycles() if look else None,
            processes=self.sample.processes(),
            kernels=self.sample.kernels() if look else [],
            degraded=list(self.recorder.degraded),
            lost=sorted({*self.ledger.lost(), *self.sample.left_out}),
            never_completed=sorted(self.ledger.in_flight),
            assumptions=self.inside.assumptions() if look else [],
            warnings=[*self.inside.warnings(look.met), *self.sample.warnings()] if look else [],
            checked=checked,
            restarts=self.state.restarts,
        )
        return summarise(self.setup, account, look)
