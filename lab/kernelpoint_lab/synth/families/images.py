"""Image kernels: direct 3 x 3 convolution and 2 x 2 max pooling over [batch, channels, size, size]."""

from __future__ import annotations

import numpy as np

from kernelpoint_lab.synth.families.common import address, blocks, bounded_index, fetch, put, zero
from kernelpoint_lab.synth.launch import Launch, make_launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.memory import Tensor


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
