"""Dense kernels: tiled matrix products on FFMA or tensor cores, matrix-vector products, attention over keys and values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpoint_lab.synth.families.common import (
    address,
    blocks,
    exponential,
    strides,
    thread_index,
    warp_reduce,
    zero,
    zero_wide,
)
from kernelpoint_lab.synth.launch import Launch, Tensor, make_launch
from kernelpoint_lab.synth.machine import Warps

TILE = 64


def gemm(a: Tensor, b: Tensor, c: Tensor, m: int, n: int, k: int) -> Launch:
    """C[m, n] = A[m, k] B[k, n] by tiles of 64 x 64 in shared memory: FFMA for 4-byte, HMMA.884 for 2-byte elements.

    m and n are any size (edge tiles are predicated); k must be a multiple of 16 (8 for 4-byte elements).
    """
    half = c.width == 2
    block, step = (128, 16) if half else (256, 8)
    # One access per thread brings in a TILE x step part of A, another a step x TILE part of B.
    wide = TILE * step // block
    inner = _tensor_core_step if half else _ffma_step

    def program(w: Warps) -> None:
        parts = _tile_loads(w, a, b, (m, n, k), step, wide)
        registers = [f"c{r}" for r in range(16)]
        zero(w, *registers)
        read = inner(w)
        for i in w.loop(k // step):
            for name, (tensor, element, valid, shared) in parts.items():
                zero_wide(w, name, wide * c.width // 4)
                with w.predicated(valid):
                    stride = i * step * (1 if name == "a" else n)
                    w.load(_wide("LDG.E", wide * c.width), name, f"{name}_at", tensor.at(element + stride))
                w.store(_wide("STS", wide * c.width), "shared", name, shared)
                w.op("IADD3", f"{name}_at", f"{name}_at", "RZ")
            w.op("BAR.SYNC")
            read()
            w.op("BAR.SYNC")
        _write_tile(w, c, (m, n), block)

    return make_launch(
        "gemm", "gemm_hmma_64x64" if half else "gemm_ffma_64x64", program, (blocks(n, TILE), blocks(m, TILE)),
        (block,), [a, b, c], shared=2 * TILE * step * c.width, m=m, n=n, k=k,
    )  # fmt: skip


def _wide(opcode: str, size: int) -> str:
    """The opcode of an access of `size` bytes (4, 8 or 16) per lane; those to global memory end in SYS."""
    return ".".join([opcode, *([str(8 * size)] if size > 4 else []), *(["SYS"] if opcode.endswith(".E") else [])])


def _tile_loads(w: Warps, a: Tensor, b: Tensor, sizes: tuple[int, int, int], step: int, wide: int) -> dict:
    """Addresses and bounds of each thread's part of the A and B tiles: tensor, first element, validity, shared address."""
    m, n, k = sizes
    thread_index(w)
    w.op("S2R", "cta_y")
    part = w.thread * wide
    row, column = w.cta_y * TILE + part // step, w.cta_x * TILE + part % TILE
    w.op("IMAD", "a_index", "cta_y", "tid")
    w.op("IMAD", "b_index", "cta", "tid")
    address(w, "a_at", "a_index")
    address(w, "b_at", "b_index")
    w.op("SHF.L.U32", "shared", "tid", "RZ")
    w.op("ISETP.GE.AND", None, "a_index")
    w.op("ISETP.GE.AND", None, "b_index")
    shared = part * a.width
    return {
        "a": (a, row * k + part % step, row < m, w.addresses(shared)),
        "b": (b, (part // TILE) * n + column, column + wide <= n, w.addresses(shared + TILE * step * a.width)),
    }


def _ffma_step(w: Warps) -> Callable[[], None]:
    """Each of 256 threads owns 4 x 4 of C: per k, a quad of A and one of B from shared memory, then 16 FFMA."""
    rows, columns = w.thread // 16 * 4, w.thread % 16 * 4
    a_at = [w.addresses((k * TILE + rows) * 4) for k in range(8)]
    b_at = [w.addresses(TILE * 8 * 4 + (k * TILE + columns) * 4) for k in range(8)]

    def read() -> None:
        for k in range(8):
            w.load("LDS.U.128", "fragment_a", "shared", a_at[k])
            w.load("LDS.U.128", "fragment_b", "shared", b_at[k])
            for r in range(16):
                w.op("FFMA", f"c{r}", "fragment_a", "fragment_b", f"c{r}")

    return read


def _tensor_core_step(w: Warps) -> Callable[[], None]:
    """Each of four warps owns 32 x 32 of C: per four k, fragments of A and B, then HMMA.884 in four steps each."""
    rows, columns = w.warp // 2 * 32 + w.lane, w.warp % 2 * 32 + w.lane
    a_at = [w.addresses((rows * 16 + k * 4) * 2) for k in range(4)]
    b_at = [w.addresses(TILE * 16 * 2 + (k * 4 * TILE + columns * 4 % (TILE * 4)) * 2) for k in range(4)]

    def read() -> None:
        for k in range(4):
            w.load("LDS.U.64", "fragment_a", "shared", a_at[k])
            w.load("LDS.U.64", "fragment_b", "shared", b_at[k])
            for group in range(4):
                for step in range(4):
                    c = f"c{4 * group + step}"
                    w.op(f"HMMA.884.F32.F32.STEP{step}", c, "fragment_a", "fragment_b", c)

    return read


def _write_tile(w: Warps, c: Tensor, sizes: tuple[int, int], block: int) -> None:
    m, n = sizes
    threads = block // 16
    row = w.cta_y * TILE + w.thread // 16
    column = w.cta_x * TILE + w.thread % 16 * 4
    w.op("IMAD", "c_index", "cta_y", "tid")
    address(w, "c_at", "c_index")
    for r in range(TILE // threads):
        w.op("ISETP.GE.AND", None, "c_index")
        with w.predicated((row + r * threads < m) & (column + 4 <= n)):
            w.store(_wide("STG.E", 4 * c.width), "c_at", f"c{r % 16}", c.at((row + r * threads) * n + column))
        w.op("IADD3", "c_at", "c_at", "RZ")


def gemv(weights: Tensor, x: Tensor, y: Tensor, rows: int, columns: int, per_warp: int = 4) -> Launch:
    """y[rows] = W[rows, columns] x, 2-byte elements: a warp takes `per_warp` rows in turn, lanes 16 bytes at a time."""

    def program(w: Warps) -> None:
        thread_index(w)
        first = (w.cta_x * 4 + w.warp) * per_warp
        w.op("SHF.R.U32.HI", "row", "i", "RZ")
        w.op("ISETP.GE.AND", None, "row")
        w.exit_where(np.broadcast_to(first >= rows, w.active.shape))
        trips = np.clip(-(-(columns - w.lane * 8) // 256), 0, None)
        for r in w.loop(np.clip(rows - first, 0, per_warp), "done"):
            zero(w, "sum")
            w.op("IMAD", "index", "row", "tid")
            for step in strides(w, trips, "index"):
                column = w.lane * 8 + 256 * step
                address(w, "w_at", "index")
                w.load("LDG.E.128.SYS", "weights", "w_at", weights.at((first + r) * columns + column))
                address(w, "x_at", "tid")
                w.load("LDG.E.128.SYS", "x", "x_at", x.at(column))
                for _ in range(8):
                    w.op("HFMA2", "sum", "weights", "x", "sum")
            warp_reduce(w, "sum", "FADD")
            address(w, "y_at", "row")
            with w.predicated(w.lane == 0):
                w.store("STG.E.U16.SYS", "y_at", "sum", y.at(first + r))
            w.op("IADD3", "row", "row", "RZ")

    return make_launch(
        "gemv", "gemv_f16_warp_rows", program, (blocks(rows, 4 * per_warp),), (128,), [weights, x, y],
        rows=rows, columns=columns,
    )  # fmt: skip


def attention(
    query: Tensor, keys: Tensor, values: Tensor, out: Tensor, heads: int, length: int, capacity: int, split: int = 64
) -> Launch:
    """One query token against `length` cached keys and values [heads, capacity, 64], 2-byte elements.

    Flash decoding: grid heads x ceil(length / split), so it grows with the cache. Eight lanes share a key, a warp takes
    four keys at a time, four warps a split; the running maximum and sum are rescaled at every step (online softmax).
    """

    def program(w: Warps) -> None:
        thread_index(w)
        w.op("S2R", "head")
        group, part = w.lane // 8, w.lane % 8 * 8
        first = w.cta_y * split + w.warp * 4 + group
        address(w, "q_at", "head")
        w.load("LDG.E.128.SYS", "q", "q_at", query.at(w.cta_x * 64 + part))
        zero(w, "max", "sum", "v0", "v1")
        w.op("IMAD", "key", "head", "tid")
        trips = np.clip(-(-(np.minimum(length, (w.cta_y + 1) * split) - first) // 16), 0, None)
        for step in strides(w, trips, "key"):
            _attend(w, keys, values, (w.cta_x * capacity + first + 16 * step) * 64 + part)
        _merge_warps(w)
        address(w, "o_at", "head")
        with w.predicated(w.thread < 8):
            w.store("STG.E.128.SYS", "o_at", "v0", out.at((w.cta_y * heads + w.cta_x) * 64 + part))

    return make_launch(
        "attention", "flash_decode_f16_d64", program, (heads, blocks(length, split)), (128,),
        [query, keys, values, out], shared=4 * 32 * 16, heads=heads, length=length,
    )  # fmt: skip


def _attend(w: Warps, keys: Tensor, values: Tensor, element: np.ndarray) -> None:
    """One step over four keys: score, new maximum, rescale, accumulate the values."""
    address(w, "k_at", "key")
    w.load("LDG.E.128.SYS", "k", "k_at", keys.at(element))
    w.op("FMUL", "score", "q", "k")
    for _ in range(3):
        w.op("HFMA2", "score", "q", "k", "score")
    warp_reduce(w, "score", "FADD", lanes=8)
    w.op("FMNMX", "new", "max", "score")
    w.op("FADD", "scale", "max", "new")
    exponential(w, "scale")
    w.op("FADD", "score", "score", "new")
    exponential(w, "score")
    w.op("FFMA", "sum", "sum", "scale", "score")
    w.op("MOV", "max", "new")
    w.load("LDG.E.128.SYS", "v", "k_at", values.at(element))
    for name in ("v0", "v1"):
        w.op("FMUL", name, name, "scale")
        w.op("HFMA2", name, "v", "score", name)
        w.op("HFMA2", name, "v", "score", name)


def _merge_warps(w: Warps) -> None:
    """Partial results of the four warps meet in shared memory; the first warp adds them."""
    for name in ("sum", "v0", "v1"):
        for _ in range(2):
            w.op("SHFL.BFLY", "other", name)
            w.op("FADD", name, name, "other")
    w.op("SHF.L.U32", "slot", "tid", "RZ")
    mine = (w.warp * 32 + w.lane) * 16
    w.store("STS.128", "slot", "v0", mine)
    w.op("BAR.SYNC")
    with w.branch(np.broadcast_to(w.warp == 0, w.active.shape)):
        for other in range(1, 4):
            w.load("LDS.U.128", "part", "slot", (other * 32 + w.lane) * 16)
            w.op("FADD", "v0", "v0", "part")
        w.op("MUFU.RCP", "sum", "sum")
        w.op("FMUL", "v0", "v0", "sum")
