"""Hosts in Python: a simulator written in Python, and the embedded host in this process. Session and journal are those of a
simulator on the C ABI.

import kernelpoint as kp

with kp.host("kernelpoint.yaml", layers) as run:
    for launch in run:
        run.result(launch, cycles=simulate(layers[launch]))
print(run.summary.estimate, run.summary.half_width)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from kernelpoint import _native
from kernelpoint.arguments import checked
from kernelpoint.config import load_config, parse_config
from kernelpoint.errors import HostError, TraceError, shown
from kernelpoint.fast_model import Configuration
from kernelpoint.journal import Outcome, SummaryRecord
from kernelpoint.program import descriptions
from kernelpoint.progress import Log
from kernelpoint.session.boundary import command_line, open_run
from kernelpoint.session.orders import EXECUTE, REPLAYED, SIMULATE, Order
from kernelpoint.session.session import Session
from kernelpoint.workload.host_info import HostInfo, counters_by_name


def to_standard_error(line: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(f"{line}\n")


class HostedRun:
    """Sampled run of a simulator written in Python. Iterate over it to get the launches to simulate, and report each result.

    Returned by :func:`host`. The end of the `with` block ends the run and computes its totals. After an exception in the block,
    the same program resumes the run from its journal (record of the run).

    Attributes:
        summary: totals of the run, once it has ended.
    """

    def __init__(
        self,
        session: Session,
        execute: Callable[[int], object] | None = None,
        restore: Callable[[int], object] | None = None,
    ) -> None:
        self._session, self._execute, self._restore = session, execute, restore
        self.summary: SummaryRecord | None = None

    def __enter__(self) -> HostedRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._session.finish()
            self.summary = self._session.summary
        self._session.journal.close()

    def __iter__(self) -> Iterator[int]:
        """Launch indices to simulate, in the order of the list and pass after pass, until the run is done.

        Raises:
            HostError: the previous launch has neither a result nor a failure.
        """
        for launch, answer in self._session.walk():
            if answer.action == EXECUTE and self._execute is not None:
                self._execute(launch)
            if answer.state == REPLAYED and self._restore is not None:
                self._restore(launch)
            if answer.action == SIMULATE:
                yield launch

    @checked
    def result(self, launch: int, cycles: int | float, instructions: int | float = 0, **counters: float) -> None:
        """Report the counters of a simulated launch. Each launch must have the same counters, and each counter must add up over
        launches.

        Args:
            launch: index of the launch.
            counters: further counters by name.

        Raises:
            HostError: the launch was not requested, or a value is negative or not finite.
        """
        names, values = tuple(counters), tuple(float(value) for value in counters.values())
        self._session.on_complete(0, launch, False, cycles, instructions, names, values)

    @checked
    def fail(self, launch: int, reason: str = "") -> None:
        """Report that a launch could not be simulated. It is requested once more. After a second failure, the bound is widened
        for the missing result.

        Raises:
            HostError: the launch was not requested.
        """
        self._session.on_abort(0, launch, reason or None)


@checked
def host(
    config: str | Path | Mapping[str, Any],
    launches: int | Sequence[Mapping[str, Any]],
    simulator: str = "python",
    gpu: str = "",
    stateless: bool = False,
    deterministic: bool = False,
    execute: Callable[[int], object] | None = None,
    restore: Callable[[int], object] | None = None,
    log: Log = to_standard_error,
) -> HostedRun:
    """Open a sampled run of a simulator written in Python, or resume it from its journal (record of the run).

    Args:
        config: path of the configuration file, or a mapping of its keys.
        launches: number of launches, or one mapping for each launch, with any of `name`, `shape` (integers), `cost` (predicted
            cycles), `key` (an integer, equal for launches with equal input) and `features` (amounts of work, as many for every
            launch).
        simulator: name of the simulator.
        gpu: text that identifies the simulated device; a resumed run must have the same text.
        stateless: True if no launch changes the result of a later one, so that the bound covers the total error.
        deterministic: True if launches with equal `key` have equal results, so that one launch of each key is simulated.
        execute: function that runs a launch functionally, without timing, for a simulator whose launches read data that earlier
            launches wrote. Every launch up to the last one to simulate is then executed or simulated, in program order. A
            further round of sampling may begin again at launch 0; memory must then have its initial content.
        restore: function that brings the simulator approximately into the state before a launch. It is called before each
            launch of the sample, and its result must not depend on the launches simulated so far. A few launches are also
            simulated directly after their predecessors, without `restore`. The differences become part of the bound, which then
            covers the total error.
        log: function that receives lines for the user.

    Returns:
        The run: a context manager, and an iterator over launch indices.

    Raises:
        ConfigError: the configuration is refused.
        HostError: the description of a launch is refused.

    >>> import kernelpoint as kp
    >>> layers = [{"name": "gemm", "shape": (128, 128, 64 + 64 * (layer % 4))} for layer in range(400)]
    >>> keys = {"version": 1, "policy": "kernelpoint", "journal": "layers.kpjournal"}
    >>> with kp.host(keys, layers, stateless=True, log=lambda line: None) as run:
    ...     for layer in run:
    ...         run.result(layer, cycles=1000 + 10 * layers[layer]["shape"][2])
    >>> round(run.summary.estimate), run.summary.met, run.summary.simulated < 80
    (1040000, True, True)
    """
    parsed = parse_config(dict(config), "keys") if isinstance(config, Mapping) else load_config(config)
    count = launches if isinstance(launches, int) else len(launches)
    if count < 1:
        raise HostError(f"launches: got {shown(launches)}; allowed: at least one")
    info = HostInfo(
        simulator,
        config_hash=gpu,
        launch_counts=(count,),
        stateless=stateless,
        has_no_traces=True,
        is_deterministic=deterministic,
        executes=execute is not None,
        restores=restore is not None,
        descriptions=None if isinstance(launches, int) else descriptions(list(launches)),
    )
    return HostedRun(open_run(parsed, info, log, command=command_line()), execute, restore)


# ---- the embedded host --------------------------------------------------------------------------------------------------

LINE_BYTES = 128


class InProcess:
    """Embedded host (KernelPoint's small simulator) inside this process. The fast model, an analytic GPU model, simulates each
    launch.

    Args:
        traces: path of the trace list.
        configuration: configuration of the simulated GPU.

    Attributes:
        host: description of this simulator, equal to that of the program `kernelpoint-host`.
        session: session of the run. It supplies the cache state that earlier launches leave, and decides whether a launch is
            stopped early.

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

    def simulate(self, step: Order) -> Outcome:
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
            return Outcome(step.process, step.launch, reason=str(error))
        counters = counters_by_name(step.launch, cycles, instructions, _native.fast_model.COUNTERS, values)
        seconds = time.process_time() - begun
        return Outcome(step.process, step.launch, counters=counters, stopped=stopped, processor_seconds=seconds)
