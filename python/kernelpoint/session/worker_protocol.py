"""Messages between a coordinator and the simulators that work for it: one JSON object a line, over two pipes.

A simulator that is started with WORKER_PIPES_ENV in its environment opens no journal. It says who it is (Hello). Then it
simulates the chains of launches that it is sent, and answers each with one outcome an order. It ends when the pipe ends, or its
parent. Empty lines between the answers say that its process runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelpoint.session.orders import Chain, Order, Outcome
from kernelpoint.typed import loads, reader

WORKER_PIPES_ENV = "KERNELPOINT_WORKER"  # two file descriptors: chains come from the first, answers go to the second
JOURNAL_ENV = "KERNELPOINT_JOURNAL"  # a journal to go on with instead of the configuration's `journal:`
TIME_ENV = "KERNELPOINT_TIME"  # beside that journal: processor seconds of a full run, and those spent, "720.5 18"

SECONDS_BETWEEN_BEATS = 5.0


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

    >>> encode_chain((Order(0, 7, 1),))
    '[[0,7,1,0]]'
    """
    return json.dumps(chain, separators=(",", ":"))


def decode_chain(steps: Sequence[Sequence[int]]) -> Chain:
    """The chain from its JSON.

    >>> decode_chain([[0, 7, 1, 0]])
    (Order(process=0, launch=7, state=1, interval=0),)
    """
    return tuple(Order(*map(int, step)) for step in steps)


def encode_outcomes(chain: Chain, outcomes: Sequence[Outcome]) -> str:
    """A chain and its outcomes as one line; numbers keep every bit."""
    return json.dumps({"chain": chain, "outcomes": [asdict(outcome) for outcome in outcomes]}, separators=(",", ":"))


def decode_outcomes(line: str | bytes) -> tuple[Chain, tuple[Outcome, ...]]:
    """A chain and its outcomes, from a line.

    Raises:
        ValueError: the line is none that encode_outcomes made.

    >>> chain = (Order(0, 7, 1),)
    >>> decode_outcomes(encode_outcomes(chain, [Outcome({"cycles": 0.1})]))[1][0].counters
    {'cycles': 0.1}
    """
    found = reader(_Answer)(loads(line))
    return found.chain, found.outcomes


@dataclass(frozen=True)
class _Answer:
    chain: Chain
    outcomes: tuple[Outcome, ...]
