"""Decoding with a transformer, one sequence at a time: the KV cache grows by one position per token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.dense import attention, gemv
from kernelpoint_lab.synth.families.elementwise import elementwise
from kernelpoint_lab.synth.families.rows import layer_norm, reduction, softmax
from kernelpoint_lab.synth.families.sparse import gather
from kernelpoint_lab.synth.launch import Launch, Memory, Tensor
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.sizes import Size, several, single

HEAD = 64  # elements per attention head
HALF = 2  # bytes per element


@dataclass(frozen=True)
class Shape:
    """Model and requests: a prompt of drawn length fills the cache, then a drawn number of tokens is generated."""

    layers: int = single(Size("layers of the model", 1, 256))
    heads: int = single(Size(f"attention heads, of {HEAD} elements each", 1, 256))
    vocabulary: int = single(Size("tokens of the vocabulary", 32, 1 << 20, multiple=8))
    prompts: tuple[int, int] = several(Size("shortest and longest prompt", 1, 1 << 16, count=(2, 2), rising=True))
    generated: tuple[int, int] = several(Size("fewest and most generated tokens", 1, 1 << 16, count=(2, 2), rising=True))

    @property
    def hidden(self) -> int:
        """Elements of a token's state."""
        return self.heads * HEAD

    @property
    def capacity(self) -> int:
        """Number of positions that fit into the cache of keys and values."""
        return self.prompts[1] + self.generated[1]


SHAPES = {
    "small": Shape(4, 6, 1024, (32, 64), (12, 28)),
    "medium": Shape(6, 8, 4096, (64, 160), (16, 48)),
    "large": Shape(4, 16, 16384, (256, 320), (16, 48)),
}


class Buffers:
    """Buffers of activations, which all layers share."""

    def __init__(self, shape: Shape, memory: Memory) -> None:
        def half(count: int) -> Tensor:
            return memory.tensor(count, HALF)

        hidden, splits = shape.hidden, -(-shape.capacity // 64)
        self.token = memory.tensor(1)
        self.embedding = half(shape.vocabulary * hidden)
        self.x, self.normed, self.projected = half(hidden), half(hidden), half(hidden)
        self.qkv, self.attended = half(3 * hidden), half(splits * hidden)
        self.wide = half(4 * hidden)
        self.logits, self.probabilities = half(shape.vocabulary), half(shape.vocabulary)
        self.head = half(shape.vocabulary * hidden)
        self.gain, self.best = memory.tensor(2 * hidden), half(1)


class Layer:
    """One layer's weights, cache and launches."""

    def __init__(self, shape: Shape, memory: Memory, buffers: Buffers) -> None:
        hidden, size = shape.hidden, shape.hidden**2
        self.shape, self.buffers = shape, buffers
        self.qkv, self.out, self.up, self.down = (memory.tensor(n * size, HALF) for n in (3, 1, 4, 4))
        self.gains = [memory.tensor(2 * hidden) for _ in range(2)]
        self.keys, self.values = (memory.tensor(shape.capacity * hidden, HALF) for _ in range(2))
        self.attention = cache(self._attention)

    def _attention(self, length: int) -> list[Launch]:
        """Launches that depend on the position: appending to the cache, and attention over `length` positions."""
        shape, b = self.shape, self.buffers
        hidden = shape.hidden
        appends = [
            elementwise("copy", [b.qkv.part(n * hidden, hidden)], part.part((length - 1) * hidden, hidden), hidden, 128)
            for n, part in ((1, self.keys), (2, self.values))
        ]
        query = b.qkv.part(0, hidden)
        attend = attention(query, self.keys, self.values, b.attended, shape.heads, length, shape.capacity)
        return [*appends, attend]

    @cached_property
    def before(self) -> list[Launch]:
        """The launches ahead of attention, equal for every token."""
        hidden, b = self.shape.hidden, self.buffers
        return [
            layer_norm(b.x, self.gains[0], b.normed, 1, hidden),
            gemv(self.qkv, b.normed, b.qkv, 3 * hidden, hidden),
        ]

    @cached_property
    def after(self) -> list[Launch]:
        """The launches after attention, equal for every token."""
        hidden, b = self.shape.hidden, self.buffers
        return [
            gemv(self.out, b.attended, b.projected, hidden, hidden),
            elementwise("add", [b.x, b.projected], b.x, hidden, 128),
            layer_norm(b.x, self.gains[1], b.normed, 1, hidden),
            gemv(self.up, b.normed, b.wide, 4 * hidden, hidden),
            elementwise("gelu", [b.wide], b.wide, 4 * hidden, 128),
            gemv(self.down, b.wide, b.projected, hidden, 4 * hidden),
            elementwise("add", [b.x, b.projected], b.x, hidden, 128),
        ]


def sequence(shape: Shape, seed: int) -> Iterator[Launch | HostCopy]:
    """Endless launches of a server that decodes one request after another."""
    memory = Memory()
    rng = generator(seed, "synth", 1)
    buffers = Buffers(shape, memory)
    layers = [Layer(shape, memory, buffers) for _ in range(shape.layers)]
    hidden, b = shape.hidden, buffers
    finish = [
        layer_norm(b.x, b.gain, b.normed, 1, hidden),
        gemv(b.head, b.normed, b.logits, shape.vocabulary, hidden),
        softmax(b.logits, b.probabilities, 1, shape.vocabulary),
        reduction([b.probabilities], b.best, shape.vocabulary, 1, 128),
    ]
    embed = cache(lambda token: gather(b.embedding, b.token, b.x, np.array([token]), hidden))
    while True:
        prompt = int(rng.integers(shape.prompts[0], shape.prompts[1] + 1))
        tokens = int(rng.integers(shape.generated[0], shape.generated[1] + 1))
        for length in range(prompt + 1, prompt + tokens + 1):
            yield HostCopy(b.token)
            # Zipf: few tokens make up most of a text.
            yield embed(min(int(rng.zipf(1.3)), shape.vocabulary) - 1)
            for layer in layers:
                yield from layer.before
                yield from layer.attention(length)
                yield from layer.after
            yield from finish
