"""Processor time that a run saves, by what its simulated launches took."""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST = 0.2  # seconds of simulation; a rate measured on less says little


class SavedTime:
    """Processor time of the simulator between the last word with the session before a launch and the launch's result.

    Where the session is not in the simulator's process, or launches overlap, the rate is not that of the simulator; then
    nothing should be asked of it.

    >>> clock = iter([0.0, 2.0]).__next__
    >>> time_saved = SavedTime(clock)
    >>> time_saved.begin()
    >>> time_saved.end(1000.0)
    >>> time_saved.estimate(skipped_cycles=50_000.0)
    100.0
    >>> time_saved.sentence(skipped_cycles=50_000.0)
    'about 100 s of processor time saved, at the 2.0 s that 1,000 cycles took here'
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._begun: float | None = None
        self.seconds = self.cycles = 0.0

    def begin(self) -> None:
        """The session has said its last word before a launch, so far."""
        self._begun = self._clock()

    def end(self, cycles: float) -> None:
        """A launch has ended after so many cycles."""
        if self._begun is not None:
            self.seconds += self._clock() - self._begun
            self.cycles += cycles
        self._begun = None

    def estimate(self, skipped_cycles: float) -> float | None:
        """Seconds that the cycles that were not simulated would have taken; None where the rate is not known."""
        if self.seconds < LEAST or self.cycles <= 0.0 or skipped_cycles <= 0.0:
            return None
        return self.seconds / self.cycles * skipped_cycles

    def sentence(self, skipped_cycles: float) -> str | None:
        """One line on the seconds saved; None where the rate is not known."""
        if (saved := self.estimate(skipped_cycles)) is None:
            return None
        return (
            f"about {saved:,.0f} s of processor time saved, at the {self.seconds:,.1f} s that {self.cycles:,.0f} cycles "
            "took here"
        )
