"""Trajectories of launches in the fast model, for projections of launches that are stopped inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.errors import KernelPointError
from kernelpoint.intrakernel import ProgressTrace
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.replays import Replays

if TYPE_CHECKING:
    from kernelpoint.workload import Population

INTERVAL = 25  # cycles between two points of a trajectory
MEMORY = 64 << 20  # bytes of footprints
NOTHING = np.zeros((0, 4), dtype=np.uint64)


class Trajectories:
    """Trajectories by simulation: the fast model runs a launch from its first CTA to its last when it is asked about it.

    The launch begins with what the launches before it leave in L2, where the host names its trace list.

    Args:
        host: the simulator.
        population: of the run; its model source says whether there is a model, and for which GPU.
        log: told once that a launch could not be simulated.
    """

    def __init__(self, host: HostInfo, population: Population, log: Callable[[str], None]) -> None:
        self._host, self._population, self._log = host, population, log
        self._replays = Replays(host, MEMORY, lambda text: None)  # the run's own tells of traces that cannot be read
        self._told = False

    def of(self, unit: int) -> ProgressTrace | None:
        """The trajectory of one launch; None where there is no model, or it cannot simulate the launch."""
        source, paths = self._population.model_source, self._population.paths
        if source is None or not paths or not paths[unit]:
            return None
        from kernelpoint import _native  # which a run without lists does not need

        try:
            touches = self._touches(unit)
            points = _native.fast_model.course(paths[unit], source.configuration, touches, INTERVAL)
        except KernelPointError as error:
            if not self._told:
                self._log(f"the fast model cannot simulate a launch, which is projected without it: {error}")
            self._told = True
            return None
        trace = ProgressTrace()
        for cycles, instructions, issued, completed in points.tolist():
            trace.add(cycles, instructions, issued, completed, int(points[-1, 2]))
        return trace

    def _touches(self, unit: int) -> np.ndarray:
        """uint64 [n, 4]: address, sectors touched, sectors written, whether copied; none where nothing can be replayed."""
        if not self._host.can_replay or self._population.listed is not None:
            return NOTHING
        offsets = self._population.offsets
        process = int(np.searchsorted(offsets, unit, side="right")) - 1
        touches = self._replays.before(process, unit - int(offsets[process])).touches
        fields = [touches[name].astype(np.uint64) for name in ("line", "touched", "written", "copied")]
        return np.stack(fields, axis=1)
