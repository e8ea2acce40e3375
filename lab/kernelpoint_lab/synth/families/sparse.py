"""Irregular kernels over compressed rows: seeded graphs and matrices, gather, matrix-vector product, histogram, breadth-first
search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint_lab.synth.families.common import (
    TYPES,
    address,
    arithmetic,
    blocks,
    bounded_index,
    fetch,
    put,
    strides,
    thread_index,
)
from kernelpoint_lab.synth.launch import Launch, Memory, Tensor, make_launch
from kernelpoint_lab.synth.machine import Warps


def power_law_graph(rng: np.random.Generator, vertices: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """An undirected graph of mean degree about `degree` whose degrees follow a power law (exponent 2.5).

    Edges join vertices drawn in proportion to weights w_i = (i + 8) ** (-1 / (2.5 - 1)) under a random order (Chung and
    Lu 2002; the offset bounds the largest degree); a ring through all vertices keeps it connected.

    Returns:
        starts, int64 [vertices + 1], and columns, int64 [entries], sorted within each row, without doubles or loops.

    >>> starts, columns = power_law_graph(np.random.default_rng(0), 100, 4)
    >>> len(starts), bool((np.diff(starts) >= 2).all())
    (101, True)
    """
    weights = (np.arange(vertices) + 8.0) ** (-1 / 1.5)
    order = rng.permutation(vertices)
    ends = order[rng.choice(vertices, size=(2, max(1, vertices * (degree - 2) // 2)), p=weights / weights.sum())]
    ring = rng.permutation(vertices)
    pairs = np.concatenate([ends, np.stack([ring, np.roll(ring, 1)])], axis=1)
    return _compress(vertices, pairs)


def sparse_matrix(rng: np.random.Generator, rows: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of a symmetric matrix like a mesh's with some long links: mean `degree` entries a row, diagonal in.

    Three quarters of the links go to rows nearby (within 32), the others anywhere. Returns as `power_law_graph`.
    """
    links = max(1, rows * (degree - 1) // 2)
    near = rng.random(links) < 0.75
    first = rng.integers(0, rows, links)
    other = np.where(near, (first + rng.integers(1, 33, links)) % rows, rng.integers(0, rows, links))
    diagonal = np.tile(np.arange(rows), (2, 1))
    return _compress(rows, np.stack([first, other]), diagonal)


def _compress(count: int, pairs: np.ndarray, diagonal: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compressed rows of the symmetric closure of `pairs` (int [2, E]) without doubles or loops, plus a diagonal."""
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = np.concatenate([pairs, pairs[::-1]] + ([diagonal] if diagonal is not None else []), axis=1)
    keys = np.sort(both[0].astype(np.int64) * count + both[1])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    starts = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count)
    return starts.astype(np.int64), keys % count


@dataclass(frozen=True)
class Rows:
    """A sparse matrix or graph in compressed rows: the arrays, and the tensors that hold them on the device."""

    starts: np.ndarray  # int64 [rows + 1]
    columns: np.ndarray  # int64 [entries]
    starts_at: Tensor
    columns_at: Tensor

    @classmethod
    def place(cls, starts: np.ndarray, columns: np.ndarray, memory: Memory) -> Rows:
        """Put a matrix or graph into device memory; a graph without edges gets one unused entry."""
        columns = columns if len(columns) else np.zeros(1, dtype=np.int64)
        return cls(starts, columns, memory.tensor(len(starts)), memory.tensor(len(columns)))

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1


def gather(table: Tensor, indices: Tensor, target: Tensor, index: np.ndarray, columns: int) -> Launch:
    """target[r, :] = table[index[r], :]: a thread per element; `index` holds the values of `indices`."""
    width = table.width
    count = len(index) * columns

    def program(w: Warps) -> None:
        element = bounded_index(w, count)
        w.op("IMAD.HI.U32", "row", "i", "RZ")
        w.op("IMAD", "column", "row", "i")
        row = np.minimum(element // columns, len(index) - 1)
        fetch(w, "index", "p", "row", indices, row)
        w.op("IMAD", "index", "index", "column")
        fetch(w, "x", "a", "index", table, index[row] * columns + element % columns)
        put(w, "x", "out", "i", target, element)

    return make_launch(
        "gather", f"gather_rows_{TYPES[width]}", program, (blocks(count, 256),), (256,), [table, indices, target],
        data=[index], rows=len(index), columns=columns,
    )  # fmt: skip


def spmv(matrix: Rows, entries: Tensor, x: Tensor, y: Tensor, block: int = 128) -> Launch:
    """y = A x with A in compressed rows, a thread per row: lanes leave the loop as their rows end."""
    width = entries.width

    def program(w: Warps) -> None:
        row = bounded_index(w, matrix.count)
        row = np.minimum(row, matrix.count - 1)
        fetch(w, "entry", "p", "i", matrix.starts_at, row)
        w.load("LDG.E.SYS", "end", "p", matrix.starts_at.at(row + 1))
        w.op("MOV", "sum", "RZ") if width < 8 else w.op("CS2R", "sum")
        trips = matrix.starts[row + 1] - matrix.starts[row]
        for step in strides(w, trips, "entry", "entry", "end"):
            entry = np.minimum(matrix.starts[row] + step, len(matrix.columns) - 1)
            fetch(w, "column", "a", "entry", matrix.columns_at, entry)
            fetch(w, "value", "v", "entry", entries, entry)
            fetch(w, "factor", "b", "column", x, matrix.columns[entry])
            w.op(arithmetic("FMA", width), "sum", "value", "factor", "sum")
        put(w, "sum", "out", "i", y, row)

    return make_launch(
        "spmv", f"spmv_csr_scalar_{TYPES[width]}", program, (blocks(matrix.count, block),), (block,),
        [matrix.starts_at, matrix.columns_at, entries, x, y], rows=matrix.count, entries=len(matrix.columns),
    )  # fmt: skip


def histogram(source: Tensor, counts: Tensor, bins: np.ndarray, total: int, ctas: int, block: int = 256) -> Launch:
    """Counts per bin: shared-memory atomics, then one global reduction per bin and CTA.

    `bins` holds the bin of each element, `total` the number of bins.
    """
    count = len(bins)

    def clear_or_flush(w: Warps, flush: bool) -> None:
        trips = np.clip(-(-(total - w.thread) // block), 0, None)
        w.op("MOV", "bin", "tid")
        for step in strides(w, trips, "bin"):
            entry = w.thread + block * step
            if flush:
                w.load("LDS.U", "value", "bin", 4 * entry)
                address(w, "c", "bin")
                w.store("RED.E.ADD.STRONG.GPU", "c", "value", counts.at(entry))
            else:
                w.store("STS", "bin", "RZ", 4 * entry)

    def program(w: Warps) -> None:
        index = thread_index(w)
        clear_or_flush(w, flush=False)
        w.op("BAR.SYNC")
        trips = np.clip(-(-(count - index) // (ctas * block)), 0, None)
        for step in strides(w, trips, "i"):
            element = np.minimum(index + step * ctas * block, count - 1)
            fetch(w, "x", "a", "i", source, element)
            w.op("SHF.L.U32", "x", "x", "RZ")
            w.atomic("ATOMS.ADD", "old", ("x", "RZ"), 4 * bins[element])
        w.op("BAR.SYNC")
        clear_or_flush(w, flush=True)

    return make_launch(
        "histogram", "histogram_shared_i32", program, (ctas,), (block,), [source, counts], data=[bins],
        shared=4 * total, n=count, bins=total,
    )  # fmt: skip


@dataclass(frozen=True)
class Frontier:
    """A breadth-first level: its vertices, and for each edge out of them whether it discovers a vertex, and where.

    Attributes:
        vertices: int64 [V], vertices of the level in queue order.
        position: int64 [edges of the graph], position in the next queue for edges that discover a vertex; -1 for other edges.
        following: int64, vertices of the next level.
    """

    vertices: np.ndarray
    position: np.ndarray
    following: np.ndarray


def bfs_levels(graph: Rows, source: int) -> list[Frontier]:
    """The levels of a breadth-first search; of several edges that reach a vertex at once, the first discovers it."""
    seen = np.zeros(graph.count, dtype=bool)
    seen[source] = True
    vertices = np.array([source])
    levels = []
    while len(vertices):
        degrees = graph.starts[vertices + 1] - graph.starts[vertices]
        firsts = np.repeat(graph.starts[vertices] - np.cumsum(degrees) + degrees, degrees)
        edges = firsts + np.arange(len(firsts))
        targets = graph.columns[edges]
        reached, where = np.unique(targets, return_index=True)
        fresh = ~seen[reached]
        order = np.argsort(where[fresh])
        discovering, following = edges[where[fresh]][order], reached[fresh][order]
        position = np.full(len(graph.columns), -1)
        position[discovering] = np.arange(len(following))
        levels.append(Frontier(vertices, position, following))
        seen[following] = True
        vertices = following
    return levels


def bfs(graph: Rows, level: Frontier, depth: Tensor, queues: tuple[Tensor, Tensor, Tensor], block: int = 128) -> Launch:
    """Expand one level, a thread per frontier vertex: unvisited neighbours get a depth and enter the next queue.

    `queues` holds this level's queue, the next one, and its length.
    """
    queue, following, length = queues
    count = len(level.vertices)

    def program(w: Warps) -> None:
        index = bounded_index(w, count)
        vertex = level.vertices[np.minimum(index, count - 1)]
        fetch(w, "vertex", "q", "i", queue, index)
        fetch(w, "edge", "p", "vertex", graph.starts_at, vertex)
        w.load("LDG.E.SYS", "end", "p", graph.starts_at.at(vertex + 1))
        trips = graph.starts[vertex + 1] - graph.starts[vertex]
        for step in strides(w, trips, "edge", "edge", "end"):
            edge = np.minimum(graph.starts[vertex] + step, len(graph.columns) - 1)
            _visit(w, graph, level, depth, (following, length), edge)

    return make_launch(
        "bfs", "bfs_expand_thread", program, (blocks(count, block),), (block,),
        [graph.starts_at, graph.columns_at, depth, *queues], data=[level.vertices, level.following], frontier=count,
    )  # fmt: skip


def _visit(w: Warps, graph: Rows, level: Frontier, depth: Tensor, queue: tuple[Tensor, Tensor], edge: np.ndarray) -> None:
    fetch(w, "neighbour", "e", "edge", graph.columns_at, edge)
    address(w, "d", "neighbour")
    at = depth.at(graph.columns[edge])
    w.load("LDG.E.SYS", "depth", "d", at)
    w.op("ISETP.NE.AND", None, "depth", "RZ")
    place = level.position[edge]
    with w.branch(place >= 0):
        w.op("MOV", "deeper", "RZ")
        w.atomic("ATOMG.E.CAS.STRONG.GPU", "old", ("d", "depth", "deeper"), at)
        w.op("ISETP.NE.AND", None, "old", "RZ")
        w.op("MOV", "length_at", "RZ")
        w.atomic("ATOMG.E.ADD.STRONG.GPU", "place", ("length_at", "deeper"), queue[1].at(0))
        address(w, "next", "place")
        w.store("STG.E.SYS", "next", "neighbour", queue[0].at(place))
