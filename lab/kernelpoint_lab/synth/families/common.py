"""Code that the families share: the usual prologue, opcodes by data width, reductions across a warp."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernelpoint_lab.synth.launch import Tensor
from kernelpoint_lab.synth.machine import Warps

LOADS = {1: "LDG.E.U8.SYS", 2: "LDG.E.U16.SYS", 4: "LDG.E.SYS", 8: "LDG.E.64.SYS", 16: "LDG.E.128.SYS"}
STORES = {1: "STG.E.U8.SYS", 2: "STG.E.U16.SYS", 4: "STG.E.SYS", 8: "STG.E.64.SYS", 16: "STG.E.128.SYS"}
PREFIX = {2: "H", 4: "F", 8: "D"}
TYPES = {1: "u8", 2: "f16", 4: "f32", 8: "f64", 16: "b128"}


def arithmetic(operation: str, width: int) -> str:
    """The opcode of ADD, MUL or FMA on floating-point numbers of `width` bytes.

    >>> arithmetic("FMA", 4), arithmetic("ADD", 2), arithmetic("MUL", 8)
    ('FFMA', 'HADD2', 'DMUL')
    """
    return PREFIX[width] + operation + ("2" if width == 2 else "")


def blocks(count: int, block: int) -> int:
    """Number of CTAs that cover `count` threads."""
    return max(1, -(-count // block))


def thread_index(w: Warps, name: str = "i") -> np.ndarray:
    """Global thread index along x into register `name`; returns its values."""
    w.op("S2R", "cta")
    w.op("S2R", "tid")
    w.op("IMAD", name, "cta", "tid")
    return w.cta_x * w.block + w.thread


def bounded_index(w: Warps, count: int) -> np.ndarray:
    """`thread_index`, after which threads beyond `count` leave; two warps of a kernel may so differ in length."""
    index = thread_index(w)
    w.op("ISETP.GE.AND", None, "i")
    w.exit_where(index >= count)
    return index


def zero(w: Warps, *names: str) -> None:
    """Set registers to zero."""
    for name in names:
        w.op("MOV", name, "RZ")


def zero_wide(w: Warps, name: str, registers: int) -> None:
    """Clear `registers` consecutive registers, two at a time."""
    w.registers.reserve(name, registers)
    for _ in range(max(1, registers // 2)):
        w.op("CS2R" if registers > 1 else "MOV", name, *([] if registers > 1 else ["RZ"]))


def address(w: Warps, name: str, index: str) -> None:
    """A 64-bit address: index times element size (a constant) plus base (constant bank)."""
    w.op("MOV", "size", "RZ")
    w.op("IMAD.WIDE", name, index, "size")


def fetch(w: Warps, value: str, at: str, index: str, tensor: Tensor, element: np.ndarray) -> None:
    """Load elements of a tensor into `value`; register `index` has the element number, register `at` gets the address."""
    address(w, at, index)
    w.load(LOADS[tensor.width], value, at, tensor.at(element))


def put(w: Warps, value: str, at: str, index: str, tensor: Tensor, element: np.ndarray) -> None:
    """Store `value` into elements of a tensor, addressed as in `fetch`."""
    address(w, at, index)
    w.store(STORES[tensor.width], at, value, tensor.at(element))


def strides(w: Warps, trips: np.ndarray, index: str, *compared: str) -> Iterator[int]:
    """Iterations of a loop in which each lane makes `trips` trips; lanes without trips branch around it."""
    w.op("ISETP.GE.AND", None, *(compared or (index,)))
    with w.branch(trips > 0):
        for step in w.loop(trips):
            yield step
            w.op("IADD3", index, index, "RZ")


def warp_reduce(w: Warps, value: str, opcode: str, lanes: int = 32) -> None:
    """Reduce `value` over groups of `lanes` lanes (a power of two) with butterfly shuffles."""
    for _ in range(lanes.bit_length() - 1):
        w.op("SHFL.BFLY", "other", value)
        w.op(opcode, value, value, "other")


def block_reduce(w: Warps, value: str, opcode: str) -> None:
    """Reduce `value` over the CTA through shared memory (4 bytes per warp); every thread gets the result.

    Every thread of the CTA must be active: it holds barriers.
    """
    warps = -(-w.block // 32)
    warp_reduce(w, value, opcode)
    w.op("SHF.R.U32.HI", "warp_slot", "tid", "RZ")
    w.op("LOP3.LUT", None, "tid", "RZ", "RZ")
    with w.predicated(w.lane == 0):
        w.store("STS", "warp_slot", value, 4 * w.warp)
    w.op("BAR.SYNC")
    w.op("MOV", value, "RZ")
    for other in range(warps):
        w.load("LDS.U", "partial", "RZ", np.full((1, 1), 4 * other))
        w.op(opcode, value, value, "partial")
    w.op("BAR.SYNC")


def exponential(w: Warps, value: str) -> None:
    """value = exp(value), as compiled with fast math: scale by log2(e), then MUFU.EX2."""
    w.op("FMUL", value, value)
    w.op("MUFU.EX2", value, value)
