"""Parts of a run over a list that a pool of workers does: hashing the traces, simulating segments ahead."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import KernelPointError
from kernelpoint.fast_model.configuration import BASE, SHIPPED, Configuration
from kernelpoint.pool import Pool, pieces_of

Log = Callable[[str], None]
Row = tuple[str, int, int]  # a launch's path, 0, 0; or of a copy an empty text, address and bytes

MOST_FILES, MOST_BYTES = 256, 64 << 20  # of a piece that one worker hashes
SEGMENT_BYTES = 64 << 20  # Model: some seconds of simulation, beside which reading what was before costs little
MEMORY_BYTES = 512 << 20  # of a worker, for outcomes that may come again in its segment


@dataclass(frozen=True)
class SegmentTask:
    """A segment, the commands before it that its first state is replayed from, and the simulated GPU as the model's YAML."""

    configuration: str
    before: Sequence[Row]
    commands: Sequence[Row]


def hashed_by(pool: Pool, paths: Sequence[str]) -> np.ndarray:
    """Contents of the distinct traces of a list, in the order of their first launches: as `_native.fast_model.contents`."""
    distinct = [os.path.abspath(path) for path in dict.fromkeys(paths) if path]
    sizes = _native.stat_many(distinct)[:, 0].tolist()
    pieces = [[distinct[i] for i in piece] for piece in pieces_of(sizes, MOST_BYTES, MOST_FILES)]
    found = list(pool.map(_native.fast_model.contents, pieces))
    return np.concatenate(found) if found else np.zeros((0, 3), dtype=np.uint64)


class SimulatedBy:
    """A pool as the native code calls it: from many threads, a segment each.

    Where the pool fails, the segment is left to this process; that is said once.
    """

    def __init__(self, pool: Pool, configuration: Configuration, log: Log) -> None:
        self._pool, self._configuration, self._log = pool, configuration.text, log
        self._told = False

    def __call__(self, before: Sequence[Row], commands: Sequence[Row]) -> bytes:
        """Outcomes of a segment; none where it cannot be had."""
        task = SegmentTask(self._configuration, _absolute(before), _absolute(commands))
        try:
            return next(iter(self._pool.map(simulate_segment, [task])))
        except KernelPointError as error:
            if not self._told:
                self._log(f"kernelpoint: the fast model goes on in this process: {error}")
            self._told = True
            return b""


def simulate_segment(task: SegmentTask) -> bytes:
    """Outcomes of a segment's launches, for `_native.fast_model.run`; done by one thread of a worker."""
    configuration = _configuration(task.configuration)
    return _native.fast_model.segment(task.before, task.commands, configuration, MEMORY_BYTES)


@lru_cache(maxsize=4)
def _configuration(text: str) -> Configuration:
    return _native.fast_model.derive([("the plan's configuration", text)], str(SHIPPED / f"{BASE}.yaml"))


def _absolute(rows: Sequence[Row]) -> list[Row]:
    return [(os.path.abspath(path) if path else path, address, size) for path, address, size in rows]
