"""Device memory as a tracer sees it: tensors at addresses that a bump allocator hands out."""

from __future__ import annotations

from dataclasses import dataclass

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
