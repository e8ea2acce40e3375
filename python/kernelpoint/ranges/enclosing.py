"""Ranges of a host thread that contain a call, and the operators among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Thread = TypeVar("Thread")
OPERATOR = "\0"  # before the name of an operator, until the outermost of each module is chosen


def enclosing(
    ranges: Iterable[tuple[Thread, float, float, str]], calls: Sequence[tuple[Thread, float]]
) -> Iterator[tuple[int, list[str]]]:
    """Each call's number, with the names of the ranges of its thread that contain it, outermost first.

    Args:
        ranges: thread, begin, end and name.
        calls: thread and time. Times of both are on one clock.

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
    """Walk one thread. `held` has (start, -end, name) of its ranges, sorted; `times` are sorted too."""
    open_ranges: list[tuple[float, str]] = []  # end, name
    place = 0
    for time, number in times:
        while place < len(held) and held[place][0] <= time:
            begin, end, name = held[place]
            open_ranges = [one for one in open_ranges if one[0] >= begin]
            open_ranges.append((-end, name))
            place += 1
        open_ranges = [one for one in open_ranges if one[0] >= time]
        yield number, [name for _, name in open_ranges]


def with_one_operator(names: list[str]) -> list[str]:
    """Names without operators, but for the outermost one inside the innermost other range.

    >>> with_one_operator(["model", OPERATOR + "linear", OPERATOR + "addmm"])
    ['model', 'linear']
    """
    others = [place for place, name in enumerate(names) if not name.startswith(OPERATOR)]
    last = others[-1] + 1 if others else 0
    return [names[place] for place in others] + [name.removeprefix(OPERATOR) for name in names[last : last + 1]]
