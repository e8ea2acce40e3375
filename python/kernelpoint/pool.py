"""Parallel planning: interface of a pool of workers, and division of work into pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Pool(Protocol):
    """Interface of pools of worker processes, on this machine or on machines that share a file system with it."""

    @property
    def workers(self) -> int:
        """Number of pieces of work that run at the same time."""
        ...

    def map(self, function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
        """Apply a function to each piece of work. Results have the order of the pieces."""
        ...


def pieces_of(weights: Sequence[float], heaviest: float, longest: int) -> list[range]:
    """Divide a sequence of items into consecutive pieces, each of at least one item.

    Args:
        weights: weight of each item.
        heaviest: largest weight of a piece of several items.
        longest: largest number of items in a piece.

    >>> pieces_of([3.0, 1.0, 1.0, 1.0, 9.0], 4.0, 3)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    pieces, begin, weight = [], 0, 0.0
    for position, one in enumerate(weights):
        if position > begin and (weight + one > heaviest or position - begin == longest):
            pieces.append(range(begin, position))
            begin, weight = position, 0.0
        weight += one
    return [*pieces, range(begin, len(weights))] if len(weights) else pieces
