"""One thread for each element or pixel: copies, vector updates, activations, the five-point stencil, convolution, pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint_lab.synth.families.common import (
    LOADS,
    TYPES,
    address,
    arithmetic,
    blocks,
    bounded_index,
    fetch,
    put,
    zero,
)
from kernelpoint_lab.synth.launch import Launch, Tensor, make_launch
from kernelpoint_lab.synth.machine import Warps

# The instructions between the loads of x0 (x1) and the store of x0; "@" marks arithmetic in the data's width.
BODIES: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "copy": [],
    "add": [("@ADD", "x0", ("x0", "x1"))],
    "axpy": [("@FMA", "x0", ("x0", "x1"))],
    "relu": [("FMNMX", "x0", ("x0", "RZ"))],
    "gelu": [
        ("FMUL", "t", ("x0", "x0")),
        ("FFMA", "t", ("t", "x0")),
        ("FMUL", "t", ("t",)),
        ("MUFU.EX2", "t", ("t",)),
        ("FADD", "t", ("t",)),
        ("MUFU.RCP", "t", ("t",)),
        ("FFMA", "x0", ("x0", "t", "x0")),
    ],
}


def elementwise(kind: str, inputs: Sequence[Tensor], target: Tensor, count: int, block: int = 256) -> Launch:
    """target[i] = f(inputs[0][i], ...) for i < count; `kind` is a key of BODIES."""
    width = target.width

    def program(w: Warps) -> None:
        index = bounded_index(w, count)
        for number, tensor in enumerate(inputs):
            fetch(w, f"x{number}", f"a{number}", "i", tensor, index)
        for opcode, destination, sources in BODIES[kind]:
            if opcode.startswith("@"):
                opcode = arithmetic(opcode[1:], width)
            w.op(opcode, destination, *sources)
        put(w, "x0", "out", "i", target, index)

    return make_launch(
        "copy" if kind == "copy" else "elementwise", f"{kind}_{TYPES[width]}", program,
        (blocks(count, block),), (block,), [*inputs, target], n=count,
    )  # fmt: skip


def stencil(source: Tensor, target: Tensor, rows: int, columns: int) -> Launch:
    """Five-point stencil on a rows x columns grid, CTAs of 32 x 8 threads; border threads only copy."""
    width = target.width

    def program(w: Warps) -> None:
        for special in ("cta_x", "cta_y", "tid_x", "tid_y"):
            w.op("S2R", special)
        w.op("IMAD", "x", "cta_x", "tid_x")
        w.op("IMAD", "y", "cta_y", "tid_y")
        x, y = w.cta_x * 32 + w.lane, w.cta_y * 8 + w.warp
        w.op("ISETP.GE.AND", None, "x")
        w.op("ISETP.GE.OR", None, "y")
        w.exit_where((x >= columns) | (y >= rows))
        w.op("IMAD", "i", "y", "x")
        here = y * columns + x
        fetch(w, "centre", "a", "i", source, here)
        for _ in range(4):
            w.op("ISETP.NE.AND", None, "x", "y")
        inner = (x > 0) & (x < columns - 1) & (y > 0) & (y < rows - 1)
        with w.branch(inner):
            for offset in (-columns, -1, 1, columns):
                w.load(LOADS[width], "neighbour", "a", source.at(here + offset))
                w.op(arithmetic("FMA", width), "centre", "neighbour", "centre")
        put(w, "centre", "out", "i", target, here)

    return make_launch(
        "stencil", f"stencil5_{TYPES[width]}", program, (blocks(columns, 32), blocks(rows, 8)), (32, 8),
        [source, target], rows=rows, columns=columns,
    )  # fmt: skip


def convolution(
    image: Tensor, weights: Tensor, out: Tensor, batch: int, channels: tuple[int, int], size: int, block: int = 256
) -> Launch:
    """3 x 3 convolution with zero padding, a thread per output pixel; grid z is the batch.

    `channels` are those of the input and of the output. Taps beyond the border are predicated off.
    """
    inputs, outputs = channels
    pixels = size * size

    def program(w: Warps) -> None:
        index = bounded_index(w, outputs * pixels)
        w.op("S2R", "batch")
        for name in ("channel", "y", "x"):
            w.op("IMAD.HI.U32", name, "i", "RZ")
        channel, y, x = index // pixels, index % pixels // size, index % size
        for name in ("y", "x"):
            w.op("ISETP.GE.AND", None, name, "RZ")
            w.op("ISETP.LT.AND", None, name)
        zero(w, "sum")
        w.op("IMAD", "image_index", "batch", "i")
        w.op("IMAD", "weight_index", "channel", "RZ")
        for plane in w.loop(inputs):
            address(w, "p", "image_index")
            address(w, "k", "weight_index")
            first = (w.cta_z * inputs + plane) * pixels
            for tap in range(9):
                dy, dx = tap // 3 - 1, tap % 3 - 1
                inside = (y + dy >= 0) & (y + dy < size) & (x + dx >= 0) & (x + dx < size)
                w.load("LDG.E.CONSTANT.SYS", "weight", "k", weights.at((channel * inputs + plane) * 9 + tap))
                zero(w, "pixel")
                with w.predicated(inside):
                    w.load("LDG.E.SYS", "pixel", "p", image.at(first + (y + dy) * size + x + dx))
                w.op("FFMA", "sum", "pixel", "weight", "sum")
            w.op("IADD3", "image_index", "image_index", "RZ")
            w.op("IADD3", "weight_index", "weight_index", "RZ")
        put(w, "sum", "o", "i", out, w.cta_z * outputs * pixels + index)

    return make_launch(
        "convolution", "conv3x3_direct_f32", program, (blocks(outputs * pixels, block), 1, batch), (block,),
        [image, weights, out], batch=batch, channels=f"{inputs}->{outputs}", size=size,
    )  # fmt: skip


def batch_norm(image: Tensor, scale: Tensor, batch: int, channels: int, size: int, block: int = 256) -> Launch:
    """Folded batch normalisation and ReLU, in place: image = max(image * scale[channel] + scale[channels + channel], 0)."""
    pixels = size * size
    count = batch * channels * pixels

    def program(w: Warps) -> None:
        index = bounded_index(w, count)
        channel = index // pixels % channels
        w.op("IMAD.HI.U32", "channel", "i", "RZ")
        fetch(w, "x", "p", "i", image, index)
        address(w, "s", "channel")
        w.load("LDG.E.CONSTANT.SYS", "gain", "s", scale.at(channel))
        w.load("LDG.E.CONSTANT.SYS", "shift", "s", scale.at(channels + channel))
        w.op("FFMA", "x", "x", "gain", "shift")
        w.op("FMNMX", "x", "x", "RZ")
        w.store("STG.E.SYS", "p", "x", image.at(index))

    return make_launch(
        "batch_norm", "batch_norm_relu_f32", program, (blocks(count, block),), (block,), [image, scale],
        batch=batch, channels=channels, size=size,
    )  # fmt: skip


def pooling(image: Tensor, out: Tensor, planes: int, size: int, block: int = 256) -> Launch:
    """2 x 2 max pooling of `planes` images of size x size, a thread per output pixel."""
    half = size // 2
    count = planes * half * half

    def program(w: Warps) -> None:
        index = bounded_index(w, count)
        w.op("IMAD.HI.U32", "y", "i", "RZ")
        w.op("IMAD", "x", "y", "i")
        w.op("LEA", "source", "x", "y")
        address(w, "p", "source")
        corner = index // half * 2 * size + index % half * 2
        w.op("MOV", "max", "RZ")
        for offset in (0, 1, size, size + 1):
            w.load("LDG.E.SYS", "pixel", "p", image.at(corner + offset))
            w.op("FMNMX", "max", "max", "pixel")
        put(w, "max", "o", "i", out, np.asarray(index))

    return make_launch(
        "pooling", "max_pool2x2_f32", program, (blocks(count, block),), (block,), [image, out], planes=planes, size=size
    )
