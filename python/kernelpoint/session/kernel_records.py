"""Estimates of every launch as records of the journal, and the kernel of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from kernelpoint.journal import LaunchesRecord
from kernelpoint.journal.arrays import BLOCK, pack
from kernelpoint.workload.plan import Plan


def kernels_of(plan: Plan) -> tuple[list[str], np.ndarray] | None:
    """Names of the kernels, and int64 [N], which one each launch is; None where the plan knows no names."""
    if plan.stream_ids is None or not plan.stream_names:
        return None
    of_launch = np.where(plan.stream_ids >= 0, plan.stream_ids, len(plan.stream_names))
    present, place = np.unique(of_launch, return_inverse=True)
    names, of_stream = np.unique(np.array([*plan.stream_names, ""])[present], return_inverse=True)
    return names.tolist(), of_stream[place]


def launches_records(
    offsets: Sequence[int], cycles: np.ndarray, strata: np.ndarray, kernels: np.ndarray
) -> Iterator[LaunchesRecord]:
    """Estimates of every launch, in blocks of one process each.

    Args:
        offsets: the first unit of each process, and N.
        cycles, strata, kernels: [N], see LaunchesRecord.

    >>> ones = np.ones(5, dtype=np.int64)
    >>> [(record.process, record.first, record.count) for record in launches_records([0, 2, 5], ones, ones, ones)]
    [(0, 0, 2), (1, 0, 3)]
    """
    for process, (begin, end) in enumerate(pairwise(offsets)):
        for first in range(begin, end, BLOCK):
            part = slice(first, min(first + BLOCK, end))
            yield LaunchesRecord(
                process=process,
                first=first - begin,
                count=part.stop - first,
                cycles=pack(cycles[part], "<f8"),
                strata=pack(strata[part], "<i4"),
                kernels=pack(kernels[part], "<i4"),
            )
