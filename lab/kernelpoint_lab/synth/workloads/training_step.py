"""Training a small language model: forward, backward, optimiser; batches of drawn length, another order in every epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.dense import gemm
from kernelpoint_lab.synth.families.elementwise import elementwise
from kernelpoint_lab.synth.families.rows import layer_norm, reduction, softmax
from kernelpoint_lab.synth.families.sparse import gather
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.sizes import Size, several, single

BATCHES = 12  # of an epoch
ACCUMULATED = 2  # batches whose gradients one step of the optimiser takes together
STEPS_PER_EVALUATION = 8
EVALUATED = 2  # batches of an evaluation, the first ones


@dataclass(frozen=True)
class Shape:
    """The model, and the tokens that a batch may have; a batch has as many as its longest text, rounded up."""

    layers: int = single(Size("layers of the model", 1, 256))
    hidden: int = single(Size("elements of a token's state", 16, 16384, multiple=16))
    vocabulary: int = single(Size("tokens of the vocabulary", 16, 1 << 20, multiple=16))
    tokens: tuple[int, ...] = several(Size("tokens of a batch, from short to long", 16, 1 << 16, 16, (1, 8), rising=True))


SHAPES = {
    "small": Shape(2, 64, 256, (32, 64, 96, 128)),
    "medium": Shape(4, 128, 1024, (64, 128, 192, 256)),
    "large": Shape(2, 512, 4096, (256, 384, 512)),
}


class Weights:
    """A matrix [rows, columns] with its gradient, momentum, and the launches that update it."""

    def __init__(self, rows: int, columns: int, memory: Memory) -> None:
        self.rows, self.columns, self.count = rows, columns, rows * columns
        self.value, self.gradient, self.momentum = (memory.tensor(self.count) for _ in range(3))
        self.ctas = -(-self.count // 4096)
        self.partial = memory.tensor(self.ctas)
        self.norm = reduction([self.gradient, self.gradient], self.partial, self.count, self.ctas)
        self.update = [
            elementwise("axpy", [self.gradient, self.momentum], self.momentum, self.count),
            elementwise("axpy", [self.momentum, self.value], self.value, self.count),
        ]


class Model:
    """Weights and activations on the device, and the launches of a batch; equal batches give equal launches."""

    def __init__(self, shape: Shape, memory: Memory, seed: int) -> None:
        self.shape, self.seed = shape, seed
        hidden, most = shape.hidden, shape.tokens[-1]
        self.table, self.index = memory.tensor(shape.vocabulary * hidden), memory.tensor(most)
        self.up = [Weights(hidden, 4 * hidden, memory) for _ in range(shape.layers)]
        self.down = [Weights(4 * hidden, hidden, memory) for _ in range(shape.layers)]
        self.head = Weights(hidden, shape.vocabulary, memory)
        self.gains = [memory.tensor(2 * hidden) for _ in range(shape.layers)]
        self.x, self.normed, self.out, self.gradient = (memory.tensor(most * hidden) for _ in range(4))
        self.wide = [memory.tensor(most * 4 * hidden) for _ in range(shape.layers)]
        self.wide_gradient = memory.tensor(most * 4 * hidden)
        self.logits, self.scores = (memory.tensor(most * shape.vocabulary) for _ in range(2))
        self.loss, self.norm = memory.tensor(most), memory.tensor(1)
        self.tokens = cache(self._tokens)
        self.forward, self.backward = cache(self._forward), cache(self._backward)
        self.optimise = [launch for weights in (*self.up, *self.down, self.head) for launch in (weights.norm, *weights.update)]

    def _tokens(self, batch: int) -> np.ndarray:
        """Tokens by position; Zipf: few tokens make up most of a text."""
        rng = generator(self.seed, "synth", 8, batch)
        return np.minimum(rng.zipf(1.3, int(rng.choice(self.shape.tokens))), self.shape.vocabulary) - 1

    def _forward(self, batch: int) -> list[Launch]:
        tokens, hidden, words = self.tokens(batch), self.shape.hidden, self.shape.vocabulary
        count = len(tokens)
        launches = [gather(self.table, self.index, self.x, tokens, hidden)]
        for up, down, gains, wide in zip(self.up, self.down, self.gains, self.wide, strict=True):
            launches += [
                layer_norm(self.x, gains, self.normed, count, hidden),
                gemm(self.normed, up.value, wide, count, up.columns, hidden),
                elementwise("gelu", [wide], wide, count * up.columns),
                gemm(wide, down.value, self.out, count, hidden, down.rows),
                elementwise("add", [self.x, self.out], self.x, count * hidden),
            ]
        return [
            *launches,
            gemm(self.x, self.head.value, self.logits, count, words, hidden),
            softmax(self.logits, self.scores, count, words),
            reduction([self.scores], self.loss, count * words, 8),
        ]

    def _backward(self, batch: int) -> list[Launch]:
        """Two launches for each product: the gradient of its input and that of its weights."""
        count, hidden, words = len(self.tokens(batch)), self.shape.hidden, self.shape.vocabulary
        launches = [
            gemm(self.x, self.scores, self.head.gradient, hidden, words, count),
            gemm(self.scores, self.head.value, self.gradient, count, hidden, words),
        ]
        for up, down, gains, wide in reversed(list(zip(self.up, self.down, self.gains, self.wide, strict=True))):
            launches += [
                gemm(wide, self.gradient, down.gradient, down.rows, hidden, count),
                gemm(self.gradient, down.value, self.wide_gradient, count, down.rows, hidden),
                elementwise("gelu", [self.wide_gradient], self.wide_gradient, count * down.rows),
                gemm(self.normed, self.wide_gradient, up.gradient, hidden, up.columns, count),
                gemm(self.wide_gradient, up.value, self.out, count, hidden, up.columns),
                layer_norm(self.out, gains, self.normed, count, hidden),
                elementwise("add", [self.gradient, self.normed], self.gradient, count * hidden),
            ]
        return launches


def sequence(shape: Shape, seed: int) -> Iterator[Launch | HostCopy]:
    """Endless launches: epochs over the same batches in a drawn order; an evaluation, forward only, now and then."""
    model = Model(shape, Memory(), seed)
    rng = generator(seed, "synth", 9)
    taken = 0
    while True:
        for batch in rng.permutation(BATCHES).tolist():
            yield HostCopy(model.index)
            yield from model.forward(batch)
            yield from model.backward(batch)
            taken += 1
            if taken % ACCUMULATED == 0:
                yield from model.optimise
            if taken % (ACCUMULATED * STEPS_PER_EVALUATION) == 0:
                for evaluated in range(EVALUATED):
                    yield HostCopy(model.index)
                    yield from model.forward(evaluated)
