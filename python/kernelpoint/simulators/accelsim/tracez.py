"""Accel-Sim's compressed traces: reading the index alone, and single warps."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native


@dataclass(frozen=True, eq=False)
class TracezIndex:
    """Content of the index of a .tracez, read without decompressing anything.

    Attributes:
        ctas: uint32 [CTAs, 10], in the order of the file: index x, y, z; cluster x, y, z; place in the cluster x, y, z; rank.
        warps: structured [W]: `cta` (row of `ctas`), `warp`, `instructions`, `sub_chunks`, `offset` (bytes).

    >>> warps = np.array([(0, 0, 7), (0, 1, 5)], [("cta", "u4"), ("warp", "u4"), ("instructions", "u8")])
    >>> TracezIndex(np.zeros((1, 10), np.uint32), warps).instructions
    12
    """

    ctas: np.ndarray
    warps: np.ndarray

    @property
    def instructions(self) -> int:
        """Warp instructions of the launch."""
        return int(self.warps["instructions"].sum(dtype=np.int64))


def read_tracez_index(path: str | os.PathLike[str]) -> TracezIndex:
    """Read the index of a .tracez. Time and memory grow with its CTAs and warps, not with its instructions.

    Raises:
        TraceError: the header, the index, or an offset or count in it cannot be; names what was expected.

    Example:
        >>> read_tracez_index("none.tracez")
        Traceback (most recent call last):
        kernelpoint.errors.TraceError: none.tracez: cannot be opened: No such file or directory
    """
    ctas, warps = _native.accelsim.read_tracez_index(os.fspath(path))
    return TracezIndex(ctas, warps)
