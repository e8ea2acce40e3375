"""Launches as the tracers take them: ranges of numbers for Accel-Sim's, a file of clusters for MacSim's."""

from __future__ import annotations

import numpy as np

MOST_CHARACTERS = 120_000  # Linux takes 128 KiB as one environment string, name included


def kernel_ranges(numbers: np.ndarray, most: int = MOST_CHARACTERS) -> list[str]:
    """`DYNAMIC_KERNEL_RANGE` of each tracer run: neighbouring numbers merged, so many items that it stays short enough.

    Args:
        numbers: int64 [n], ascending, each once; most: characters of one value.

    >>> kernel_ranges(np.array([3, 5, 6, 7, 8, 11]))
    ['3 5-8 11']
    >>> kernel_ranges(np.array([3, 5, 6, 7, 8, 11]), most=5)
    ['3 5-8', '11']
    """
    if not len(numbers):
        return []
    cuts = np.flatnonzero(np.diff(numbers) > 1) + 1
    groups = np.split(numbers, cuts)
    items = [str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups]
    runs, length = [[items[0]]], len(items[0])
    for item in items[1:]:
        length += 1 + len(item)
        if length > most:
            runs.append([])
            length = len(item)
        runs[-1].append(item)
    return [" ".join(run) for run in runs]


def sampled_kernels(strata: np.ndarray, traced: np.ndarray, first: int) -> str:
    """`SAMPLED_KERNEL_INFO` of MacSim's tracer: two lines of text, then for each stratum its size, traced launches, numbers.

    Take-all units, which stand for themselves only, come first, as one cluster of as many launches as are traced.

    Args:
        strata: int [N], -1 for take-all units; traced: bool [N]; first: number of launch 0.

    >>> print(sampled_kernels(np.array([-1, 0, 0, 0]), np.array([True, True, False, True]), 0), end="")
    launches to trace, made by kernelpoint select
    cluster_size sample_size launches
    1 1 0
    3 2 1 3
    """
    lines = ["launches to trace, made by kernelpoint select", "cluster_size sample_size launches"]
    units = np.flatnonzero(traced)
    units = units[np.argsort(strata[units], kind="stable")]
    sizes = np.bincount(strata + 1)
    for group in np.split(units, np.flatnonzero(np.diff(strata[units])) + 1):
        if len(group):
            stratum = int(strata[group[0]])
            size = len(group) if stratum < 0 else int(sizes[stratum + 1])
            lines.append(" ".join(map(str, [size, len(group), *(group + first).tolist()])))
    return "\n".join(lines) + "\n"
