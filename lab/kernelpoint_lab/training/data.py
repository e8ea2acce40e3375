"""Training data of the encoder: one graph for each distinct instruction sequence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint.graphs import TraceGraph, build_graph
from kernelpoint.program import Program
from kernelpoint.progress import Progress
from kernelpoint.traces import ArtefactCache, read_trace_list, scan_launches


@dataclass(frozen=True)
class TrainingData:
    """Graphs to train on, and counts of the launches that they were made from.

    Attributes:
        graphs: distinct graphs.
        launches, streams: number of launches and of instruction sequences in the given lists.
        excluded_streams: number of streams left out because the stream, or its kernel's name, occurs in the excluded traces.
        equal_graphs: number of streams left out because another stream has the same graph (grids of equal warps).
        shared_streams: number of streams of the excluded traces that are in the training data: 0, counted as a check.
    """

    graphs: list[TraceGraph]
    launches: int
    streams: int
    excluded_streams: int
    equal_graphs: int
    shared_streams: int

    def counts(self) -> dict[str, int]:
        """Numbers of launches and graphs, before and after exclusion, for logs and the model card."""
        names = ("launches", "streams", "excluded_streams", "equal_graphs", "shared_streams")
        return {"graphs": len(self.graphs), **{name: getattr(self, name) for name in names}}


def graph_digest(graph: TraceGraph) -> bytes:
    """Hash of a graph. Graphs between which the encoder cannot distinguish have equal hashes."""
    shares = graph.warp_weights / graph.warp_weights.sum()
    digest = hashlib.blake2b(digest_size=16)
    for array in (graph.tokens, graph.features, graph.edge_index, graph.edge_type, graph.warp_starts, shares):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def scan_all(lists: Sequence[str], cache: ArtefactCache | None, progress: Progress | None) -> Program:
    """All launches of several trace lists as one table."""
    return scan_launches([path for trace_list in lists for path in read_trace_list(trace_list).traces], cache, progress)


def training_data(
    lists: Sequence[str],
    excluded: Sequence[str] = (),
    max_nodes: int = 4000,
    cache: ArtefactCache | None = None,
    progress: Progress | None = None,
) -> TrainingData:
    """One graph for every distinct graph of the launches in `lists`.

    A graph occurs once, however often it is launched: two equal graphs in a batch would be each other's negatives. Every
    stream and every kernel name that occurs in the lists `excluded` is left out, so that those are unseen in training.

    Args:
        lists: trace lists, or folders of traces.
        excluded: lists kept for testing.
        max_nodes: greatest number of nodes of a graph.
        cache: cache of scans; by default the user's cache.
        progress: function called with (traces read, traces to read).

    Raises:
        TraceError: a list cannot be used. A single damaged trace is left out.
    """
    offered, kept_away = scan_all(lists, cache, progress), scan_all(excluded, cache, progress)
    streams, test_streams = offered.read.stream_hashes(), set(kept_away.read.stream_hashes())
    names, test_names = offered.names, set(kept_away.names.distinct)
    taken, graphs, digests = [], [], set()
    for row, launch in enumerate(offered.first_launches.tolist()):
        if streams[row] in test_streams or names[launch] in test_names:
            continue
        taken.append(row)
        graph = build_graph(offered.traces[launch], max_nodes)
        digest = graph_digest(graph)
        if digest not in digests:
            digests.add(digest)
            graphs.append(graph)
    return TrainingData(
        graphs=graphs,
        launches=offered.size,
        streams=len(streams),
        excluded_streams=len(streams) - len(taken),
        equal_graphs=len(taken) - len(graphs),
        shared_streams=len({streams[row] for row in taken} & test_streams),
    )
