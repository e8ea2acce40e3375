"""A simulator that works for a coordinator: its messages, one JSON object a line over two pipes, and its session.

It is started with WORKER_PIPES_ENV in its environment, decides nothing and opens no journal. It says who it is (Hello). Then it
simulates the chains of launches that it is sent, and answers each with one outcome an order. It ends when the pipe ends, or its
parent. Empty lines between the answers say that its process runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from kernelpoint import __version__
from kernelpoint.admission.simulable import TraceIntegrity
from kernelpoint.config import Config
from kernelpoint.errors import SessionError
from kernelpoint.journal import Outcome
from kernelpoint.journal.records import plain
from kernelpoint.policies.early_stop import Projections
from kernelpoint.policies.registry import load_policy
from kernelpoint.progress import Log
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.orders import (
    DONE,
    ENDED_SIMULATOR,
    OK,
    SIMULATE,
    SKIP,
    Answer,
    Chain,
    Order,
    OutcomeCalls,
    not_in_flight,
)
from kernelpoint.session.setup import counts_latency
from kernelpoint.session.statement import NO_BOUND, Summary
from kernelpoint.traces import ListedTraces
from kernelpoint.traces.replay import Replayed
from kernelpoint.typed import loads, reader
from kernelpoint.workload.host_info import HostInfo

SECONDS_BETWEEN_BEATS = 5.0
PR_SET_PDEATHSIG = 1  # of prctl(2): the signal that a process gets when the thread that started it ends


# ---- messages ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hello:
    """Message with which a worker's simulator introduces itself to the coordinator: KernelPoint's version, process id, and
    description of the simulator.
    """

    kernelpoint: str
    pid: int
    host: dict[str, Any]


def encode_chain(chain: Chain) -> str:
    """Encode a chain as one line of JSON.

    >>> encode_chain((Order(0, 7, 1),))
    '[[0,7,1,0]]'
    >>> reader(Chain)(loads('[[0,7,1,0]]'))
    (Order(process=0, launch=7, state=1, interval=0),)
    """
    return json.dumps(chain, separators=(",", ":"))


def encode_outcomes(chain: Chain, outcomes: Sequence[Outcome]) -> str:
    """Encode a chain and its results as one line of JSON, without loss of digits."""
    return json.dumps({"chain": chain, "outcomes": plain(outcomes)}, separators=(",", ":"))


def decode_outcomes(line: str | bytes) -> tuple[Chain, tuple[Outcome, ...]]:
    """Decode a chain and its results from one line of JSON.

    Raises:
        ValueError: the line was not made by `encode_outcomes`.

    >>> chain = (Order(0, 7, 1),)
    >>> decode_outcomes(encode_outcomes(chain, [Outcome(0, 7, counters={"cycles": 0.1})]))[1][0].counters
    {'cycles': 0.1}
    """
    answer = reader(_Answer)(loads(line))
    return answer.chain, answer.outcomes


@dataclass(frozen=True)
class _Answer:
    chain: Chain
    outcomes: tuple[Outcome, ...]


# ---- the session ------------------------------------------------------------------------------------------------------


class WorkerSession(OutcomeCalls):
    """Session in a simulator that works for a coordinator. Methods correspond to the C functions of kernelpoint/abi.h.

    Args:
        config: configuration of the run. A worker uses only the keys on stopping launches early, launch latency and replay.
        info: description of the simulator, which is sent to the coordinator.
        log: function that receives lines for the user.
        descriptors: file descriptors of the pipes from and to the coordinator, such as "3,4".
    """

    def __init__(self, config: Config, info: Mapping[str, Any], log: Log, descriptors: str) -> None:
        host = HostInfo.from_mapping(info)
        chains, self._answers = map(int, descriptors.split(","))
        self._host, self._confidence = host, config.error_budget.confidence
        self._initial_states = InitialStates(host, log, config.replay.state == "empty")
        self._whole_traces = TraceIntegrity() if host.needs_whole_traces else None
        self._listed = ListedTraces(host.list_paths)
        self._projections = Projections(load_policy(config.policy).projects(config))
        self._skips_latency = counts_latency(config)
        self._chain: Chain = ()
        self._outcomes: list[Outcome] = []
        self._points: list[tuple[int, ...]] = []
        self._begun = self._processor_begun = 0.0
        self._simulated: set[tuple[int, int]] = set()
        self._chains: SimpleQueue[Chain | None] = SimpleQueue()
        self._writing = threading.Lock()
        die_with_parent()
        self._say(json.dumps({"kernelpoint": __version__, "pid": os.getpid(), "host": dict(info)}))
        _start_thread(lambda: _read_chains(chains, self._chains))
        _start_thread(self._beat)

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def next(self, process: int, after: int) -> tuple[int, int]:
        """Next launch of the current chain, or of the chain that the coordinator sends next. The status is DONE if no chain
        follows.
        """
        if (order := self._order()) is None:
            chain = self._chains.get()
            if chain is None:
                return DONE, -1
            self._chain, self._outcomes = chain, []
            order = chain[0]
        return OK, order.launch

    def on_launch(self, process: int, index: int, trace_path: str | None = None) -> Answer:
        """Answer to the simulator: simulate the launch if it is the next of the chain, else skip it."""
        if (order := self._order()) is None or order[:2] != (process, index):
            return Answer(SKIP, 0)
        self._begun, self._processor_begun, self._points = time.monotonic(), time.process_time(), []
        whole, path = self._whole_traces, trace_path or self._listed.path(process, index)
        if whole is not None and (problem := whole.problem(path)):
            self.on_abort(process, index, problem)
            return Answer(SKIP, 0)
        return Answer(SIMULATE, 0, order.interval, order.state, skips_latency=self._skips_latency)

    def replay_before(self, process: int, index: int) -> Replayed:
        """Memory accesses of earlier launches that the simulator applies to its caches before this launch."""
        touches = self._initial_states.before(process, index)
        self._processor_begun = time.process_time()
        return touches

    def on_progress(self, process: int, index: int, *point: int) -> int:
        """Decide whether the launch being simulated continues (0) or stops (1), from its progress alone."""
        self._in_flight(process, index)
        self._points.append(point)
        return int(self._projections.stops(index, *point))

    def on_outcome(self, outcome: Outcome) -> None:
        """Store the result of a launch; after the last launch of the chain, send all results to the coordinator."""
        process, index = outcome.process, outcome.launch
        self._in_flight(process, index)
        seconds = time.monotonic() - self._begun
        if outcome.counters:
            self._simulated.add((process, index))
            points = tuple(self._points) if outcome.stopped else None
            processor = time.process_time() - self._processor_begun
            outcome = replace(outcome, points=points, seconds=seconds, processor_seconds=processor)
        elif (outcome.reason or "").startswith(ENDED_SIMULATOR):
            return  # the coordinator sees the process end, and has the launch simulated once more
        else:
            outcome = replace(outcome, reason=outcome.reason or "no reason given", seconds=seconds)
        self._projections.forget(index)
        self._outcomes.append(outcome)
        if self._order() is None:
            self._say(encode_outcomes(self._chain, self._outcomes))

    def finish(self) -> Summary:
        """Summary with the number of launches that this simulator simulated. A worker states no estimate."""
        launches = self._host.launch_counts
        simulated = [sum(process == p for p, _ in self._simulated) for process in range(self._host.process_count)]
        rows = [(p, max(n, s), s, ()) for p, (n, s) in enumerate(zip(launches, simulated, strict=True))]
        total, done = sum(row[1] for row in rows), sum(simulated)
        return Summary(NO_BOUND, total, done, total - done, 1, 0, self._confidence, np.nan, np.nan, (), (), rows)

    def launch_estimate(self, process: int, index: int) -> tuple[float, float, bool, list[float]]:
        """Return unknown values: a worker does not know the cost of a launch."""
        return np.nan, np.nan, (process, index) in self._simulated, []

    def launch_name(self, process: int, index: int) -> str | None:
        """Return None: a worker does not know the names of launches."""
        return None

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _order(self) -> Order | None:
        return self._chain[len(self._outcomes)] if len(self._outcomes) < len(self._chain) else None

    def _in_flight(self, process: int, index: int) -> None:
        if (order := self._order()) is None or order[:2] != (process, index):
            raise not_in_flight(process, index)

    def _say(self, line: str) -> None:
        remaining = memoryview(f"{line}\n".encode())
        try:
            with self._writing:
                while remaining:
                    remaining = remaining[os.write(self._answers, remaining) :]
        except OSError as error:
            raise SessionError(f"`kernelpoint run`, which started this simulator, has ended ({error.strerror})") from None

    def _beat(self) -> None:
        """Send an empty line every few seconds, so that the coordinator knows that this process runs."""
        place = select.poll()
        place.register(self._answers, select.POLLOUT)
        while True:
            time.sleep(SECONDS_BETWEEN_BEATS)
            if place.poll(0):  # a coordinator that does not read has beats enough
                with contextlib.suppress(SessionError):
                    self._say("")


def die_with_parent() -> None:
    """Make the operating system end this process when its parent process ends."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _read_chains(descriptor: int, into: SimpleQueue[Chain | None]) -> None:
    """Read chains from the coordinator. An empty line ends this process in order; a broken pipe (the coordinator died)
    ends it at once.
    """
    with os.fdopen(descriptor, "r", encoding="ascii") as lines:
        for line in lines:
            if not line.strip():
                into.put(None)
                return
            into.put(reader(Chain)(loads(line)))
    os._exit(1)


def _start_thread(run: Callable[[], None]) -> None:
    """Start a thread that takes no signal: all of them belong to the simulator."""
    kept = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        threading.Thread(target=run, name="kernelpoint-worker", daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, kept)
