"""Attention over keys and values: one CTA for each query, warps merged through shared memory."""

from __future__ import annotations

import numpy as np

from kernelpoint_lab.synth.families.common import address, blocks, exponential, strides, thread_index, warp_reduce, zero
from kernelpoint_lab.synth.launch import Launch, make_launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.memory import Tensor


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
