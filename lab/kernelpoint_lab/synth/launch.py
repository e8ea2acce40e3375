"""One launch of a warp program: its tensors in device memory, its grid and its arguments determine the trace."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.errors import ConfigError

FIRST_ADDRESS = 0x7F3000000000
ALIGNMENT = 512  # bytes, as cudaMalloc and PyTorch's caching allocator align
LARGEST_COPY = 1 << 32  # bytes; Accel-Sim's host copies must stay below


@dataclass(frozen=True)
class Tensor:
    """`count` elements of `width` bytes from device address `base` on."""

    base: int
    count: int
    width: int = 4

    @property
    def bytes(self) -> int:
        """Size of the tensor in bytes."""
        return self.count * self.width

    def at(self, index: np.ndarray | int) -> np.ndarray:
        """Byte addresses of the elements `index`, int64.

        >>> Tensor(0x1000, 8).at(np.array([0, 3])).tolist()
        [4096, 4108]
        """
        return np.asarray(self.base + np.asarray(index, dtype=np.int64) * self.width)

    def part(self, first: int, count: int) -> Tensor:
        """View of `count` elements from element `first` on."""
        return Tensor(self.base + first * self.width, count, self.width)


class Memory:
    """Allocator of device memory that never frees a tensor.

    >>> memory = Memory()
    >>> hex(memory.tensor(100).base), hex(memory.tensor(100).base)
    ('0x7f3000000000', '0x7f3000000200')
    """

    def __init__(self) -> None:
        self._next = FIRST_ADDRESS
        self.tensors: list[Tensor] = []

    def tensor(self, count: int, width: int = 4) -> Tensor:
        """A new tensor. Raises ConfigError where it would be 4 GiB or larger."""
        tensor = Tensor(self._next, count, width)
        if tensor.bytes >= LARGEST_COPY:
            raise ConfigError(f"a tensor of {tensor.bytes:,} bytes was asked for; allowed: below 4 GiB")
        self._next += -(-tensor.bytes // ALIGNMENT) * ALIGNMENT
        self.tensors.append(tensor)
        return tensor


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
