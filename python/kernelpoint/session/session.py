"""The state machine behind the ABI: hands the host's calls to the phase that the run is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.journal import (
    DegradedRecord,
    FurtherRunUpsRecord,
    JournalWriter,
    LookRecord,
    PassRecord,
    PopulationRecord,
    Record,
    SummaryRecord,
)
from kernelpoint.journal.text import text_of
from kernelpoint.session.forecast import compared
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.listing import Listing
from kernelpoint.session.phases import DONE, END_OF_LIST, SIMULATE, SKIP, Answer, Phase, RunUps, Sampling, Screening
from kernelpoint.session.recorder import Recorder
from kernelpoint.session.replays import Replays, needs_run_ups
from kernelpoint.session.resume import check_same_frame
from kernelpoint.session.saved import SavedTime
from kernelpoint.session.setup import Setup, latency_of
from kernelpoint.session.stated import Summary
from kernelpoint.session.summary import sentence
from kernelpoint.session.whole_traces import WholeTraces
from kernelpoint.session.work import Planned

if TYPE_CHECKING:
    from kernelpoint.traces.replay import Replayed


class Session:
    """One sampled run. Methods are the functions of kernelpoint/abi.h with Python's types; see there for their contracts.

    A call that cannot be written to the journal closes the session; from then on every call raises SessionError.

    Args:
        setup: everything fixed at open: configuration, host, and the frame where the launches are known.
        journal: open for writing; records that it already holds must be applied before the first call.
        log: takes one line of text for the user.

    Attributes:
        phase: the present one; summary: that of a run that has ended, else None; saved: processor time that the run saves.
    """

    def __init__(self, setup: Setup, journal: JournalWriter, log: Callable[[str], None]) -> None:
        self.setup, self.journal = setup, journal
        self.recorder = Recorder(journal, log, setup.config.on_error == "abort")
        self.phase: Phase = first_phase(setup, self.recorder)
        self.replays = Replays(setup.host, setup.config.replay.memory << 20, log)
        self._whole_traces = WholeTraces(setup.host)
        self.summary: SummaryRecord | None = None
        self._stated: SummaryRecord | None = None  # at the end of the journal that is resumed
        self._listing = Listing(None if setup.frame is None else setup.frame.population.listed)
        self._estimates: np.ndarray | None = None
        self._latency = latency_of(setup.config)
        self.saved = SavedTime()

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def on_launch(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """Decide one launch: (action, pass, progress interval in cycles, state to begin with)."""
        phase, launch = self._running(), self._listing.launch(process, index)
        answer = phase.decide(process, launch, trace_path)
        if answer.action == SIMULATE and (problem := self._whole_traces.problem(trace_path)):
            phase.abort(process, launch, problem)
            return Answer(SKIP, answer.pass_index)
        self.saved.begin()
        return answer._replace(latency=self._latency)

    def replay_before(self, process: int, index: int) -> Replayed:
        """The touches of the launches before one; see kp_replay_before."""
        self._running()
        touches = self.replays.before(process, index)
        self.saved.begin()
        return touches

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to simulate, or to ask about, behind `after`: (status, launch index or -1)."""
        self.recorder.require_open()
        if self.summary is not None:
            return DONE, -1
        status, launch = self.phase.next(process, self._listing.launch(process, after))
        while status == DONE and self.phase is not (following := self.phase.following()):
            self.phase = following
            following.begin()
            status, launch = following.next(process, END_OF_LIST)
        return status, self._listing.position(process, launch)

    def ahead(self) -> list[Planned]:
        """Launches that `next` will name, as far as they are known: a coordinator has them simulated beforehand."""
        self.recorder.require_open()
        return [
            Planned(tuple(step._replace(launch=self._listing.position(*step[:2])) for step in chain), cost)
            for chain, cost in self.phase.ahead()
        ]

    def on_progress(self, process: int, index: int, *point: int) -> int:
        """Continue (0) or stop (1) a launch in flight; point: cycles, instructions, CTAs issued, completed, in total."""
        return int(self._running().stops(process, self._listing.launch(process, index), point))

    def on_complete(self, process: int, index: int, *result: Any) -> None:
        """Take the result of a launch in flight, the fields of HostResult, into the journal and the sample."""
        told = HostResult(*result)
        launch = self._listing.launch(process, index)
        self.saved.end((process, launch), float(told.cycles))
        self._running().complete(process, launch, told)

    def on_abort(self, process: int, index: int, reason: str | None = None) -> None:
        """A launch in flight could not be simulated: once more in the next pass, then never."""
        self._running().abort(process, self._listing.launch(process, index), reason)

    def finish(self) -> Summary:
        """End the run, even inside a pass; it then states no estimate."""
        self.recorder.require_open()
        if self.summary is None:
            self.phase = sampling = self.phase.sampling()
            summary = sampling.summary()
            if not self._is_stated(summary):
                for record in sampling.sample.launches() if summary.estimate is not None else ():
                    self.recorder.write(record)
                self.recorder.write(summary)
            self.summary = summary
            self.recorder.progress.say(sentence(summary))
            self._measure_saved_time(summary)
            self._say_what_it_took(summary)
            self.journal.close()
        return Summary.of(self.summary, self.saved.seconds)

    def _say_what_it_took(self, summary: SummaryRecord) -> None:
        """Beside what was expected of the run, and in processor time beside a full run."""
        forecast = self.setup.frame.plan.forecast if self.setup.frame else []
        wanted = self.setup.budget.relative_error
        if line := compared(forecast, wanted, summary.simulated, summary.cycle_speedup):
            self.recorder.progress.say(line)
        if line := self.saved.sentence():
            self.recorder.progress.say(line)

    def _measure_saved_time(self, summary: SummaryRecord) -> None:
        """Nothing is measured where every launch was simulated, or where launches overlap and have no time of their own."""
        cycles, sampling = summary.counters.get("cycles"), self.phase.sampling()
        if self.setup.host.concurrent or cycles is None or cycles.estimate is None or not summary.skipped:
            return

        def weights(places: list[tuple[int, int]]) -> np.ndarray:
            units = np.array([sampling.ledger.unit(*place) for place in places], dtype=np.int64)
            return np.where(sampling.sample.has_result[units], sampling.sample.engine.expansions(units), 0.0)

        self.saved.measure(weights, cycles.estimate)

    def launch_estimate(self, process: int, index: int) -> tuple[float, float, bool]:
        """(cycles, instructions, whether it was simulated) of one launch: its own result, else the prediction.

        Over all launches both add up to the estimated totals.
        """
        if self.summary is None:
            raise HostError("kp_launch_estimate was called before kp_finish")
        sampling = self.phase.sampling()
        unit = sampling.ledger.unit(process, self._listing.launch(process, index))
        if self._estimates is None:  # once for all: a host asks for every launch in turn
            self._estimates = sampling.sample.estimates()
        row = self._estimates[unit]
        cycles, instructions = (float(row[0]), float(row[1])) if len(row) > 1 else (np.nan, np.nan)
        return cycles, instructions, bool(sampling.sample.has_result[unit])

    def launch_name(self, process: int, index: int) -> str | None:
        """The kernel name of a launch, where its trace was read."""
        return self.phase.name(process, self._listing.launch(process, index))

    # ---- the life of a run ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record of a new journal, and the first phase."""
        self.recorder.write(self.setup.record())
        self.phase.begin()

    def apply(self, record: Record) -> None:
        """Do what a record of the journal says was done."""
        if isinstance(record, PopulationRecord):
            self.phase = sampling = self.phase.sampling()
            check_same_frame(record, sampling.frame, self.journal.path)
        if isinstance(record, PassRecord | LookRecord | FurtherRunUpsRecord) and isinstance(self.phase, RunUps):
            self.phase = self.phase.sampling()
        if isinstance(record, FurtherRunUpsRecord):  # the sample waits for them
            self.phase.apply(record)
            self.phase = self.phase.following()
        if isinstance(record, DegradedRecord):
            self.recorder.degraded.append(record.reason)
        self._stated = record if isinstance(record, SummaryRecord) else None
        self.phase.apply(record)

    def resume(self) -> None:
        """Go on after the journal's records were applied."""
        self.phase.resume()

    def _is_stated(self, summary: SummaryRecord) -> bool:
        """True if the journal that was resumed ends in this very summary, and nothing was added to it."""
        stated = self._stated
        return stated is not None and self.recorder.has_deferred and text_of(stated) == text_of(summary)

    def _running(self) -> Phase:
        self.recorder.require_open()
        if self.summary is not None:
            raise HostError("the run is finished; open another session")
        return self.phase


def first_phase(setup: Setup, recorder: Recorder) -> Phase:
    """First phase of a run: reading launches as they come, measuring what replay misses, or the sample."""
    if setup.frame is None:
        return Screening(setup, recorder)
    if needs_run_ups(setup):
        return RunUps(setup, setup.frame, recorder)
    return Sampling(setup, setup.frame, recorder)
