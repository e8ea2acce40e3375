"""Reductions, scans and row-wise kernels: barriers, shuffles and shared memory."""

from __future__ import annotations

import numpy as np

from kernelpoint_lab.synth.families.common import (
    STORES,
    TYPES,
    address,
    arithmetic,
    block_reduce,
    exponential,
    fetch,
    strides,
    thread_index,
    warp_reduce,
    zero,
)
from kernelpoint_lab.synth.launch import Launch, Tensor, make_launch
from kernelpoint_lab.synth.machine import Warps


def reduction(inputs: list[Tensor], target: Tensor, count: int, ctas: int, block: int = 256) -> Launch:
    """Sum of one vector, or dot product of two, by `ctas` CTAs with a grid-stride loop; one partial sum per CTA.

    All threads stay to the end and the block has at least two warps, so that no lane leaves before a barrier.
    """
    width = inputs[0].width
    add = arithmetic("ADD", width)
    kind = "dot" if len(inputs) == 2 else "sum"

    def program(w: Warps) -> None:
        index = thread_index(w)
        zero(w, "sum")
        trips = -(-(count - index) // (ctas * block))
        for step in strides(w, trips, "i"):
            element = index + step * ctas * block
            for number, tensor in enumerate(inputs):
                fetch(w, f"x{number}", f"a{number}", "i", tensor, element)
            operation = "FMA" if len(inputs) == 2 else "ADD"
            w.op(arithmetic(operation, width), "sum", *(f"x{n}" for n in range(len(inputs))), "sum")
        block_reduce(w, "sum", add)
        w.op("ISETP.NE.AND", None, "tid", "RZ")
        address(w, "out", "cta")
        with w.predicated(w.thread == 0):
            w.store(STORES[width], "out", "sum", target.at(w.cta_x))

    return make_launch(
        "reduction", f"{kind}_{TYPES[width]}", program, (ctas,), (block,), [*inputs, target],
        shared=4 * (block // 32), n=count,
    )  # fmt: skip


def softmax(source: Tensor, target: Tensor, rows: int, columns: int) -> Launch:
    """Row-wise softmax, one warp per row, four rows per CTA: maximum, sum of exponentials, scaled write."""

    def sweep(w: Warps, row: np.ndarray, tensor: Tensor, body: str) -> None:
        w.op("IMAD", "i", "row", "tid")
        trips = np.where(row < rows, -(-(columns - w.lane) // 32), 0)
        for step in strides(w, trips, "i"):
            element = row * columns + w.lane + 32 * step
            fetch(w, "x", "a", "i", source, element)
            if body == "max":
                w.op("FMNMX", "max", "max", "x")
            else:
                w.op("FADD", "x", "x", "max")
                exponential(w, "x")
            if body == "sum":
                w.op("FADD", "sum", "sum", "x")
            if body == "write":
                w.op("FMUL", "x", "x", "sum")
                w.store(STORES[tensor.width], "a", "x", tensor.at(element))

    def program(w: Warps) -> None:
        thread_index(w, "row")
        row = w.cta_x * 4 + w.warp
        w.op("ISETP.GE.AND", None, "row")
        w.exit_where(np.broadcast_to(row >= rows, w.active.shape))
        zero(w, "max", "sum")
        sweep(w, row, source, "max")
        warp_reduce(w, "max", "FMNMX")
        sweep(w, row, source, "sum")
        warp_reduce(w, "sum", "FADD")
        w.op("MUFU.RCP", "sum", "sum")
        sweep(w, row, target, "write")

    return make_launch(
        "softmax",
        f"softmax_warp_{TYPES[source.width]}",
        program,
        (-(-rows // 4),),
        (128,),
        [source, target],
        rows=rows,
        columns=columns,
    )


def layer_norm(source: Tensor, weight: Tensor, target: Tensor, rows: int, columns: int, block: int = 128) -> Launch:
    """Row-wise layer normalisation, one CTA per row: mean, variance, scaled write with weight and bias in `weight`."""

    def sweep(w: Warps, body: str) -> None:
        w.op("IMAD", "i", "cta", "tid")
        trips = -(-(columns - w.thread) // block)
        for step in strides(w, trips, "i", "tid"):
            column = w.thread + block * step
            fetch(w, "x", "a", "i", source, w.cta_x * columns + column)
            if body == "mean":
                w.op("FADD", "mean", "mean", "x")
            else:
                w.op("FADD", "x", "x", "mean")
            if body == "variance":
                w.op("FFMA", "variance", "x", "x", "variance")
            if body == "write":
                fetch(w, "gain", "g", "tid", weight, column)
                w.load("LDG.E.SYS", "bias", "g", weight.at(columns + column))
                w.op("FMUL", "x", "x", "variance")
                w.op("FFMA", "x", "x", "gain", "bias")
                w.store(STORES[target.width], "a", "x", target.at(w.cta_x * columns + column))

    def program(w: Warps) -> None:
        thread_index(w)
        zero(w, "mean", "variance")
        sweep(w, "mean")
        block_reduce(w, "mean", "FADD")
        sweep(w, "variance")
        block_reduce(w, "variance", "FADD")
        w.op("MUFU.RSQ", "variance", "variance")
        sweep(w, "write")

    return make_launch(
        "layer_norm", f"layer_norm_{TYPES[source.width]}", program, (rows,), (block,), [source, weight, target],
        shared=4 * (block // 32), rows=rows, columns=columns,
    )  # fmt: skip


def scan(source: Tensor, target: Tensor, sums: Tensor, count: int, block: int = 256) -> Launch:
    """Inclusive prefix sum within each CTA (warp shuffles, then warp totals in shared memory); CTA totals to `sums`."""
    warps = block // 32

    def up(w: Warps, lanes: int) -> None:
        for step in range(lanes.bit_length() - 1):
            w.op("SHFL.UP", "other", "x")
            with w.predicated(w.lane >= (1 << step)):
                w.op("IADD3", "x", "x", "other")

    def program(w: Warps) -> None:
        index = thread_index(w)
        zero(w, "x")
        address(w, "a", "i")
        w.op("ISETP.GE.AND", None, "i")
        with w.predicated(index < count):
            w.load("LDG.E.SYS", "x", "a", source.at(index))
        up(w, 32)
        w.op("SHF.R.U32.HI", "slot", "tid", "RZ")
        with w.predicated(w.lane == 31):
            w.store("STS", "slot", "x", 4 * w.warp)
        w.op("MOV", "own", "x")
        w.op("BAR.SYNC")
        with w.branch((w.warp == 0) & (w.lane < warps)):
            w.load("LDS.U", "x", "tid", 4 * w.lane)
            up(w, warps)
            w.store("STS", "tid", "x", 4 * w.lane)
        w.op("BAR.SYNC")
        with w.branch(np.broadcast_to(w.warp > 0, w.active.shape)):
            w.load("LDS.U", "before", "slot", 4 * (w.warp - 1))
            w.op("IADD3", "own", "own", "before")
        with w.predicated(index < count):
            w.store("STG.E.SYS", "a", "own", target.at(index))
        address(w, "total", "cta")
        with w.predicated(w.thread == block - 1):
            w.store("STG.E.SYS", "total", "own", sums.at(w.cta_x))

    return make_launch(
        "scan", "scan_block_i32", program, (-(-count // block),), (block,), [source, target, sums],
        shared=4 * warps, n=count,
    )  # fmt: skip
