"""Processor time that a run saves, by what its simulated launches took."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernelpoint.progress import duration

LEAST_SECONDS = 0.2  # seconds of simulation; a rate measured on less says little, and less saved is not worth a line


class SavedTime:
    """Processor time of the simulator between the last word with the session before a launch and the launch's result.

    Where the session is not in the simulator's process, `took` is told what the launch took there. Where launches overlap,
    the rate is not that of one launch; then nothing should be asked of it.

    >>> clock = iter([0.0, 2.0]).__next__
    >>> time_saved = SavedTime(clock)
    >>> time_saved.begin()
    >>> time_saved.end(1000.0)
    >>> time_saved.estimate(skipped_cycles=50_000.0)
    100.0
    >>> time_saved.sentence(skipped_cycles=50_000.0)
    'about 100 s of processor time saved, at the 2 s that 1,000 cycles took here'
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._told: float | None = None
        self.seconds = self.cycles = 0.0

    def begin(self) -> None:
        """The session has said its last word before a launch, so far."""
        self._begun = self._clock()

    def took(self, seconds: float) -> None:
        """The launch that ends next took so much processor time, wherever it was simulated."""
        self._told = seconds

    def end(self, cycles: float) -> None:
        """A launch has ended after so many cycles."""
        if self._told is not None:
            self.add(self._told, cycles)
        elif self._begun is not None:
            self.add(self._clock() - self._begun, cycles)
        self._begun = self._told = None

    def add(self, seconds: float, cycles: float) -> None:
        """So many cycles took so much processor time."""
        self.seconds += seconds
        self.cycles += cycles

    def estimate(self, skipped_cycles: float) -> float | None:
        """Seconds that the cycles that were not simulated would have taken; None where the rate is not known."""
        if self.seconds < LEAST_SECONDS or self.cycles <= 0.0 or skipped_cycles <= 0.0:
            return None
        return self.seconds / self.cycles * skipped_cycles

    def sentence(self, skipped_cycles: float) -> str | None:
        """One line on the time saved; None where the rate is not known, or where it is next to nothing."""
        saved = self.estimate(skipped_cycles)
        if saved is None or saved < LEAST_SECONDS:
            return None
        took = f"{duration(self.seconds)} that {self.cycles:,.0f} cycles took here"
        return f"about {duration(saved)} of processor time saved, at the {took}"
