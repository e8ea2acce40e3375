"""Layout of launches for MacSim: which share a folder, and where each kernel's code lies.

MacSim decodes an instruction once for each PC of an application, so code of different kernels must not share PCs, and
launches of one kernel should, as on hardware, or the instruction cache would see new code at each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native

# Address of code in real traces.
FIRST_CODE = 0x7F00_0000_0000


@dataclass(frozen=True)
class Placement:
    """Folder and number of one launch in the converted list.

    Attributes:
        folder: N of ``Kernel<N>``: the launch's own index, or that of an earlier launch with the same files.
        code_base: address of its kernel's first instruction.
    """

    folder: int
    code_base: int


class _Code:
    """Instructions that are known to lie at the PCs of one kernel."""

    def __init__(self, base: int) -> None:
        self.base = base
        self._hashes: dict[int, int] = {}

    def take(self, instructions: dict[int, int]) -> bool:
        """Add a launch's instructions (PC -> hash) unless one contradicts those that are known."""
        if any(self._hashes.get(pc, digest) != digest for pc, digest in instructions.items()):
            return False
        self._hashes |= instructions
        return True


def place(digests: Sequence[_native.macsim.Digest]) -> list[Placement]:
    """Assign a folder and a code number to every launch, in the order of the list.

    ``Model:`` launches whose kernels have the same name run the same code, unless one PC says otherwise: then they are
    different functions of that name (several libraries in one process).
    """
    codes: dict[str, list[_Code]] = {}
    folders: dict[tuple[str, int], int] = {}
    base_of_digest: dict[int, int] = {}  # id of a digest -> code base: launches of one trace share the object
    bases = 0
    placements = []
    for launch, digest in enumerate(digests):
        if id(digest) not in base_of_digest:
            instructions = _instructions(digest)
            same_name = codes.setdefault(digest.header.kernel_name, [])
            code = next((code for code in same_name if code.take(instructions)), None)
            if code is None:
                code = _Code(FIRST_CODE + bases * _native.macsim.CODE_SIZE)
                code.take(instructions)
                same_name.append(code)
                bases += 1
            base_of_digest[id(digest)] = code.base
        base = base_of_digest[id(digest)]
        placements.append(Placement(folders.setdefault((digest.content, base), launch), base))
    return placements


def _instructions(digest: _native.macsim.Digest) -> dict[int, int]:
    table: np.ndarray = digest.instructions
    return dict(zip(table["pc"].tolist(), table["hash"].tolist(), strict=True))
