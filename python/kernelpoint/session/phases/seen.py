"""A launch of a screening pass, as the host asked about it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelpoint.session.phases.online_clusters import Placed

FAILURE, FIRST, DRAWN, NOT_DRAWN = "failure", "first of its cluster", "drawn", "not drawn"
Key = tuple[int, int]  # process, launch index


@dataclass
class Seen:
    """A launch that the host asked about.

    placed: None where it could not be placed; why: one of FAILURE, FIRST, DRAWN, NOT_DRAWN; result: counters by name;
    attempts: how often the host could not simulate it.

    >>> first = Seen("traces/kernel-1.traceg", Placed(cluster=0, stream="00", name="gemm", expected=900.0), why=FIRST)
    >>> first.simulated, first.certain
    (True, True)
    """

    path: str
    placed: Placed | None
    why: str
    result: dict[str, float] | None = None
    attempts: int = 0

    @property
    def simulated(self) -> bool:
        """True if this pass simulates it."""
        return self.why != NOT_DRAWN

    @property
    def certain(self) -> bool:
        """True if it is a take-all unit: by its position in its cluster, or by a failure; never by its result."""
        return self.why in (FAILURE, FIRST)
