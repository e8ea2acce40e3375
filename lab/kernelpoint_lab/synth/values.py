"""Warps whose trace lines end in operand values, as tracer version 6 writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.lanes import Addresses
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.registers import access_width

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SPECIAL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "EX2": np.exp2,
    "LG2": np.log2,
    "RCP": np.reciprocal,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
}


class ValuedWarps(Warps):
    """Warps that compute while they are traced; every line lists what its registers hold, destination first.

    Model: an interpreter of what the families use. Integers wrap at 32 bits; F opcodes and MUFU compute in single precision;
    a missing floating-point operand is 1, a missing factor of IMAD the size of a CTA; RZ as the last operand of a sum is an
    immediate 1, so loop counters count; of other opcodes the result is the sum of the sources. A register pair holds its
    low half. An address register holds the accessed address when memory is accessed. Memory holds numbers from -1 to 1 drawn
    by address and seed; stores change nothing.

    Args:
        launch, first, last: arguments of `Warps`.
        seed: seed of the values of memory and constants; another seed gives other values on the same stream.
    """

    def __init__(self, launch: Launch, first: int, last: int, seed: int) -> None:
        self._held: dict[str, np.ndarray] = {}
        self._salt = np.uint64(generator(seed, "operand values").integers(2**63))
        super().__init__(launch, first, last)

    def op(self, opcode: str, destination: str | None = None, *sources: str) -> None:
        """Add an instruction that accesses no traced memory."""
        operands = self.registers.operands(opcode, destination, sources)
        read = [self._read(name) for name in sources]
        with np.errstate(all="ignore"):
            result = self._result(opcode, destination, sources, read)
        self._emit(operands + "0 ", [""] * self.count, self._ends(destination, result, read))

    def _memory(self, opcode: str, destination: str | None, sources: Sequence[str], at: np.ndarray | Addresses) -> None:
        addresses = at if isinstance(at, Addresses) else Addresses(at, self.count)
        operands = self.registers.operands(opcode, destination, sources)
        low = addresses.values.astype(np.uint64)
        if sources[0] != "RZ":
            self._write(sources[0], low.astype(np.uint32))
        read = [self._read(name) for name in sources]
        ends = [" " + end for end in self._ends(destination, self._stored(low), read)]
        self._emit(f"{operands}{access_width(opcode)} ", addresses.encoded(self._scope), ends)

    def _ends(self, destination: str | None, result: np.ndarray, read: list[np.ndarray]) -> list[str]:
        if destination:
            self._write(destination, result)
            read = [self._read(destination), *read]
        ends = ["0 0 Val "] * self.count
        for values in read:
            ends = [end + text for end, text in zip(ends, _texts(values), strict=True)]
        return [end + "\n" for end in ends]

    def _read(self, name: str) -> np.ndarray:
        if name not in self._held:
            self._held[name] = np.zeros((self.count, 32), np.uint32)
        return self._held[name]

    def _write(self, name: str, values: np.ndarray) -> None:
        self._held[name] = np.where(self.active, values, self._read(name))

    def _stored(self, addresses: np.ndarray) -> np.ndarray:
        mixed = (addresses ^ self._salt) * _MIX
        mixed ^= mixed >> np.uint64(32)
        return ((mixed * _MIX >> np.uint64(40)).astype(np.float32) * np.float32(2**-23) - 1).view(np.uint32)

    def _result(self, opcode: str, destination: str | None, sources: Sequence[str], read: list[np.ndarray]) -> np.ndarray:
        base, *modifiers = opcode.split(".")
        if base == "S2R":
            return np.broadcast_to(self.cta if (destination or "").startswith("cta") else self.thread, (self.count, 32))
        if base == "MUFU" or base[0] == "F":
            numbers = [values.view(np.float32) for values in read]
            return _floating(base, modifiers, numbers).astype(np.float32).view(np.uint32)
        if base == "IMAD" and len(read) > 1:
            factor, added = read[1:3] if len(read) > 2 else (np.uint32(self.block), read[1])
            return read[0] * factor + added
        total = sum(read, np.zeros((self.count, 32), np.uint32))
        return total + np.uint32(base == "IADD3" and sources[-1:] == ("RZ",))


def _floating(base: str, modifiers: Sequence[str], numbers: list[np.ndarray]) -> np.ndarray:
    a, b, c = [*numbers, *[np.ones_like(numbers[0])] * 3][:3]
    if base == "MUFU":
        return _SPECIAL[modifiers[0]](a) if modifiers[0] in _SPECIAL else np.asarray(np.sin(a))
    if base == "FMUL":
        return a * b
    if base == "FMNMX":
        return np.maximum(a, b)
    return a * b + c if base.startswith("FFMA") else a + b


def _texts(values: np.ndarray) -> list[str]:
    """The field of one operand for every warp: `1` and the common value of all lanes, or `32` and the value of each lane."""
    equal = (values == values[:, :1]).all(axis=1).tolist()
    return [
        f"1 0x{row[0]:x} " if same else "32 " + " ".join([f"0x{value:x}" for value in row]) + " "
        for row, same in zip(values.tolist(), equal, strict=True)
    ]
