"""Breadth-first search of a graph, a launch for each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint_lab.synth.families.common import address, blocks, bounded_index, fetch, strides
from kernelpoint_lab.synth.families.sparse import Rows
from kernelpoint_lab.synth.launch import Launch, make_launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.memory import Tensor


@dataclass(frozen=True)
class Frontier:
    """A breadth-first level: its vertices, and for each edge out of them whether it discovers a vertex, and where.

    Attributes:
        vertices: int64 [V], in queue order.
        position: int64 [edges of the graph]; place in the next queue for edges that discover, -1 for others.
        following: int64, the next level's vertices.
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
        found, where = np.unique(targets, return_index=True)
        fresh = ~seen[found]
        order = np.argsort(where[fresh])
        discovering, following = edges[where[fresh]][order], found[fresh][order]
        position = np.full(len(graph.columns), -1)
        position[discovering] = np.arange(len(following))
        levels.append(Frontier(vertices, position, following))
        seen[following] = True
        vertices = following
    return levels


def bfs(graph: Rows, level: Frontier, depth: Tensor, queues: tuple[Tensor, Tensor, Tensor], block: int = 128) -> Launch:
    """Expands one level, a thread per frontier vertex: unvisited neighbours get a depth and enter the next queue.

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


def _visit(
    w: Warps, graph: Rows, level: Frontier, depth: Tensor, queue: tuple[Tensor, Tensor], edge: np.ndarray
) -> None:
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
