"""Register operands: from names to numbers, with the pairs and quads that wide values need."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelpoint.errors import ConfigError

LAST_REGISTER = 254  # R255 reads as zero
_BITS = re.compile(r"U?(8|16|32|64|128)")


def access_width(opcode: str) -> int:
    """Bytes per lane of a memory opcode, from its suffix as Accel-Sim's reader takes it; 4 without one.

    >>> access_width("LDG.E.128.SYS"), access_width("LDG.E.U8.SYS"), access_width("STS")
    (16, 1, 4)
    """
    for part in opcode.split(".")[1:]:
        if bits := _BITS.fullmatch(part):
            return int(bits[1]) // 8
    return 4


def registers_written(opcode: str) -> int:
    """Number of consecutive registers that the destination takes.

    >>> registers_written("IMAD.WIDE"), registers_written("LDS.U.128"), registers_written("FFMA")
    (2, 4, 1)
    """
    base = opcode.split(".")[0]
    if base.startswith("LD"):
        return max(1, access_width(opcode) // 4)
    if base == "HMMA" or base in ("DADD", "DMUL", "DFMA") or ".WIDE" in opcode or base == "CS2R":
        return 2
    return 1


class Registers:
    """Assigns registers to names as they are first written; RZ is R255. A source never written is a KeyError.

    >>> registers = Registers()
    >>> for name in ("i", "four"):
    ...     registers.reserve(name, 1)
    >>> registers.operands("IMAD.WIDE", "address", ("i", "four"))
    ' 1 R2 IMAD.WIDE 2 R0 R1 '
    """

    def __init__(self) -> None:
        self._numbers = {"RZ": "R255"}
        self._next = 0
        self._texts: dict[tuple, str] = {}

    @property
    def used(self) -> int:
        """Registers per thread."""
        return self._next

    def operands(self, opcode: str, destination: str | None, sources: Sequence[str]) -> str:
        """The fields from the number of destinations to the sources, with a space at both ends."""
        key = (opcode, destination, *sources)
        if key not in self._texts:
            inputs = [self._numbers[name] for name in sources]
            if destination:
                self.reserve(destination, registers_written(opcode))
            output = f" 1 {self._numbers[destination]} " if destination else " 0 "
            self._texts[key] = output + " ".join([opcode, str(len(inputs)), *inputs]) + " "
        return self._texts[key]

    def reserve(self, name: str, width: int) -> None:
        """Assign `name` its registers, aligned to their number, unless it has some. Raises ConfigError beyond R254."""
        if name in self._numbers:
            return
        first = -(-self._next // width) * width
        self._next = first + width
        if self._next - 1 > LAST_REGISTER:
            raise ConfigError(f"a kernel needs more than {LAST_REGISTER + 1} registers; allowed: a smaller tile")
        self._numbers[name] = f"R{first}"
