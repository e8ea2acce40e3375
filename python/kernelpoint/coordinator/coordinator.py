"""Coordinator of a run: drives a session; workers simulate, or the embedded host in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernelpoint import _native
from kernelpoint.errors import HostError, TraceError
from kernelpoint.fast_model import Configuration
from kernelpoint.session.orders import (
    BEFORE_FIRST,
    DONE,
    PENDING,
    REPLAYED,
    SIMULATE,
    Order,
    Outcome,
    Planned,
    counters_of,
)
from kernelpoint.session.session import Session
from kernelpoint.workload.host_info import HostInfo

if TYPE_CHECKING:
    from kernelpoint.coordinator.simulations import Simulations

LINE_BYTES = 128


def coordinate(session: Session, simulations: Simulations | InProcess) -> None:
    """Drive a session to its end. The session receives orders and results in program order, whichever worker simulated them.

    Args:
        session: of a run whose launches begin from replayed state, where they are simulated in another order than the
            session's.
        simulations: hands over outcomes.
    """
    after = BEFORE_FIRST
    while (launch := _next(session, after)) is not None:
        if launch <= after or not simulations.knows(launch):
            simulations.expect(session.planned())
        answer = session.on_launch(0, launch, simulations.path(launch))
        if answer.action == SIMULATE:
            session.on_outcome(0, launch, simulations.outcome(Order(0, launch, answer.state, answer.interval)))
        after = launch


def _next(session: Session, after: int) -> int | None:
    """Next launch that the coordinator asks the session about; None at the end of the run."""
    for _ in range(2):  # a pass that begins with launches before this one says so at the second time
        status, launch = session.next(0, after)
        if status != PENDING:
            return None if status == DONE else launch
    raise HostError("internal error, please report it: the session waits for a launch, but none is being simulated")


class InProcess:
    """The embedded host inside this process: the fast model simulates each requested launch on demand.

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
        """Do nothing: launches are simulated on demand."""

    def knows(self, launch: int) -> bool:
        """Return True: any launch can be simulated at any time."""
        return True

    def path(self, launch: int) -> str:
        """Path of the trace of a launch."""
        return self._walk.path(launch)

    def outcome(self, step: Order) -> Outcome:
        """Simulate a launch and return its result."""
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
        counters = counters_of(step.launch, cycles, instructions, _native.fast_model.COUNTERS, values)
        return Outcome(counters, stopped=stopped, processor_seconds=time.process_time() - begun)
