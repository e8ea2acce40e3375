"""Ranges that are detected: runs of kernels that repeat one after another."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.program import Program
from kernelpoint.ranges.ranges import Log, RangeSource

MOST_PERIODS = 256  # lengths that are tried, those that the most kernels come back after
LEAST_PERIOD = 2  # launches
LEAST_COVERED = 0.1  # of the launches; repeats that cover less are chance
DEPTH = 3  # repeats inside repeats


class Detected(RangeSource):
    """Ranges found in the sequence of kernels: sequences of launches that repeat immediately, and repetitions inside them.

    Model: launches are equal if kernel and shape are. Of all lengths of a repeated sequence, the one that covers most launches
    is used, and of equal ones the shortest. So iterations are found first, then layers inside. Ranges are named `detected.0`,
    `detected.1`, because they need not be layers.
    """

    description = "`detected`, runs of kernels that repeat"
    word = "detected"

    def paths(self, file: Path, launches: Program, log: Log) -> list[str]:
        repeated = repeats(launches.kinds)
        if not any(repeated):
            raise ProfileError("ranges: got 'detected', but no sequence of kernels in this list repeats; name a file of ranges")
        return repeated


def repeats(keys: np.ndarray, depth: int = DEPTH) -> list[str]:
    """Find sequences of kernels that repeat immediately: the path of each launch in the tree of ranges, empty where nothing
    repeats.

    Args:
        keys: int [N], equal for launches with the same kernel and shape.
        depth: number of levels of repetitions inside repetitions.

    >>> repeats(np.array([9, 1, 2, 3, 1, 2, 3, 8]))
    ['', 'detected.0', 'detected.0', 'detected.0', 'detected.1', 'detected.1', 'detected.1', '']
    """
    paths = [""] * len(keys)
    runs = _best_runs(keys)
    copies = [start + k * period for start, period, count in runs for k in range(count)]
    inner = dict[bytes, list[str]]()
    for number, start in enumerate(copies):
        part = keys[start : start + runs[0][1]]
        paths_inside = inner.setdefault(part.tobytes(), []) if depth > 1 else [""] * len(part)
        paths_inside.extend([] if paths_inside else repeats(part, depth - 1))
        for k, below in enumerate(paths_inside):
            paths[start + k] = f"detected.{number}" + (f"/{below}" if below else "")
    return paths


def _best_runs(keys: np.ndarray) -> list[tuple[int, int, int]]:
    """First launch, period and copies of each run of the period that covers the most; empty where all cover too few."""
    best: list[tuple[int, int, int]] = []
    most = LEAST_COVERED * len(keys)
    for period in sorted(_periods(keys)):
        runs = _runs(keys, period)
        covered = sum(period * count for _, _, count in runs)
        if covered > most:
            best, most = runs, covered
    return best


def _periods(keys: np.ndarray) -> list[int]:
    """Candidate periods: distances after which kernels repeat, the most frequent first."""
    order = np.argsort(keys, kind="stable")
    gap, kernel = np.diff(order), keys[order][1:]
    gap, kernel = gap[np.diff(keys[order]) == 0], kernel[np.diff(keys[order]) == 0]
    pairs = np.unique(np.stack([gap, kernel], axis=1), axis=0)
    periods, kernels = np.unique(pairs[:, 0], return_counts=True)
    order = np.argsort(-kernels, kind="stable")
    return [int(p) for p in periods[order][:MOST_PERIODS] if p >= LEAST_PERIOD]


def _runs(keys: np.ndarray, period: int) -> list[tuple[int, int, int]]:
    """First launch, period and copies of each run in which launches equal those a period later."""
    same = np.concatenate(([False], keys[period:] == keys[:-period], [False]))
    edges = np.flatnonzero(np.diff(same.astype(np.int8)))
    runs: list[tuple[int, int, int]] = []
    free = 0  # the first launch behind the copies so far: those of two runs may overlap
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        start = max(start, free)
        if end - start >= period:
            runs.append((start, period, (end - start) // period + 1))
            free = start + period * runs[-1][2]
    return runs
