"""Processor time that a run saves: the time of a full run, less that of this run."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kernelpoint.progress import duration

LEAST_SECONDS = 0.5  # of simulation; a rate measured on 0.2 s was 1.4 times too high
LEAST_SHARE = 0.1  # of a full run, that has to be saved for a line; measured times vary by as much

Place = tuple[int, int]  # process and launch


class TimeSaved:
    """Measurement of the processor time that sampling saves: the time of simulated launches, and of everything else in the run.

    The time of a launch runs from its decision to its result; launches must not overlap. If another process simulates the
    launch, `end` receives the time used there.

    Attributes:
        begun: time of the clock when the run opened; 0 in a simulator's process, all of whose time belongs to the run.
        known: for a run that other processes simulated: seconds of a full run, and seconds spent; else None.
        is_least: True if the constant launch latency was not simulated, so that the stated time of a full run is a lower limit.

    >>> clock = iter([0.0, 1.0, 3.0, 4.0]).__next__
    >>> time_saved = TimeSaved(clock)
    >>> time_saved.begin()
    >>> time_saved.end((0, 7), 1000.0)
    >>> time_saved.measure(lambda places: [51.0], total_cycles=51_000.0)
    >>> time_saved.seconds, time_saved.sentence()
    (98.0, 'about 98 s of processor time saved: a full run would take about 102 s, this one took 4 s')
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self.begun = clock()
        self.known: tuple[float, float] | None = None
        self.is_least = False
        self._since: float | None = None
        self._elsewhere = 0.0
        self._took: dict[Place, tuple[float, float]] = {}  # seconds and cycles

    def begin(self) -> None:
        """Start the clock for the next launch. A further call restarts it."""
        self._since = self._clock()

    def end(self, place: Place, cycles: float, seconds: float | None = None) -> None:
        """Record the end of a launch.

        Args:
            place: process and index of the launch.
            cycles: simulated cycles of the launch.
            seconds: processor time of the launch in another process; None: it is measured here.
        """
        if seconds is not None:
            self._took[place] = (seconds, cycles)
            self._elsewhere += seconds
        elif self._since is not None:
            self._took[place] = (self._clock() - self._since, cycles)
        self._since = None

    def measure(self, weights: Callable[[list[Place]], np.ndarray | list[float]], total_cycles: float) -> None:
        """Forecast the processor time of a full run from the times of the simulated launches.

        Formula: T = C sum_i w_i s_i / sum_i w_i c_i, over the timed launches i, with

            w_i  number of launches that launch i represents,
            s_i  processor seconds of launch i,
            c_i  cycles of launch i,
            C    cycles of all launches.

        Weights are needed because long launches are drawn more often than short ones.

        Args:
            weights: function that returns w for a list of launches, each a pair of process and index.
            total_cycles: C.
        """
        if self.known is not None or not self._took:
            return
        seconds, cycles = np.array(list(self._took.values())).T
        standing = np.asarray(weights(list(self._took)), dtype=float)
        if seconds.sum() >= LEAST_SECONDS and (standing * cycles).sum() > 0.0:
            full = float((standing * seconds).sum() / (standing * cycles).sum() * total_cycles)
            self.known = full, self._clock() - self.begun + self._elsewhere

    @property
    def seconds(self) -> float | None:
        """Processor seconds saved against a full run; None if unknown, or if a full run would cost about the same."""
        if self.known is None:
            return None
        full, spent = self.known
        return full - spent if full - spent >= max(LEAST_SECONDS, LEAST_SHARE * full) else None

    def sentence(self) -> str | None:
        """Sentence on the time saved; None if `seconds` is None."""
        saved = self.seconds
        if self.known is None or saved is None:
            return None
        full, spent = (duration(value) for value in self.known)
        if self.is_least:
            text = "a full run, which simulates launch latency too, would take more than"
            return f"at least {duration(saved)} of processor time saved: {text} {full}, this one took {spent}"
        return f"about {duration(saved)} of processor time saved: a full run would take about {full}, this one took {spent}"
