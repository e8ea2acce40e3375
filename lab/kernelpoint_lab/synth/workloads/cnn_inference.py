"""Serving a small convolutional network: batches as large as the queue allows, up to eight images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernelpoint.errors import ConfigError
from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.dense import gemm
from kernelpoint_lab.synth.families.elementwise import batch_norm, convolution, elementwise, pooling
from kernelpoint_lab.synth.families.rows import reduction, softmax
from kernelpoint_lab.synth.families.sparse import gather
from kernelpoint_lab.synth.launch import Launch, Memory, Tensor
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.sizes import Size, several, single

CLASSES = 64
IMAGES = 128  # distinct images whose detections differ
BOX = 16  # elements per detection


@dataclass(frozen=True)
class Shape:
    """Input size and the stages: output channels of two convolutions each, the second with a residual sum."""

    size: int = single(Size("rows and columns of an image", 2, 1024, multiple=2))
    channels: tuple[int, ...] = several(Size("output channels of each stage", 1, 512, count=(1, 8)))
    batches: tuple[int, ...] = several(Size("images that a batch may have", 1, 1024, count=(1, 8), rising=True))

    def __post_init__(self) -> None:
        side = self.size >> len(self.channels)
        if side << len(self.channels) != self.size or not side:
            raise ConfigError(
                f"--set size={self.size}: each of {len(self.channels)} stages halves the image; "
                f"allowed: multiples of {1 << len(self.channels)}"
            )
        if self.channels[-1] * side**2 % 16:
            raise ConfigError(
                f"--set channels={','.join(map(str, self.channels))}: {self.channels[-1]} channels of {side} x {side} "
                "leave the last stage; allowed: together a multiple of 16"
            )


SHAPES = {
    "small": Shape(16, (8, 16, 32), (1, 2, 4, 8)),
    "medium": Shape(32, (8, 16, 32), (1, 2, 4, 8)),
    "large": Shape(32, (16, 16, 16), (1, 4, 16)),
}


class Network:
    """Weights and activations on the device; `forward(batch)` gives the launches."""

    def __init__(self, shape: Shape, memory: Memory) -> None:
        self.shape = shape
        largest = shape.batches[-1] * max(shape.channels) * shape.size**2
        self.input = {n: memory.tensor(n * 3 * shape.size**2) for n in shape.batches}
        self.ping, self.pong, self.skip = (memory.tensor(largest) for _ in range(3))
        self.stages: list[tuple[int, int, Tensor, Tensor, Tensor]] = []
        inputs = 3
        for outputs in shape.channels:
            first, second = memory.tensor(9 * inputs * outputs), memory.tensor(9 * outputs * outputs)
            self.stages.append((inputs, outputs, first, second, memory.tensor(2 * outputs)))
            inputs = outputs
        features = inputs * (shape.size >> len(shape.channels)) ** 2
        self.features, self.weights = features, memory.tensor(features * CLASSES)
        rows = shape.batches[-1]
        self.logits, self.scores = memory.tensor(rows * CLASSES), memory.tensor(rows * CLASSES)
        self.best = memory.tensor(rows)
        self.boxes, self.kept = memory.tensor(256 * BOX), memory.tensor(256 * BOX)
        self.keep = memory.tensor(256)
        self.forward = cache(self._forward)
        self.detections = cache(self._detections)

    def _forward(self, batch: int) -> list[Launch]:
        launches: list[Launch] = []
        size, source = self.shape.size, self.input[batch]
        for inputs, outputs, first, second, scale in self.stages:
            count = batch * outputs * size**2
            launches += [
                convolution(source, first, self.skip, batch, (inputs, outputs), size),
                batch_norm(self.skip, scale, batch, outputs, size),
                convolution(self.skip, second, self.pong, batch, (outputs, outputs), size),
                elementwise("add", [self.pong, self.skip], self.pong, count),
                batch_norm(self.pong, scale, batch, outputs, size),
                pooling(self.pong, self.ping, batch * outputs, size),
            ]
            size, source = size // 2, self.ping
        return [
            *launches,
            gemm(self.ping, self.weights, self.logits, batch, CLASSES, self.features),
            softmax(self.logits, self.scores, batch, CLASSES),
            reduction([self.scores], self.best, batch * CLASSES, 1, 128),
        ]

    def _detections(self, image: int, seed: int) -> Launch:
        rng = generator(seed, "synth", 3, image)
        index = rng.permutation(256)[: int(rng.integers(1, 65))]
        return gather(self.boxes, self.keep, self.kept, np.sort(index), BOX)


def sequence(shape: Shape, seed: int) -> Iterator[Launch | HostCopy]:
    """Endless launches: the queue grows by a Poisson number of images per step, around a load that swings slowly."""
    rng, network = generator(seed, "synth", 2), Network(shape, Memory())
    waiting = step = 0
    while True:
        load = shape.batches[-1] * (0.45 + 0.4 * np.sin(2 * np.pi * step / 80))
        waiting = min(waiting + int(rng.poisson(load)), 4 * shape.batches[-1])
        step += 1
        batch = max((n for n in shape.batches if n <= waiting), default=0)
        if not batch:
            continue
        waiting -= batch
        yield HostCopy(network.input[batch])
        yield from network.forward(batch)
        yield network.detections(int(rng.integers(IMAGES)), seed)
