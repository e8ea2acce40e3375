"""State that each launch of a sampling phase begins with: what the simulator holds, or what replay puts back."""

from __future__ import annotations

from kernelpoint.session.replays import KEPT, REPLAYED
from kernelpoint.session.setup import Setup


class KeptState:
    """Knows whose state the simulator holds.

    A full run keeps the simulator's own state from launch to launch, and a launch that was warmed up for that of its
    warm-up; every other one begins with replayed state, whatever else is simulated.

    Attributes:
        restarts: of a full run that was resumed, the units at which it went on.
    """

    def __init__(self, setup: Setup) -> None:
        self._can_replay, self._processes = setup.host.can_replay, setup.host.process_count
        self._is_full_run, self._warms_up = setup.is_full_run, setup.config.warmup.launches > 0
        self._last: int | None = None  # the unit whose result came last
        self._restarting: set[int] = set()  # processes of a resumed full run that have not gone on yet
        self.restarts: list[int] = []

    def of(self, unit: int, pass_index: int) -> int:
        """State (kp_state) that a launch begins with."""
        if not self._can_replay:
            return KEPT
        if self._is_full_run and pass_index == 0:
            return REPLAYED if unit in self.restarts else KEPT
        return KEPT if self._warms_up and self._last == unit - 1 else REPLAYED

    def start(self, process: int, unit: int) -> None:
        """A launch begins."""
        if process in self._restarting:
            self._restarting.remove(process)
            self.restarts.append(unit)

    def end(self, unit: int) -> None:
        """A launch was simulated: the simulator holds what it left."""
        self._last = unit

    def forget(self) -> None:
        """The process that held the state is gone."""
        self._last = None
        if self._is_full_run:
            self._restarting = set(range(self._processes))
