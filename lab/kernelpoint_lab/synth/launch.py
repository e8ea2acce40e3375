"""One launch of a warp program: its grid and arguments determine the trace."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint_lab.synth.memory import Tensor

if TYPE_CHECKING:
    from kernelpoint_lab.synth.machine import Warps

Dimensions = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """One kernel launch. Launches with equal keys have equal traces, so a trace is written once per key.

    Attributes:
        family: the algorithm, such as "softmax"; the ground truth of an evaluation of clusters.
        kernel: the name of the static kernel; one kernel's program counters mean the same in all its launches.
        label: sizes in words, such as "rows=64 columns=128".
        shared: bytes of shared memory per CTA.
    """

    family: str
    kernel: str
    label: str
    grid: Dimensions
    block: Dimensions
    key: str
    program: Callable[[Warps], None] = field(compare=False, repr=False)
    tensors: tuple[Tensor, ...] = ()
    shared: int = 0

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads per CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_cta(self) -> int:
        """Warps per CTA; the last may be partial."""
        return -(-self.threads // 32)


def make_launch(
    family: str,
    kernel: str,
    program: Callable[[Warps], None],
    grid: Sequence[int],
    block: Sequence[int],
    tensors: Sequence[Tensor],
    data: Sequence[np.ndarray] = (),
    shared: int = 0,
    **sizes: int | str,
) -> Launch:
    """A launch whose key covers kernel, sizes, addresses and the data that decide its trace."""
    x, y, z = [*grid, 1, 1][:3]
    bx, by, bz = [*block, 1, 1][:3]
    label = " ".join(f"{name}={value}" for name, value in sizes.items())
    digest = hashlib.blake2b(digest_size=16)
    bases = [(t.base, t.width) for t in tensors]
    digest.update(repr((kernel, label, (x, y, z), (bx, by, bz), bases)).encode())
    for array in data:
        digest.update(np.ascontiguousarray(array).tobytes())
    return Launch(family, kernel, label, (x, y, z), (bx, by, bz), digest.hexdigest(), program, tuple(tensors), shared)
