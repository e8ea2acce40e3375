"""The embedded host in this process: the fast model simulates each requested launch on demand."""

from __future__ import annotations

import time
from collections.abc import Iterable

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.fast_model import Configuration
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.replays import REPLAYED
from kernelpoint.session.session import Session
from kernelpoint.session.worker_protocol import Outcome, Planned, Step

LINE_BYTES = 128


class InProcess:
    """A list on one simulated GPU; hands over outcomes as coordinator.Simulations does.

    Args:
        traces: the list.
        configuration: of the simulated GPU.

    Attributes:
        host: description of this host, equal to that of the program `kernelpoint-host`.
        session: gives the state that earlier launches leave, and decides on stops inside launches.

    Raises:
        TraceError: the list cannot be read.
    """

    session: Session

    def __init__(self, traces: str, configuration: Configuration) -> None:
        self._walk = _native.fast_model.Walk(traces, configuration)
        values = configuration.values
        self.host = HostInfo(
            "kernelpoint-host",
            version=_native.fast_model.MODEL_VERSION,
            config_hash=self._walk.config_hash,
            can_stop=True,
            copies_fill=True,
            list_paths=(traces,),
            launch_counts=(self._walk.launches,),
            configuration=configuration.text,
            state_lines=values["l2_size"] // LINE_BYTES,
            residency=(
                values["sms"],
                values["max_ctas_per_sm"],
                values["max_warps_per_sm"],
                values["registers_per_sm"],
                values["shared_memory_per_sm"],
            ),
            counter_names=_native.fast_model.COUNTERS,
        )

    def expect(self, planned: Iterable[Planned]) -> None:
        """Nothing is simulated beforehand."""

    def knows(self, launch: int) -> bool:
        """Every launch can be had at any time."""
        return True

    def path(self, launch: int) -> str:
        """Trace of a launch."""
        return self._walk.path(launch)

    def outcome(self, step: Step) -> Outcome:
        """Simulate a launch now."""
        touches = None
        if step.state == REPLAYED:
            touches = self.session.replay_before(step.process, step.launch).touches
        begun = time.process_time()

        def stops(*point: int) -> int:
            return self.session.on_progress(step.process, step.launch, *point)

        try:
            cycles, instructions, values, stopped = self._walk.simulate(step.launch, touches, step.interval, stops)
        except TraceError as error:
            return Outcome(reason=str(error))
        counters = zip(self.host.counters or (), map(float, (cycles, instructions, *values)), strict=True)
        return Outcome(tuple(counters), stopped, processor_seconds=time.process_time() - begun)
