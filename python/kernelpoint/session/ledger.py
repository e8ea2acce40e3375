"""Ledger of the launches that the current pass wants, and the outcome of each: nothing counted twice, nothing
lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kernelpoint.errors import HostError

# A launch is tried in two passes before the run gives its bound up.
MAX_ATTEMPTS = 2
# Begin of the reason of an abort after which the simulator's process ended: another attempt would end the next one.
ENDED_SIMULATOR = "the simulator ended in it"


class Ledger:
    """Walks the wanted units of a pass in program order and keeps the state of those in flight.

    Args:
        offsets: int64 [processes + 1], first unit of each process.
    """

    def __init__(self, offsets: np.ndarray) -> None:
        self._offsets = offsets
        self._wanted = np.zeros(int(offsets[-1]), dtype=bool)
        self._queue = np.empty(0, dtype=np.int64)
        self.open_count = 0
        self.in_flight: set[int] = set()
        self.attempts: dict[int, int] = {}
        self.fatal: set[int] = set()

    def begin_pass(self, wanted: np.ndarray) -> None:
        """Start a pass over the units `wanted` (sorted); none may be in flight."""
        self._wanted[self._queue] = False
        self._queue = np.array(wanted, dtype=np.int64)
        self._wanted[self._queue] = True
        self.open_count = len(self._queue)

    def unit(self, process: int, index: int) -> int:
        """The unit of a launch; HostError where the host names one that the list does not have."""
        if not 0 <= process < len(self._offsets) - 1:
            raise HostError(f"process: got {process}; allowed: 0 to {len(self._offsets) - 2}")
        unit = int(self._offsets[process]) + index
        if not self._offsets[process] <= unit < self._offsets[process + 1]:
            count = int(self._offsets[process + 1] - self._offsets[process])
            raise HostError(f"launch index of process {process}: got {index}; the list has {count} launches")
        return unit

    def action(self, unit: int) -> Literal["simulate", "skip"]:
        """Action of this pass for the unit: it is simulated unless the pass is done with it."""
        return "simulate" if self._wanted[unit] else "skip"

    def start(self, unit: int) -> None:
        """The host received the request to simulate the unit."""
        self.in_flight.add(unit)

    def forget_in_flight(self) -> None:
        """The process that simulated them is gone: units in flight are wanted again, failed ones get a fresh chance, those that
        ended it none.
        """
        self.in_flight.clear()
        self.attempts = {unit: MAX_ATTEMPTS for unit in self.fatal & self.attempts.keys()}

    def complete(self, unit: int) -> None:
        """A result came in for a unit in flight."""
        self._leave(unit, "completed")

    def abort(self, unit: int, reason: str | None = None) -> None:
        """A unit in flight could not be simulated."""
        self._leave(unit, "aborted")
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        if (reason or "").startswith(ENDED_SIMULATOR):
            self.fatal.add(unit)
            self.attempts[unit] = MAX_ATTEMPTS

    def next_after(self, process: int, index: int, in_flight: bool = False) -> int | None:
        """The first wanted launch of a process after `index`, as a launch index; `in_flight`: also one that is in flight."""
        base = int(self._offsets[process])
        position = int(np.searchsorted(self._queue, base + index, side="right"))
        while position < len(self._queue) and self._queue[position] < self._offsets[process + 1]:
            unit = int(self._queue[position])
            if self._wanted[unit] and (in_flight or unit not in self.in_flight):
                return unit - base
            position += 1
        return None

    def open_units(self) -> np.ndarray:
        """int64: units of this pass that are not done with and not in flight, ascending."""
        waiting = self._queue[self._wanted[self._queue]]
        return np.setdiff1d(waiting, np.fromiter(self.in_flight, dtype=np.int64, count=len(self.in_flight)))

    def place(self, unit: int) -> tuple[int, int]:
        """Process and launch index of a unit."""
        process = int(np.searchsorted(self._offsets, unit, side="right")) - 1
        return process, unit - int(self._offsets[process])

    def give_up(self, launches: Sequence[tuple[int, int]]) -> list[int]:
        """Forget launches that failed, each (process, launch index): the run goes on without them. Their units."""
        units = [self.unit(*launch) for launch in launches]
        for unit in units:
            self.attempts.pop(unit, None)
            self.open_count -= int(self._wanted[unit])
            self._wanted[unit] = False
        return units

    def lost(self) -> list[int]:
        """Units that failed as often as is allowed."""
        return sorted(unit for unit, count in self.attempts.items() if count >= MAX_ATTEMPTS)

    def _leave(self, unit: int, what: str) -> None:
        if unit not in self.in_flight:
            raise HostError(
                f"launch unit {unit} was {what} but is not in flight; each decision to simulate has one result"
            )
        self.in_flight.remove(unit)
        self._wanted[unit] = False
        self.open_count -= 1
