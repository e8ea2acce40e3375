"""Planning on many workers: division into pieces, and the pool of workers that they are given to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Pool(Protocol):
    """Workers on this or other machines that share a file system."""

    @property
    def workers(self) -> int:
        """Pieces that are done at once."""
        ...

    def map(self, function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
        """Result of a function for each piece, in their order, whichever worker did it and whenever."""
        ...


def pieces_of(weights: Sequence[float], heaviest: float, longest: int) -> list[range]:
    """Positions of consecutive items, in pieces of at most that weight and length, or of one item.

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
