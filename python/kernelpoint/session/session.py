"""The run as a simulator sees it: the calls of kernelpoint/abi.h, answered from the present orders of the loop (loop.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kernelpoint.admission.simulable import TraceIntegrity
from kernelpoint.errors import HostError, SessionError
from kernelpoint.estimation import AssistedDesign
from kernelpoint.journal import JournalWriter, Outcome, RangeRecord, Record, ResumeRecord, SummaryRecord
from kernelpoint.journal.earlier import check_same_run
from kernelpoint.journal.records import text_of
from kernelpoint.planning.forecast import compared
from kernelpoint.progress import Log, duration
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.loop import Loop
from kernelpoint.session.orders import (
    BEFORE_FIRST,
    DONE,
    END_OF_LIST,
    EXECUTE,
    OK,
    SIMULATE,
    SKIP,
    Answer,
    OnlinePass,
    Order,
    Orders,
    OutcomeCalls,
    Planned,
)
from kernelpoint.session.recorder import Recorder, describe
from kernelpoint.session.setup import Setup, counts_latency
from kernelpoint.session.statement import Statement, Summary, sentence
from kernelpoint.session.verdict import open_launch, scarce_counters
from kernelpoint.traces import ListedTraces
from kernelpoint.traces.replay import Replayed

LEAST_SECONDS = 0.5  # of simulation; a rate measured on 0.2 s was 1.4 times too high
LEAST_SHARE = 0.1  # of a full run, that has to be saved for a line; measured times vary by as much


class Session(OutcomeCalls):
    """Sampled run in the form in which the plugin calls it for a simulator. `next` and `finish` correspond to the C functions
    of kernelpoint/abi.h, `on_outcome` to `complete` and `abort`.

    A new run writes its first record when it is made. A resumed run applies the records of its journal: each decision and
    result is kept as recorded and is not computed again. If a call cannot be written to the journal, that call and all later
    calls raise SessionError.

    Args:
        setup: configuration, simulator, launches and plan.
        journal: journal open for writing. If it holds records, the run is resumed from them.
        log: function that receives lines for the user.

    Raises:
        JournalError: the journal belongs to another run, or its records contradict each other.

    Attributes:
        loop: control loop of the run.
        summary: summary of a run that has ended; None before.
        saved: measurement of the processor time that the run saves.
    """

    def __init__(self, setup: Setup, journal: JournalWriter, log: Log) -> None:
        self.setup, self.journal = setup, journal
        self.recorder = Recorder(journal, log, setup.config.on_error == "abort")
        self.initial_states = InitialStates(setup.host, log, setup.config.replay.state == "empty", setup.plan)
        self.loop = Loop(setup, self.recorder, self.initial_states)
        self._run = self.loop.run()
        self._whole_traces = TraceIntegrity() if setup.host.needs_whole_traces else None
        self._listed = ListedTraces(setup.host.list_paths)
        self.summary: SummaryRecord | None = None
        self._stated: Sequence[Record] = ()  # ranges and summary at the end of the journal that is resumed
        self._statement: Statement | None = None
        self._skips_latency = counts_latency(setup.config)
        program = None if setup.plan is None else setup.plan.program
        self._selected = program if program is not None and program.listed is not None else None
        self.saved = TimeSaved()
        if journal.records:
            self._go_on(journal.records)
            journal.records.clear()
        else:
            self.recorder.write(setup.record())
            self._advance()

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def on_launch(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """Decide to simulate or skip a launch that `Session.next` names, which passes over the launches of a known list that
        are not in the sample.

        Args:
            process: index of the simulator process.
            index: index of the launch in the process's list.
            trace_path: path of the launch's trace, in a run whose launches are not known before.
        """
        orders, unit = self._asked(process, index)
        if not trace_path and self.setup.plan is None:
            trace_path = self._listed.path(process, index)
        if (decision := orders.decision(unit, trace_path)) is not None:
            self.loop.accept(decision)
        answer = orders.answer(unit)
        if answer.action == SIMULATE and self._whole_traces is not None:
            program = self.loop.sample.plan.program
            of_program = program.traces[unit] if program.has_traces else ""
            if problem := self._whole_traces.problem(trace_path or of_program):
                self.loop.accept(orders.record(unit, Outcome(process, index, reason=problem)))
                answer = Answer(SKIP, answer.pass_index)
        if answer.action == SKIP:
            return answer._replace(action=EXECUTE) if self.setup.host.executes else answer
        self.saved.begin()
        return answer._replace(skips_latency=self._skips_latency)

    def replay_before(self, process: int, index: int) -> Replayed:
        """Memory accesses of earlier launches that the simulator applies to its caches before this launch (`kp_state` in
        kernelpoint/state.h).
        """
        self._require_open()
        touches = self.initial_states.before(process, index)
        self.saved.begin()
        return touches

    def next(self, process: int, after: int) -> tuple[int, int]:
        """Next launch to decide on after index `after`: (status, index), or (status, -1) if there is none. It is to be
        simulated, but skipped in the first pass of a run whose launches are not known before.

        A simulator that must execute skipped launches functionally gets the index of every launch, in program order.
        """
        status, index = self._next(process, after)
        if status != OK or not self.setup.host.executes:
            return status, index
        behind = 0 if after == END_OF_LIST else after + 1
        return OK, behind if behind <= index else 0

    def _next(self, process: int, after: int) -> tuple[int, int]:
        self._require_journal()
        if self.summary is not None:
            return DONE, -1
        index = self._index(process, after)
        while not self.loop.is_done:
            orders = self.loop.orders
            status, following = orders.next(process, index)
            if status == DONE:
                self._advance()  # every launch that was ordered has its outcome
                index = END_OF_LIST
            elif status == OK and (copy := orders.copy(unit := orders.unit(process, following))) is not None:
                if (decision := orders.decision(unit)) is not None:
                    self.loop.accept(decision)
                self.loop.accept(copy)  # a result that is known without simulating
                index = following
            else:
                return status, self._place(following)
        return DONE, -1

    def walk(self) -> Iterator[tuple[int, Answer]]:
        """Iterator over the launches of a simulator with one process: (index, decision), until the run needs no more launches.

        Raises:
            HostError: the launch yielded before has neither a result nor a failure.
        """
        launch = BEFORE_FIRST
        while True:
            if waiting := self.loop.orders.in_flight:
                missing = self._place(min(waiting))
                raise HostError(f"launch {missing} has no result: call run.result or run.fail for each launch")
            status, launch = self.next(0, launch)
            if status == DONE:
                return
            yield launch, self.on_launch(0, launch)

    def drive(self, simulate: Callable[[Order], Outcome]) -> None:
        """Make the whole run with a function that simulates one launch, here or on workers."""
        for launch, answer in self.walk():
            if answer.action == SIMULATE:
                self.on_outcome(simulate(Order(0, launch, answer.state, answer.interval)))
        self.finish()

    def planned(self) -> list[Planned]:
        """Launches that the run is known to need, so that a coordinator can simulate them ahead."""
        self._require_journal()
        return [
            Planned(tuple(order._replace(launch=self._place(order.launch)) for order in chain), cost)
            for chain, cost in self.loop.orders.planned()
        ]

    def on_progress(self, process: int, index: int, *point: int) -> int:
        """Decide whether a launch being simulated continues (0) or stops (1).

        Args:
            point: progress of the launch: cycles, instructions, CTAs issued, CTAs completed, CTAs in its grid.
        """
        orders, unit = self._asked(process, index)
        try:
            return int(orders.stops(unit, point))
        except (ArithmeticError, LookupError, ValueError) as error:  # the failure rule: leave nothing out by mistake
            launch = orders.place(unit)[1]
            self.recorder.degrade(f"launch {launch} of process {process} is simulated to its end: {describe(error)}")
            return 0

    def on_outcome(self, outcome: Outcome) -> None:
        """Write the result or the failure of a simulated launch to the journal, and add it to the sample."""
        for point in outcome.points or ():  # of a launch that another process stopped before its end
            self.on_progress(outcome.process, outcome.launch, *point)
        orders, unit = self._asked(outcome.process, outcome.launch)
        if counters := outcome.counters:
            self.saved.end(unit, counters["cycles"], outcome.processor_seconds)
            outcome = replace(outcome, counters=self.setup.host.with_active_cycles(counters))
        self.loop.accept(orders.record(unit, outcome))

    def finish(self) -> Summary:
        """End the run and return its summary. A run that ends inside a pass (round of sampling) states no estimate."""
        self._require_journal()
        if self.summary is None:
            self._statement = self.loop.statement()
            self.summary = summary = self._statement.summary
            records: list[Record] = [*self._statement.ranges, summary]
            is_stated = list(map(text_of, self._stated)) == list(map(text_of, records))
            if not is_stated or self.recorder.deferred is None:  # else nothing was added to the journal that was resumed
                for record in (*self._statement.launches(), *records):
                    self.recorder.write(record)
            self._measure_saved_time(summary)
            self.recorder.say(sentence(summary), *open_launch(summary), *scarce_counters(summary))
            forecast, wanted = self.setup.plan.forecast if self.setup.plan else [], self.setup.budget.relative_error
            of_forecast = compared(forecast, wanted, summary.simulated, summary.cycle_speedup, summary.further)
            self.recorder.say(*filter(None, [of_forecast, self.saved.sentence()]))
            self.journal.close()
        return Summary.of(self.summary, self.saved.seconds)

    def _measure_saved_time(self, summary: SummaryRecord) -> None:
        """Measure the time saved, if some launches were skipped, launches do not overlap, and cycles have an estimate."""
        cycles, sample, host = summary.counters.get("cycles"), self.loop.sample, self.setup.host
        if host.concurrent or cycles is None or not summary.skipped or np.isnan(cycles.estimate):
            return
        self.saved.is_least = bool(host.launch_latency and self._skips_latency)
        self.saved.measure(sample.expansions, cycles.estimate)

    def launch_estimate(self, process: int, index: int) -> tuple[float, float, bool, list[float]]:
        """Estimate of one launch: (cycles, instructions, True if simulated, all counters if simulated).

        Cycles and instructions of a simulated launch are its result. Over all launches they add up to the estimated totals.
        """
        if self._statement is None:
            raise HostError("got a call for a launch's estimate before the run was finished; finish the run first")
        return self._statement.launch(self.loop.sample.unit(process, self._index(process, index)))

    def launch_name(self, process: int, index: int) -> str | None:
        """Kernel name of a launch; None if its trace was not read."""
        loop = self.loop
        if isinstance(loop.orders, OnlinePass):
            return None
        return loop.sample.plan.name_of_unit(loop.sample.unit(process, self._index(process, index)))

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _go_on(self, records: Sequence[Record]) -> None:
        """Resume the run from the records of its journal."""
        plan = self.setup.plan
        predicted = plan is not None and isinstance(plan.design, AssistedDesign)
        check_same_run(self.journal.path, records[0], self.setup.record(), predicted)
        results = sum(isinstance(record, Outcome) and record.is_result for record in records)
        before = [number for number, entry in enumerate(records) if not isinstance(entry, RangeRecord | SummaryRecord)]
        self._stated = records[before[-1] + 1 :]
        self.recorder.past.extend([*records[1:], ResumeRecord(results)])
        self._advance()
        if self.loop.next_is_step():
            raise self.recorder.misplaced()

    def _advance(self) -> None:
        """Continue the loop until it gives the next orders."""
        try:
            next(self._run)
        except StopIteration:
            if not self.loop.is_done:
                raise SessionError("the run cannot go on: it failed in an earlier call") from None

    def _index(self, process: int, place: int) -> int:
        """Convert the host's position in its list to the launch's number in the program."""
        return place if self._selected is None else self._selected.launch_at(process, place)

    def _place(self, index: int) -> int:
        return index if self._selected is None else self._selected.place_of(index)

    def _asked(self, process: int, place: int) -> tuple[Orders, int]:
        """Orders that the launch of a host's call belongs to, and its unit among them."""
        self._require_open()
        orders = self.loop.orders
        return orders, orders.unit(process, self._index(process, place))

    def _require_open(self) -> None:
        self._require_journal()
        if self.summary is not None:
            raise HostError("this run is finished; open another session")

    def _require_journal(self) -> None:
        if self.recorder.closed:
            raise SessionError(self.recorder.closed)


class TimeSaved:
    """Measurement of the processor time that sampling saves: the time of simulated launches, and of everything else in the run.

    The time of a launch runs from its decision to its result; launches must not overlap. If another process simulates the
    launch, `end` receives the time used there.

    Attributes:
        begun: time of the clock when the run opened; 0 in a simulator's process, all of whose time belongs to the run.
        times: seconds of a full run, and seconds spent, once they are measured; a run that other processes simulated gets them
            from its coordinator.
        is_least: True if the constant launch latency was not simulated, so that the stated time of a full run is a lower limit.

    >>> clock = iter([0.0, 1.0, 3.0, 4.0]).__next__
    >>> time_saved = TimeSaved(clock)
    >>> time_saved.begin()
    >>> time_saved.end(7, 1000.0)
    >>> time_saved.measure(lambda units: np.array([51.0]), total_cycles=51_000.0)
    >>> time_saved.seconds, time_saved.sentence()
    (98.0, 'about 98 s of processor time saved: a full run would take about 102 s, this one took 4 s')
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self.begun = clock()
        self.times: tuple[float, float] | None = None
        self.is_least = False
        self._since: float | None = None
        self._elsewhere = 0.0
        self._took: dict[int, tuple[float, float]] = {}  # seconds and cycles, by unit

    def begin(self) -> None:
        """Start the clock for the next launch. A further call restarts it."""
        self._since = self._clock()

    def end(self, unit: int, cycles: float, seconds: float | None = None) -> None:
        """Record the end of a launch.

        Args:
            unit: index of the launch among those of all processes.
            cycles: simulated cycles of the launch.
            seconds: processor time of the launch in another process; None: it is measured here.
        """
        if seconds is not None:
            self._took[unit] = (seconds, cycles)
            self._elsewhere += seconds
        elif self._since is not None:
            self._took[unit] = (self._clock() - self._since, cycles)
        self._since = None

    def measure(self, weights: Callable[[np.ndarray], np.ndarray], total_cycles: float) -> None:
        """Forecast the processor time of a full run from the times of the simulated launches.

        Formula: T = C sum_i w_i s_i / sum_i w_i c_i, over the timed launches i, with

            w_i  number of launches that launch i represents,
            s_i  processor seconds of launch i,
            c_i  cycles of launch i,
            C    cycles of all launches.

        Weights are needed because long launches are drawn more often than short ones.

        Args:
            weights: function that returns w for an array of launches, each the index among those of all processes.
            total_cycles: C.
        """
        if self.times is not None or not self._took:
            return
        seconds, cycles = np.array(list(self._took.values())).T
        standing = weights(np.array(list(self._took)))
        if seconds.sum() >= LEAST_SECONDS and (standing * cycles).sum() > 0.0:
            full = float((standing * seconds).sum() / (standing * cycles).sum() * total_cycles)
            self.times = full, self._clock() - self.begun + self._elsewhere

    @property
    def seconds(self) -> float | None:
        """Processor seconds saved against a full run; None if unknown, or if a full run would cost about the same."""
        if self.times is None:
            return None
        full, spent = self.times
        return full - spent if full - spent >= max(LEAST_SECONDS, LEAST_SHARE * full) else None

    def sentence(self) -> str | None:
        """Sentence on the time saved; None if `seconds` is None."""
        saved = self.seconds
        if self.times is None or saved is None:
            return None
        full, spent = (duration(value) for value in self.times)
        if self.is_least:
            text = "a full run, which simulates launch latency too, would take more than"
            return f"at least {duration(saved)} of processor time saved: {text} {full}, this one took {spent}"
        return f"about {duration(saved)} of processor time saved: a full run would take about {full}, this one took {spent}"
