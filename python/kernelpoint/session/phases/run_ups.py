"""The phase before the sample: how far are launches from replayed state from those with real state?

In a few places, chosen beforehand, consecutive launches are simulated one after the other, each with the state that the one
before it left; then again, each from replayed state. The difference is what replay misses (design, section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import replay_error
from kernelpoint.journal import AbortRecord, Record, ResumeRecord, RunUpRecord
from kernelpoint.randomness import generator
from kernelpoint.session.phases.phase import DONE, OK, PENDING, SIMULATE, SKIP, Answer, check_result
from kernelpoint.session.phases.sampling import Sampling
from kernelpoint.session.recorder import Recorder
from kernelpoint.session.replays import KEPT, REPLAYED, ReplayCheck
from kernelpoint.session.setup import Frame, Setup
from kernelpoint.session.work import Planned
from kernelpoint.session.work import Step as WorkStep

LONG, SHORT = 3, 2  # launches of a run-up; the first begins with replayed state in either case
LONG_LIST = 1000  # launches from which on run-ups are long


@dataclass(frozen=True)
class Step:
    """One launch of a run-up to be simulated."""

    run_up: int
    launch: int
    state: int


def places(seed: int, launches: int, count: int) -> list[range]:
    """The run-ups: one at random in each of `count` equal parts of the list.

    >>> [len(place) for place in places(0, 3000, 3)]
    [3, 3, 3]
    """
    length = LONG if launches >= LONG_LIST else SHORT
    cuts = np.linspace(0, launches, count + 1).astype(int)
    u = generator(seed, "run-ups").random(count)
    return [
        range(first := int(low + share * (high - low - length + 1)), first + length)
        for low, high, share in zip(cuts[:-1], cuts[1:], u, strict=True)
    ]


class RunUps:
    """See Phase for the methods; the sample follows it.

    Args:
        setup: of a run that `replays.needs_run_ups`; frame: its launches; recorder: takes records.
    """

    def __init__(self, setup: Setup, frame: Frame, recorder: Recorder) -> None:
        self.setup, self.frame, self.recorder = setup, frame, recorder
        found = places(setup.config.seed, frame.population.size, setup.config.replay.check)
        real = [Step(i, n, KEPT if n > place[0] else REPLAYED) for i, place in enumerate(found) for n in place]
        again = [Step(i, n, REPLAYED) for i, place in enumerate(found) for n in place[1:]]
        self._steps = [*real, *again]
        self._real = len(real)
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
        return Answer(SIMULATE, 0, 0, step.state)

    def next(self, process: int, after: int) -> tuple[int, int]:
        """See Phase; run-ups are simulated one launch after the other."""
        step = self._step()
        if step is None:
            return DONE, -1
        return (PENDING, -1) if self._in_flight else (OK, step.launch)

    def ahead(self) -> list[Planned]:
        """See Phase: each run-up with real state is a chain, and each of its launches from replayed state one of its own."""
        chains: list[list[int]] = []
        for position in range(self._position, len(self._steps)):
            step = self._steps[position]
            if step.run_up in self._failed:
                continue
            if step.state == REPLAYED:
                chains.append([position])
            elif chains:  # else its chain has begun already
                chains[-1].append(position)
        return [self._planned([self._steps[position].launch for position in chain]) for chain in chains]

    def _planned(self, launches: list[int]) -> Planned:
        steps = [WorkStep(0, launch, KEPT if i else REPLAYED) for i, launch in enumerate(launches)]
        return Planned(tuple(steps), float(self.frame.expected_costs(np.array(launches)).sum()))

    def stops(self, process: int, index: int, point: Sequence[int]) -> bool:
        """See Phase: never."""
        self._running(index, "progress of")
        return False

    def complete(
        self, process: int, index: int, stopped: bool, names: tuple[str, ...], values: tuple[float, ...]
    ) -> None:
        """See Phase."""
        step = self._running(index, "a result for")
        if stopped:
            raise HostError(f"launch {index} was stopped inside although it was told to continue")
        known = tuple(next(iter(self._results.values()), ())) or self.setup.host.counters
        check_result(index, names, values, known, self.setup.budget.counter)
        counters = dict(zip(names, values, strict=True))
        record = RunUpRecord(process, index, step.run_up, "replayed" if step.state else "kept", counters)
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
        self.recorder.progress.say(f"{len(self._steps):,} launches in run-ups, to estimate what replay misses")

    def resume(self) -> None:
        """See Phase: what the launch before left is gone with its process, so its run-up begins anew."""
        self._in_flight = False
        while self._position < self._real and self._steps[self._position].state == KEPT:
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
        """See Phase: the sample, with what the run-ups told."""
        if self._sampling is None:
            self._sampling = Sampling(self.setup, self.frame, self.recorder, checked=self.outcome())
        return self._sampling

    def outcome(self) -> ReplayCheck:
        """The error of each counter, from the run-ups that were simulated whole both ways."""
        count = self.setup.config.replay.check
        whole = [i for i in range(count) if i not in self._failed]
        cycles = sum(counters["cycles"] for counters in self._results.values())
        if self._step() is not None or len(whole) < 2:
            return ReplayCheck(cycles=cycles, reason="too few run-ups could be simulated")
        sums: list[dict[int, dict[str, float]]] = [{}, {}]
        for position, counters in self._results.items():
            step, again = self._steps[position], position >= self._real
            if step.run_up in self._failed or (not again and step.state == REPLAYED):
                continue  # the first of a run-up begins with replayed state either way
            into = sums[again].setdefault(step.run_up, {})
            for name, value in counters.items():
                into[name] = into.get(name, 0.0) + value
        names = sums[0][whole[0]]
        kept, replayed = ({name: np.array([part[i].get(name, 0.0) for i in whole]) for name in names} for part in sums)
        confidence = self.setup.budget.confidence
        return ReplayCheck({name: replay_error(kept[name], replayed[name], confidence) for name in names}, cycles)

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _step(self) -> Step | None:
        return self._steps[self._position] if self._position < len(self._steps) else None

    def _running(self, index: int, what: str) -> Step:
        step = self._step()
        if step is None or step.launch != index or not self._in_flight:
            raise HostError(f"{what} launch {index}, which is not in flight: each launch is counted once")
        return step
