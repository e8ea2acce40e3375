"""The phase before the sample: would launches of it take other cycles with their real state?

A few launches of the first pass are simulated behind the launches before them, with the state that these leave. The sample
simulates the same launches from replayed state. The difference is what replay misses (design, section 9). Where it leaves too
little of the error budget to sampling, further launches follow, behind the pass that showed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import SystematicError, enough_run_ups
from kernelpoint.journal import AbortRecord, FurtherRunUpsRecord, Record, ResumeRecord, RunUpRecord
from kernelpoint.session.frame import Frame
from kernelpoint.session.host_result import HostResult
from kernelpoint.session.phases.ahead import first_pass
from kernelpoint.session.phases.phase import DONE, OK, PENDING, SIMULATE, SKIP, Answer
from kernelpoint.session.phases.run_up_places import RunUp, choose
from kernelpoint.session.phases.sample import Sample, make_engine
from kernelpoint.session.phases.sampling import Sampling
from kernelpoint.session.ratios import RATIOS
from kernelpoint.session.recorder import Recorder
from kernelpoint.session.replays import KEPT, MOST_RUN_UPS, REPLAYED, ReplayCheck, check_of, first_number
from kernelpoint.session.setup import Setup
from kernelpoint.session.work import Planned
from kernelpoint.session.work import Step as WorkStep

MOST_EXTENSIONS = 2
MOST_GROWTH = 4  # times as many: one or two run-ups say little of how many are needed


@dataclass(frozen=True)
class Step:
    """One launch of a run-up to be simulated; is_last: its result is compared with that of the sample."""

    run_up: int
    launch: int
    state: int
    is_last: bool


def steps_of(run_ups: Sequence[RunUp]) -> list[Step]:
    """The launches of all run-ups in their order; the first of each begins with replayed state."""
    return [
        Step(i, n, KEPT if n > run_up.launches[0] else REPLAYED, n == run_up.launches[-1])
        for i, run_up in enumerate(run_ups)
        for n in run_up.launches
    ]


class RunUps:
    """See Phase for the methods; the sample follows it.

    Args:
        setup: of a run that `replays.needs_run_ups`; frame: its launches; recorder: takes records.

    Attributes:
        run_ups: all that may be made, in their order; count: how many of them the run makes, as far as it knows.
    """

    def __init__(self, setup: Setup, frame: Frame, recorder: Recorder) -> None:
        self.setup, self.frame, self.recorder = setup, frame, recorder
        replay, budget = setup.config.replay, setup.budget
        first = first_number(replay, budget.relative_error, budget.confidence)
        most = MOST_RUN_UPS if replay.check == "auto" else first
        self.run_ups = choose(setup.config, frame, make_engine(setup, frame), most)
        self.count = min(first, len(self.run_ups))
        self._extensions = 0
        self._steps = steps_of(self.run_ups[: self.count])
        self._position = 0
        self._in_flight = False
        self._failed: set[int] = set()
        self._results: dict[int, dict[str, float]] = {}  # by position in the steps
        self._sampling: Sampling | None = None

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def decide(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """See Phase: only the next launch of the run-ups is simulated."""
        if not 0 <= index < self.frame.population.size or process != 0:
            raise HostError(f"launch {index} of process {process}: the list has {self.frame.population.size} launches")
        step = self._step()
        if step is None or step.launch != index:
            return Answer(SKIP, 0)
        self._in_flight = True
        return Answer(SIMULATE, 0, 0, step.state, 1)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """See Phase; run-ups are simulated one launch after the other."""
        step = self._step()
        if step is None:
            return DONE, -1
        return (PENDING, -1) if self._in_flight else (OK, step.launch)

    def ahead(self) -> list[Planned]:
        """See Phase: each run-up is a chain; then what the sample draws first, for no run-up changes that."""
        chains: dict[int, list[int]] = {}
        for step in self._steps[self._position :]:
            if step.run_up not in self._failed and (step.state == REPLAYED or step.run_up in chains):
                chains.setdefault(step.run_up, []).append(step.launch)  # else its chain has begun already
        own = [self._planned(launches) for launches in chains.values()]
        steps = {step for plan in own for step in plan.chain}
        sample, inside = self.sampling().sample, self.sampling().inside
        first = first_pass(sample.engine.wanted(), self.frame, self.setup.config.warmup.launches, inside.interval)
        return own + [plan for plan in first if steps.isdisjoint(plan.chain)]

    def _planned(self, launches: list[int]) -> Planned:
        steps = [WorkStep(0, launch, KEPT if i else REPLAYED) for i, launch in enumerate(launches)]
        return Planned(tuple(steps), float(self.frame.expected_costs(np.array(launches)).sum()))

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """See Phase: never."""
        self._running(index, "progress of")
        return False

    def complete(self, process: int, index: int, result: HostResult) -> None:
        """See Phase."""
        step = self._running(index, "a result for")
        if result.stopped:
            raise HostError(f"launch {index} was stopped inside although it was told to continue")
        known = tuple(next(iter(self._results.values()), ())) or self.setup.host.counters
        result.check(index, known, self.setup.budget.counter)
        record = RunUpRecord(process, index, step.run_up, "replayed" if step.state else "kept", result.counters)
        self.recorder.write(record)
        self.apply(record)

    def abort(self, process: int, index: int, reason: str | None) -> None:
        """See Phase: the run-up is given up."""
        self._running(index, "an abort of")
        record = AbortRecord(process, index, 0, reason)
        self.recorder.write(record)
        self.apply(record)

    def name(self, process: int, index: int) -> str | None:
        """See Phase."""
        return self.frame.plan.name_of_unit(index)

    # ---- the life of the phase --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """See Phase."""
        count = len(self._steps) - self._position
        further = "further " if self._position else ""
        self.recorder.progress.say(f"{count:,} {further}launches in run-ups, to estimate what replay misses")

    def resume(self) -> None:
        """See Phase: what the launch before left is gone with its process, so its run-up begins anew."""
        self._in_flight = False
        while (step := self._step()) is not None and step.state == KEPT:
            self._position -= 1
            self._results.pop(self._position, None)

    def apply(self, record: Record) -> None:
        """See Phase."""
        step = self._step()
        if isinstance(record, RunUpRecord):
            if step is None or (step.launch, step.run_up) != (record.launch, record.run_up):
                raise HostError(
                    f"a result of launch {record.launch} in run-up {record.run_up} that the run does not have"
                )
            self._results[self._position] = record.counters
            self._move()
        elif isinstance(record, FurtherRunUpsRecord):
            self._extensions += 1
            self.count = min(record.run_ups, len(self.run_ups))
            self._steps = steps_of(self.run_ups[: self.count])
        elif isinstance(record, AbortRecord) and step is not None:
            self._failed.add(step.run_up)
            self._move()
        elif isinstance(record, ResumeRecord):
            self.resume()

    def _move(self) -> None:
        self._in_flight = False
        self._position += 1
        while (step := self._step()) is not None and step.run_up in self._failed:
            self._position += 1

    def sampling(self) -> Sampling:
        """See Phase: the sample, whose results are compared with those of the run-ups."""
        if self._sampling is None:
            self._sampling = Sampling(self.setup, self.frame, self.recorder, run_ups=self)
        return self._sampling

    def following(self) -> Sampling:
        """See Phase: the sample, before its first pass or where it waits."""
        return self.sampling()

    def outcome(self, sample: Sample) -> ReplayCheck:
        """The error of each counter, from the run-ups whose last launch the sample has simulated as well."""
        cycles = sum(counters["cycles"] for counters in self._results.values())
        kept = {
            self._steps[position].launch: counters
            for position, counters in self._results.items()
            if self._steps[position].is_last
        }
        chances = {run_up.launches[-1]: run_up.chance for run_up in self.run_ups}
        return check_of(sample, kept, chances, cycles, self.setup.budget.confidence)

    def extend(self, sample: Sample, pass_index: int) -> bool:
        """See MeasuresReplay: as many as should leave the sample enough of the error budget."""
        if not sample.is_complete:
            return False
        found, budget = self.outcome(sample), self.setup.budget
        names = RATIOS.get(budget.counter, (budget.counter,))
        errors = [found.errors[name] for name in names if name in found.errors]
        if not errors or self._extensions == MOST_EXTENSIONS or self.count == len(self.run_ups):
            return False
        error = SystematicError(sum(abs(e.error) for e in errors), sum(e.half_width for e in errors))
        n, eps = found.run_ups, budget.relative_error
        most = min(n + len(self.run_ups) - self.count, MOST_GROWTH * n)
        further = enough_run_ups(error, n, eps, budget.confidence, most) - n
        if further:
            record = FurtherRunUpsRecord(pass_index, self.count + further)
            self.recorder.write(record)
            self.apply(record)
        return further > 0

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _step(self) -> Step | None:
        return self._steps[self._position] if self._position < len(self._steps) else None

    def _running(self, index: int, what: str) -> Step:
        step = self._step()
        if step is None or step.launch != index or not self._in_flight:
            raise HostError(f"{what} launch {index}, which is not in flight: each launch is counted once")
        return step
