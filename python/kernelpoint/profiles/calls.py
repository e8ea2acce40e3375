"""Calls of a host thread: the ranges that contain a call, and the calls whose kernels a profile lacks."""

from __future__ import annotations

import heapq
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from kernelpoint.errors import ConfigError, shown
from kernelpoint.program import ProgramBuilder

Thread = TypeVar("Thread")
MOST_PARTS = 64  # of the path of a range
MOST_OPEN = 1000  # ranges of a thread that contain one another
CALL = re.compile(r"(?:cuda|cu|hip)\w*(?:Launch\w*Kernel|StreamBeginCapture)")  # one that launches a kernel
REPLAY = re.compile("(?:cuda|cu|hip)GraphLaunch")
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


class Calls:
    """Calls of the runtime (CUDA, HIP) and ranges of host threads in a profile, joined with kernels by the numbers of calls.

    Model: no kernel is lost where the program captures CUDA graphs, because captured calls start none; and a function of which
    no call has a kernel is called inside another, which has them.

    Args:
        with_ranges: True to store the threads and times of calls, which `paths` needs.

    >>> calls = Calls()
    >>> for number in (1, 2, 3):
    ...     calls.add("cudaLaunchKernel", number)
    >>> calls.add("cudaGraphLaunch", 4)
    >>> builder = ProgramBuilder("trace.json")
    >>> calls.remark(builder, array("q", [1, 2]))
    >>> {kind: remark.launches for kind, remark in builder.remarks.items()}
    {'graph-blocks': 1, 'lost-kernels': 1}
    """

    def __init__(self, with_ranges: bool = False) -> None:
        self.with_ranges = with_ranges
        self.launching: dict[str, array[int]] = defaultdict(lambda: array("q"))  # numbers of calls, by function
        self.places: dict[int, tuple[Any, float]] = {}  # thread and time of each call
        self.ranges: list[tuple[Any, float, float, str]] = []  # thread, begin, end and name

    def add(self, name: str, number: int, thread: Any = None, time: float = 0.0) -> None:
        """Store a call of a function, with its number, and its thread and time where the profile has them."""
        if CALL.match(name) or REPLAY.match(name):
            self.launching[name].append(number)
        if self.with_ranges and thread is not None:
            self.places[number] = thread, time

    def remark(self, builder: ProgramBuilder, kernels: array[int]) -> None:
        """Store remarks about replays of CUDA graphs, and about other calls, whose kernels a profile lacks. `kernels` has the
        number of the call of each kernel.
        """
        lacking = {name: len(np.setdiff1d(numbers, kernels)) for name, numbers in self.launching.items()}
        replays = sum(count for name, count in lacking.items() if REPLAY.match(name))
        if replays and "graph-blocks" not in builder.remarks:
            builder.leave_out("replay of a CUDA graph without its kernels", replays)
            builder.remark("graph-blocks", replays, place="cudaGraphLaunch")
        lost = [name for name, count in lacking.items() if CALL.match(name) and 0 < count < len(self.launching[name])]
        if lost and not any("StreamBeginCapture" in name for name in lacking):
            place = f"calls of {', '.join(sorted(lost))}"
            builder.remark("lost-kernels", sum(lacking[name] for name in lost), place=place)

    def paths(self, kernels: array[int]) -> list[str]:
        """Path of the range of each kernel; empty for a kernel without a call. `kernels` is as for `remark`."""
        numbers = [number for number, call in enumerate(kernels) if call in self.places]
        paths = [""] * len(kernels)
        for place, names in enclosing(self.ranges, [self.places[kernels[number]] for number in numbers]):
            paths[numbers[place]] = "/".join(with_one_operator(names))
        return paths
