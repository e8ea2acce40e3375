"""Messages between a coordinator and the simulators that work for it: one JSON object a line, over two pipes.

A simulator that is started with WORKER_PIPES_ENV in its environment opens no journal. It says who it is (Hello). Then it
simulates the chains of launches that it is sent, and answers each with one outcome a step. It ends when the pipe ends, or its
parent. Empty lines between the answers say that its process runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from kernelpoint.typed import loads, reader

WORKER_PIPES_ENV = "KERNELPOINT_WORKER"  # two file descriptors: chains come from the first, answers go to the second
JOURNAL_ENV = "KERNELPOINT_JOURNAL"  # a journal to go on with instead of the configuration's `journal:`
TIME_ENV = "KERNELPOINT_TIME"  # beside that journal: processor seconds of a full run, and those spent, "720.5 18"

SECONDS_BETWEEN_BEATS = 5.0


class Step(NamedTuple):
    """One launch to be simulated: its initial state (kp_state), and cycles between its progress calls (0: none)."""

    process: int
    launch: int
    state: int
    interval: int = 0


Chain = tuple[Step, ...]  # simulated one after the other in one simulator; the first begins with replayed state


class Planned(NamedTuple):
    """A chain that a phase will ask for, and its expected cost, in any unit.

    >>> alone = Planned((Step(process=0, launch=3, state=1, interval=0),), cost=900.0)
    >>> [step.launch for step in alone.chain]
    [3]
    """

    chain: Chain
    cost: float


@dataclass(frozen=True)
class StepResult:
    """Result of a step: counters by name, cycles and instructions first, as the host reported them.

    Attributes:
        stopped: the launch was stopped inside.
        points: its progress calls, of a stopped launch.
        reason: for a launch that could not be simulated, else None.
        seconds: wall time.
        processor_seconds: of the simulator, state restored before not included.
    """

    counters: tuple[tuple[str, float], ...] = ()
    stopped: bool = False
    points: tuple[tuple[int, ...], ...] = ()
    reason: str | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0


@dataclass(frozen=True)
class Hello:
    """A simulator's description of itself: the fields of HostInfo, the KernelPoint in it, the process, seconds since its start
    of the interpreter.
    """

    kernelpoint: str
    pid: int
    host: dict[str, Any]


def encode_chain(chain: Chain) -> str:
    """A chain as one line.

    >>> encode_chain((Step(0, 7, 1),))
    '[[0,7,1,0]]'
    """
    return json.dumps(chain, separators=(",", ":"))


def decode_chain(steps: Sequence[Sequence[int]]) -> Chain:
    """The chain from its JSON.

    >>> decode_chain([[0, 7, 1, 0]])
    (Step(process=0, launch=7, state=1, interval=0),)
    """
    return tuple(Step(*map(int, step)) for step in steps)


def encode_outcomes(chain: Chain, outcomes: Sequence[StepResult]) -> str:
    """A chain and its outcomes as one line; numbers keep every bit."""
    return json.dumps({"chain": chain, "outcomes": [asdict(outcome) for outcome in outcomes]}, separators=(",", ":"))


def decode_outcomes(line: str | bytes) -> tuple[Chain, tuple[StepResult, ...]]:
    """A chain and its outcomes, from a line.

    Raises:
        ValueError: the line is none that encode_outcomes made.

    >>> chain = (Step(0, 7, 1),)
    >>> decode_outcomes(encode_outcomes(chain, [StepResult((("cycles", 0.1),))]))[1][0].counters
    (('cycles', 0.1),)
    """
    found = reader(_Answer)(loads(line))
    return found.chain, found.outcomes


@dataclass(frozen=True)
class _Answer:
    chain: Chain
    outcomes: tuple[StepResult, ...]
