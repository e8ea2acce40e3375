"""Replay of the state between launches, one trace list for each process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernelpoint.errors import HostError
from kernelpoint.session.host_info import HostInfo

if TYPE_CHECKING:
    from kernelpoint.traces.replay import Replay, Replayed

KEPT, REPLAYED = 0, 1  # kp_state


class Replays:
    """State that launches of each process begin with; lists are read at the first use.

    Args:
        host: the simulator, with the state that it can restore.
        policy: of the run.
        log: told of traces that cannot be read.
        memory: bytes of packed footprints that are kept, shared by the processes.
    """

    def __init__(self, host: HostInfo, policy: str, log: Callable[[str], None], memory: int = 256 << 20) -> None:
        self.can_replay = host.can_replay
        self._keeps = policy == "all"  # one launch after the other, with the simulator's own state
        self._host = host
        self._log = log
        self._memory = memory // max(host.process_count, 1)
        self._lists: dict[int, Replay] = {}

    def state_of(self, process: int, launch: int) -> int:
        """State that a launch to be simulated begins with."""
        return REPLAYED if self.can_replay and not self._keeps else KEPT

    def before(self, process: int, launch: int) -> Replayed:
        """The touches of the launches before one.

        Raises:
            HostError: the host cannot replay, or the list has no such launch.
        """
        if not self.can_replay:
            raise HostError("kp_replay_before: this host stated no state_lines, or no trace list on disk")
        if process not in self._lists:
            self._lists[process] = self._open(process)
        try:
            return self._lists[process].before(launch)
        except IndexError as error:
            raise HostError(f"kp_replay_before: {error}") from error

    def _open(self, process: int) -> Replay:
        # here, because a run that replays nothing does not need the native reader
        from kernelpoint.traces.replay import Replay, StateInfo

        host, path = self._host, self._host.list_paths[process]
        assert path is not None, "can_replay says that there is a list"
        state = StateInfo(host.state_lines, host.residency, host.copies_fill, host.counts_ctas)
        return Replay(path, state, self._memory, log=self._log)
