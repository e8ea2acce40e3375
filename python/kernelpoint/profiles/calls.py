"""Calls of a host thread: the ranges that contain a call, and the calls whose kernels a profile lacks."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kernelpoint.errors import ConfigError, shown
from kernelpoint.program import ProgramBuilder

Thread = TypeVar("Thread")
MOST_PARTS = 64  # of the path of a range
MOST_OPEN = 1000  # ranges of a thread that contain one another
CALL = re.compile(r"(?:cuda|cu|hip)\w*(?:Launch\w*Kernel|StreamBeginCapture)")  # one that launches a kernel
OPERATOR = "\0"  # before the name of an operator, until the outermost of each module is chosen


def enclosing(
    ranges: Iterable[tuple[Thread, float, float, str]], calls: Sequence[tuple[Thread, float]]
) -> Iterator[tuple[int, list[str]]]:
    """Names of the ranges (such as model and layer) that were open on a thread at the time of each call, outermost first.

    Args:
        ranges: thread, begin, end and name of each range.
        calls: thread and time of each call, on the clock of the ranges.

    Yields:
        Index of the call, and the names.

    Raises:
        ConfigError: more than MOST_OPEN ranges contain one another.

    >>> list(enclosing([(1, 0.0, 9.0, "model"), (1, 2.0, 4.0, "layer"), (2, 0.0, 9.0, "other")], [(1, 3.0), (1, 5.0)]))
    [(0, ['model', 'layer']), (1, ['model'])]
    """
    threads: dict[Thread, tuple[list[tuple[float, float, str]], list[tuple[float, int]]]] = {}
    for number, (thread, time) in enumerate(calls):
        threads.setdefault(thread, ([], []))[1].append((time, number))
    for thread, begin, end, name in ranges:
        if thread in threads:
            threads[thread][0].append((begin, -end, name))
    for held, times in threads.values():
        held.sort()
        times.sort()
        yield from _sweep(held, times)


def _sweep(held: list[tuple[float, float, str]], times: list[tuple[float, int]]) -> Iterator[tuple[int, list[str]]]:
    """Find the enclosing ranges of each call of one thread, in one sweep over sorted starts."""
    names: dict[int, str] = {}  # of the open ranges by their places in `held`, the outermost first
    ends: list[tuple[float, int]] = []  # heap: end and place of each
    place = 0

    def close(before: float) -> None:
        while ends and ends[0][0] < before:
            del names[heapq.heappop(ends)[1]]

    for time, number in times:
        while place < len(held) and held[place][0] <= time:
            begin, end, name = held[place]
            close(begin)
            if len(names) == MOST_OPEN:
                raise ConfigError(f"ranges: more than {MOST_OPEN:,} ranges of one thread contain {shown(name)}; give fewer")
            names[place] = name
            heapq.heappush(ends, (-end, place))
            place += 1
        close(time)
        yield number, list(names.values())


def with_one_operator(names: list[str]) -> list[str]:
    """Path of range names with at most one PyTorch operator: the outermost operator inside the innermost other range.

    >>> with_one_operator(["model", OPERATOR + "linear", OPERATOR + "addmm"])
    ['model', 'linear']
    """
    others = [place for place, name in enumerate(names) if not name.startswith(OPERATOR)]
    last = others[-1] + 1 if others else 0
    return [names[place] for place in others] + [name.removeprefix(OPERATOR) for name in names[last : last + 1]]


def remark_lost(builder: ProgramBuilder, calls: Mapping[str, tuple[int, int]]) -> None:
    """Store a remark about calls whose kernels a profile lacks.

    Model: no kernel is lost where the program captures CUDA graphs, because captured calls start none; and a function of which
    no call has a kernel is called inside another, which has them.

    Args:
        builder: builder of the profile.
        calls: for each function that matches `CALL`, the number of its calls, and of those without a kernel.

    >>> builder = ProgramBuilder("trace.json")
    >>> remark_lost(builder, {"cudaLaunchKernel": (20, 4), "cuLaunchKernel": (16, 16)})
    >>> builder.remarks["lost-kernels"].launches
    4
    """
    lost = {name: lacking for name, (made, lacking) in calls.items() if 0 < lacking < made}
    if lost and not any("StreamBeginCapture" in name for name in calls):
        builder.remark("lost-kernels", sum(lost.values()), place=f"calls of {', '.join(sorted(lost))}")
