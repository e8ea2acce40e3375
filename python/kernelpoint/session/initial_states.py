"""States that launches begin with, replayed from the trace list of each process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.fast_model.configuration import caches_of
from kernelpoint.fast_model.predict import states_of_cores
from kernelpoint.planning.plan import Plan
from kernelpoint.progress import Log
from kernelpoint.simulators import simulator, simulator_of
from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import Replay, Replayed, StateInfo
from kernelpoint.workload.host_info import HostInfo

MEMORY = 256 << 20  # bytes of packed footprints that are kept, shared by the processes


class InitialStates:
    """Cache state in which launches begin. Trace lists are read when they are first needed.

    Args:
        host: description of the simulator, and of the cache state that it can restore.
        log: function that receives a line about each trace that cannot be read.
        cold: True if every launch begins with the caches of the first launch.
        plan: plan of the run, which holds the launches; without it, the trace lists are read again.
    """

    def __init__(self, host: HostInfo, log: Log, cold: bool = False, plan: Plan | None = None) -> None:
        self._host, self._cold, self._plan = host, cold, plan
        self._log = log
        self._memory = MEMORY // max(host.process_count, 1)
        self._lists: dict[int, Replay] = {}

    def before(self, process: int, launch: int) -> Replayed:
        """Memory accesses of earlier launches, to fill the caches before a launch is simulated.

        Args:
            process: index of the simulator process.
            launch: index of the launch in the process's list.

        Raises:
            HostError: the simulator cannot restore caches, there is no such process, or the list has no such launch.
        """
        if not self._host.can_replay:
            raise HostError(
                "replay: caches cannot be restored: no caches were described, or no trace list is on disk; set `replay: off`"
            )
        if process >= (count := len(self._host.list_paths)):
            raise HostError(f"process: got {process}; allowed: 0 to {count - 1}")
        try:
            replayed = self._list(process).before(0 if self._cold else launch)
        except IndexError as error:
            raise HostError(f"replay: {error}") from error
        return replace(replayed, state_bytes=simulator(self._host.simulator).replayed_bytes(replayed))

    def shares_left(self, launch: int, most: int) -> np.ndarray:
        """Shares of a launch's cache lines that are in the cache because of the last 1, 2, ..., `most` launches before it.

        Returns:
            float64 array, one share for each number of launches. The run must have one process.
        """
        return self._list(0).shares_left(launch, most)

    def _list(self, process: int) -> Replay:
        """The list of a process: its launches, with their trace contents if the plan has them, and the states of the cores
        that were recorded with the list's predictions.
        """
        if process in self._lists:
            return self._lists[process]
        host, path = self._host, self._host.list_paths[process]
        assert path is not None, "can_replay says that there is a list"
        program = None if self._plan is None else self._plan.program
        if program is not None and program.has_traces and program.copies:
            launches = program.part(process)
        else:
            launches = read_trace_list(path)
        state = StateInfo(
            host.state_lines,
            host.residency,
            host.copies_fill,
            host.counts_ctas,
            host.keeps_rows,
            host.keeps_l1,
            host.predictor,
        )
        trained = b""
        if host.predictor[0]:
            if (caches := caches_of(host.simulator, host.configuration)) is not None:
                state = replace(state, caches=caches)
            files, of = launches.fingerprint.files, simulator_of(launches.traces)
            trained = states_of_cores(of, files, state.residency, state.predictor, state.caches, self._log)
        self._lists[process] = Replay(launches, state, self._memory, log=self._log, trained=trained, list_path=path)
        return self._lists[process]
