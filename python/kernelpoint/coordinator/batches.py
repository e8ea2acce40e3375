"""Division of the launches of a pass into tasks: most expensive first, ever smaller towards the end."""

from __future__ import annotations

from collections.abc import Sequence

from kernelpoint.coordinator.outcomes import name_of
from kernelpoint.coordinator.task import Batch
from kernelpoint.session.worker_protocol import Chain, Planned

SHARE = 4  # a batch holds at most 1 / (SHARE x workers) of the cost that is left
MOST = 64  # chains of a batch; a batch's outcomes come back together


def batches(planned: Sequence[Planned], workers: int) -> list[Batch]:
    """Batches in the order in which they are to be begun.

    Longest processing time first (Graham 1969) with batches that shrink towards the end (guided self-scheduling:
    Polychronopoulos and Kuck 1987): the last ones are single cheap launches, so no worker keeps the others waiting longer
    than the longest launch does. As simulators stay warm between batches, small ones cost a message each and no start.

    >>> from kernelpoint.session.worker_protocol import Step
    >>> work = [Planned((Step(0, i, 1),), cost) for i, cost in enumerate([1.0, 9.0, 1.0, 1.0])]
    >>> [[chain[0].launch for chain in batch.chains] for batch in batches(work, 1)]
    [[1], [0], [2], [3]]
    """
    order = sorted(range(len(planned)), key=lambda i: (-planned[i].cost, i))
    left = sum(planned[i].cost for i in order)
    made: list[Batch] = []
    chains: list[Chain] = []
    cost, limit = 0.0, left / (SHARE * workers)
    for i in order:
        if chains and (len(chains) == MOST or cost + planned[i].cost > limit):
            made.append(Batch(name_of(chains), tuple(chains)))
            left -= cost
            chains, cost, limit = [], 0.0, left / (SHARE * workers)
        chains.append(planned[i].chain)
        cost += planned[i].cost
    return [*made, Batch(name_of(chains), tuple(chains))] if chains else made
