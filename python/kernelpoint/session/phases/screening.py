"""The phase over launches that nobody knows beforehand: each is read and decided as it comes.

At its end every launch has been read, so the plan is made as if the list had been known (session/planning.py), with what this
pass simulated as its beginning, and sampling goes on. Strata that are made at that point are made without looking at results,
and within each of them the launches drawn so far are those with u_i <= p: a simple random sample given their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernelpoint.errors import HostError, JournalError, KernelPointError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.journal import (
    AbortRecord,
    DecisionRecord,
    PassRecord,
    PopulationRecord,
    Record,
    ResultRecord,
    ResumeRecord,
    ScreenedRecord,
    SeenRecord,
)
from kernelpoint.session.frame import Frame, strata_record
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.phases.online_clusters import OnlineClusters, Placed
from kernelpoint.session.phases.phase import DONE, END_OF_LIST, OK, PENDING, SIMULATE, SKIP, Answer
from kernelpoint.session.phases.sampling import Sampling
from kernelpoint.session.phases.screened import Screened
from kernelpoint.session.phases.seen import FAILURE, Key, Seen
from kernelpoint.session.plan import Plan
from kernelpoint.session.planning import make_plan, origin_of
from kernelpoint.session.recorder import Recorder
from kernelpoint.session.replays import KEPT, REPLAYED
from kernelpoint.session.setup import PROBABILITY, Setup
from kernelpoint.session.summary import look_record
from kernelpoint.session.work import Planned
from kernelpoint.workload import Available


class Screening:
    """One pass that decides launches in the order in which they come; see Phase for the methods.

    Args:
        setup: what is fixed; recorder: takes records.

    Attributes:
        screened: the launches so far.
    """

    def __init__(self, setup: Setup, recorder: Recorder) -> None:
        self.setup, self.recorder = setup, recorder
        self.screened = Screened(setup.config.seed, tuple(setup.host.launch_counts))
        self._clusters = OnlineClusters(setup.config.encoder, recorder.progress.say_plainly)
        self._counters: tuple[str, ...] = ()
        self._has_begun = False
        self._say_at = 1024

    # ---- the host's calls -------------------------------------------------------------------------------------------

    @property
    def _state(self) -> int:
        """State that every launch begins with."""
        return REPLAYED if self.setup.host.can_replay else KEPT

    def decide(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """See Phase."""
        key = self.screened.check(process, index)
        seen = self.screened.seen.get(key)
        if seen is None:
            seen = self.screened.decide(key, trace_path, self._place(key, trace_path))
            self.recorder.write(self._decision(key, seen))
            self._say_now_and_then()
        elif not self.screened.is_open(key, seen):
            return Answer(SIMULATE if key in self.screened.in_flight else SKIP, 0, 0, self._state)
        if seen.simulated:
            self.screened.in_flight.add(key)
        return Answer(SIMULATE if seen.simulated else SKIP, 0, 0, self._state)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """See Phase; every launch may have to be simulated, so it is the one behind `after`."""
        self.screened.check(process, max(after, 0))
        if after != END_OF_LIST and (found := self.screened.next_unseen(process, after)) is not None:
            return OK, found
        if (found := self.screened.end(process)) is not None:
            return OK, found
        return (DONE if self.screened.complete else PENDING), -1

    def ahead(self) -> list[Planned]:
        """See Phase: nothing, as each launch is decided when it comes."""
        return []

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """See Phase; nothing is stopped inside in this phase."""
        self._require_in_flight(process, index)
        return False

    def complete(self, process: int, index: int, result: HostResult) -> None:
        """See Phase."""
        self._require_in_flight(process, index)
        if result.stopped:
            raise HostError(f"launch {index} was stopped inside although it was told to continue")
        known = self._counters or self.setup.host.counters
        result.check(index, known, self.setup.budget.counter)
        record = ResultRecord(process, index, 0, result.counters)
        self.recorder.write(record)
        self.apply(record)

    def abort(self, process: int, index: int, reason: str | None) -> None:
        """See Phase: once more in the next pass, then never."""
        self._require_in_flight(process, index)
        record = AbortRecord(process, index, 0, reason)
        self.recorder.write(record)
        self.apply(record)
        if self.screened.seen[process, index].why != FAILURE:  # else that it cannot be read was said
            why = reason or "no reason given"
            self.recorder.degrade(f"launch {index} of process {process} could not be simulated: {why}")

    def name(self, process: int, index: int) -> str | None:
        """See Phase."""
        seen = self.screened.seen.get(self.screened.check(process, index))
        return seen.placed.name if seen is not None and seen.placed is not None else None

    # ---- records ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See Phase."""
        record = PassRecord(0)
        self.recorder.write(record)
        self.apply(record)
        self.recorder.progress.say("pass 0: launches are not known beforehand, so each is read as it comes")

    def resume(self) -> None:
        """See Phase."""
        self.screened.forget_in_flight()
        if not self._has_begun:
            self.begin()

    def apply(self, record: Record) -> None:
        """See Phase."""
        if isinstance(record, PassRecord):
            self._has_begun = True
        elif isinstance(record, DecisionRecord):
            self._decide_again(record)
        elif isinstance(record, ResultRecord):
            self._counters = tuple(record.counters)
            self.screened.take(record.process, record.launch, record.counters)
        elif isinstance(record, AbortRecord):
            self.screened.fail(record.process, record.launch)
        elif isinstance(record, ResumeRecord):
            self.screened.forget_in_flight()

    def _decide_again(self, record: DecisionRecord) -> None:
        """A decision of the journal: its launch is placed again, and has to land where it did."""
        key = record.process, record.launch
        placed = None if record.take_all == FAILURE else self._clusters.place(record.trace)
        seen = self.screened.seen.get(key) or self.screened.decide(key, record.trace, placed)
        if placed is not None and (placed.cluster, placed.stream) != (record.cluster, record.stream):
            raise JournalError(
                f"{self.recorder.path}: launch {key[1]} of process {key[0]} ran stream {record.stream} in cluster "
                f"{record.cluster}; its trace {record.trace} now has {placed.stream} in {placed.cluster}"
            )
        if seen.simulated:
            self.screened.in_flight.add(key)
        self._is_time_to_say()

    def _place(self, key: Key, path: str | None) -> Placed | None:
        """The cluster of a launch; None, and the launch is simulated, where that fails (failure rule)."""
        try:
            return self._clusters.place(path)
        except Exception as error:  # noqa: BLE001 - the failure rule: whatever goes wrong, the launch is not skipped
            what = str(error) if isinstance(error, KernelPointError) else f"{type(error).__name__}: {error}"
            self.recorder.degrade(
                f"launch {key[1]} of process {key[0]} is simulated because it cannot be placed: {what}"
            )
            return None

    def _decision(self, key: Key, seen: Seen) -> DecisionRecord:
        record = DecisionRecord(*key, 0, "simulate" if seen.simulated else "skip", trace=seen.path)
        if seen.certain:
            record.stratum, record.take_all = -1, seen.why
        else:
            record.u, record.threshold = self.screened.u(*key), PROBABILITY
        if seen.placed is not None:
            record.cluster, record.stream, record.x = seen.placed.cluster, seen.placed.stream, seen.placed.expected
        return record

    def _require_in_flight(self, process: int, index: int) -> None:
        if self.screened.check(process, index) not in self.screened.in_flight:
            raise HostError(
                f"launch {index} of process {process} is not in flight; each decision to simulate has one result"
            )

    # ---- what may be said on the way --------------------------------------------------------------------------------

    def _is_time_to_say(self) -> bool:
        """Each time the number of launches seen has doubled."""
        is_time = len(self.screened.seen) >= self._say_at
        self._say_at *= 2 if is_time else 1
        return is_time

    def _say_now_and_then(self) -> None:
        """Say what holds for the launches seen, by themselves and for no other launch."""
        if not self._is_time_to_say():
            return
        counts = self.screened.counts()
        text = f"pass 0: {counts['seen']:,} launches seen, {counts['simulated']:,} simulated, {counts['clusters']:,} clusters"
        look = self.screened.look(self.setup.budget, self.setup.estimate)
        if look is not None:
            said = look_record(0, look)
            self.recorder.write(SeenRecord(**counts, met=said.met, estimates=said.estimates, ratios=said.ratios))
            estimate = {**look.estimates, **look.ratios}.get(self.setup.budget.counter)
            if estimate is not None and math.isfinite(estimate.relative_half_width):
                width = 100 * estimate.relative_half_width
                text += f"; these: {estimate.estimate:.6g} {estimate.counter} +- {width:.3g} %"
        self.recorder.progress.say(text)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def sampling(self) -> Sampling:
        """See Phase; the launches seen so far become the population, which stands in the journal."""
        frame = self._frame()
        known = self.setup.record().hashes
        results = self.screened.results(frame.population)
        units = np.array(list(results), dtype=np.int64)
        x = [] if frame.design.x is None else frame.design.x[units].tolist()
        screened = ScreenedRecord(units.tolist(), np.asarray(frame.design.strata)[units].tolist(), x)
        if not self.recorder.is_replaying:
            self.recorder.write(
                PopulationRecord(
                    launches=list(frame.population.counts),
                    plan=self._keep(frame.plan),
                    hashes={name: value for name, value in frame.hashes.items() if name not in known},
                    strata=strata_record(frame.design),
                    simulated=screened,
                )
            )
        attempts = self.screened.attempts(frame.population)
        return Sampling(self.setup, frame, self.recorder, results, attempts)

    def following(self) -> Sampling:
        """See Phase."""
        return self.sampling()

    def _frame(self) -> Frame:
        """The plan, made now that every launch has been read; where that fails everything left is simulated."""
        self._clusters.close()
        config, policy, population = self.setup.config, self.setup.policy, self.screened.population()
        needs = policy.inputs(Available.of(population, config))
        origin = origin_of(config, policy, population, needs)
        try:
            plan = make_plan(config, policy, population, needs, origin, self.recorder.progress.say_plainly)
        except Exception as error:  # noqa: BLE001 - the failure rule, as for a look that fails
            what = f"no plan could be made: {type(error).__name__}: {error}"
            self.recorder.degrade(f"{what}; every launch that is left is simulated")
            alone = np.full(population.size, -1, dtype=np.int32)
            plan = Plan(Design(alone, np.empty(0, dtype=np.int64), population.u), origin)
        return Frame.of(population, replace(plan, design=self.screened.frozen(plan.design, population)), None)

    def _keep(self, plan: Plan) -> str | None:
        """The plan lies beside the journal, for reports; a run does not need the file."""
        path = f"{self.recorder.path}.kpplan"
        try:
            plan.save(path)
        except PlanError as error:
            self.recorder.progress.say(str(error))
            return None
        return path
