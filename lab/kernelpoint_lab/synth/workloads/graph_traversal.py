"""Breadth-first searches over power-law graphs: frontiers rise from one vertex to most of the graph and fall again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.elementwise import elementwise
from kernelpoint_lab.synth.families.rows import reduction, scan
from kernelpoint_lab.synth.families.sparse import Rows, bfs, bfs_levels, gather, histogram, power_law_graph
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.sizes import Size, several, single

BINS = 64  # depths counted after a search


@dataclass(frozen=True)
class Shape:
    """Vertices of the graph's snapshots, and how many sources are asked for in each."""

    vertices: tuple[int, ...] = several(Size("vertices of each snapshot of the graph", 64, 1 << 22, count=(1, 8)))
    sources: int = single(Size("vertices that searches start from", 1, 64))
    queries: int = single(Size("searches before the next snapshot", 1, 1 << 20))
    degree: int = single(Size("mean neighbours of a vertex", 2, 256))


SHAPES = {
    "small": Shape((2048, 3072, 4096), 6, 40, 8),
    "medium": Shape((8192, 12288, 16384), 4, 40, 8),
    "large": Shape((131072,), 2, 40, 8),
}


class Snapshot:
    """A graph on the device with its sources and the launches of a search from each."""

    def __init__(self, rng: np.random.Generator, vertices: int, shape: Shape, memory: Memory) -> None:
        self.graph = Rows.place(*power_law_graph(rng, vertices, shape.degree), memory)
        self.sources = rng.choice(vertices, shape.sources, replace=False)
        self.popularity = 1.0 / np.arange(1, shape.sources + 1)
        self.popularity /= self.popularity.sum()
        self.degrees, self.depth, self.blank = (memory.tensor(vertices) for _ in range(3))
        self.queues = [memory.tensor(vertices) for _ in range(2)]
        self.work, self.offsets = memory.tensor(vertices), memory.tensor(vertices)
        self.sums, self.length = memory.tensor(-(-vertices // 256)), memory.tensor(1)
        self.counts, self.total = memory.tensor(BINS), memory.tensor(1)
        self.search = cache(self._search)

    def _search(self, source: int) -> list[Launch]:
        count = self.graph.count
        launches = [elementwise("copy", [self.blank], self.depth, count, 128)]
        depths = np.zeros(count, dtype=np.int64)
        for number, level in enumerate(bfs_levels(self.graph, source)):
            queue, following = self.queues[number % 2], self.queues[1 - number % 2]
            size = len(level.vertices)
            depths[level.vertices] = min(number, BINS - 1)
            launches += [
                gather(self.degrees, queue, self.work, level.vertices, 1),
                scan(self.work, self.offsets, self.sums, size),
                bfs(self.graph, level, self.depth, (queue, following, self.length)),
            ]
        ctas = -(-count // 1024)
        launches.append(histogram(self.depth, self.counts, depths, BINS, ctas))
        launches.append(reduction([self.counts], self.total, BINS, 1, 64))
        return launches


def sequence(shape: Shape, seed: int) -> Iterator[Launch | HostCopy]:
    """Endless launches: sources drawn by popularity (1 / rank), the graph's snapshots in turn."""
    memory = Memory()
    rng = generator(seed, "synth", 6)
    snapshots = [
        Snapshot(generator(seed, "synth", 7, number), vertices, shape, memory) for number, vertices in enumerate(shape.vertices)
    ]
    while True:
        for snapshot in snapshots:
            for tensor in (snapshot.graph.starts_at, snapshot.graph.columns_at, snapshot.degrees, snapshot.blank):
                yield HostCopy(tensor)
            for _ in range(shape.queries):
                yield HostCopy(snapshot.length)
                yield from snapshot.search(int(rng.choice(snapshot.sources, p=snapshot.popularity)))
