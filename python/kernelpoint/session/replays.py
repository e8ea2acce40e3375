"""Replay of the state between launches, one trace list for each process."""

from __future__ import annotations

from kernelpoint.errors import HostError
from kernelpoint.fast_model.predict import states_of_cores
from kernelpoint.progress import Log
from kernelpoint.simulators import simulator_of
from kernelpoint.traces import launch_paths
from kernelpoint.traces.replay import Replay, Replayed, StateInfo
from kernelpoint.workload import fingerprint
from kernelpoint.workload.host_info import HostInfo

KEPT, REPLAYED = 0, 1  # kp_state
MEMORY = 256 << 20  # bytes of packed footprints that are kept, shared by the processes


class Replays:
    """State that launches of each process begin with; lists are read at the first use.

    Args:
        host: the simulator, with the state that it can restore.
        log: told of traces that cannot be read.
        cold: every launch begins as the first one does.
    """

    def __init__(self, host: HostInfo, log: Log, cold: bool = False) -> None:
        self._host, self._cold = host, cold
        self._log = log
        self._memory = MEMORY // max(host.process_count, 1)
        self._lists: dict[int, Replay] = {}

    def before(self, process: int, launch: int) -> Replayed:
        """The touches of the launches before one.

        Raises:
            HostError: the host cannot replay, it has no such process, or the list has no such launch.
        """
        if not self._host.can_replay:
            raise HostError("kp_replay_before: this host stated no state_lines, or no trace list on disk")
        if process >= (count := len(self._host.list_paths)):
            raise HostError(f"process: got {process}; allowed: 0 to {count - 1}")
        if process not in self._lists:
            self._lists[process] = self._open(process)
        try:
            return self._lists[process].before(0 if self._cold else launch)
        except IndexError as error:
            raise HostError(f"kp_replay_before: {error}") from error

    def _open(self, process: int) -> Replay:
        host, path = self._host, self._host.list_paths[process]
        assert path is not None, "can_replay says that there is a list"
        state = StateInfo(
            host.state_lines,
            host.residency,
            host.copies_fill,
            host.counts_ctas,
            host.keeps_rows,
            host.keeps_l1,
            host.predictor,
        )
        return Replay(path, state, self._memory, log=self._log, trained=self._trained(path))

    def _trained(self, path: str) -> bytes:
        """States of the cores that were recorded with the list's predictions."""
        if self._host.predictor[0] == 0:
            return b""
        paths = launch_paths(path)
        identity = fingerprint((len(paths),), paths).files
        return states_of_cores(simulator_of(paths), identity, self._host.residency, self._host.predictor, self._log)
