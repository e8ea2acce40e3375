"""The encoder's forward pass in C++, which embeds launches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kernelpoint import _native
from kernelpoint.encoder.checkpoint import Checkpoint, read_tensors
from kernelpoint.graphs import TraceGraph


class NativeEncoder:
    """The encoder of a checkpoint, in double precision (plugin/native/encoder).

    Numerics: agrees with `TraceEncoder` to about 1e-14, so that rounded embeddings are equal. A graph is embedded by one
    thread, so no number depends on how many there are.

    Args:
        checkpoint: weights and settings.
        threads: graphs embedded at once; by default as many as this process may use.

    Raises:
        PlanError: the file's tensors are not those of the encoder.
    """

    def __init__(self, checkpoint: Checkpoint, threads: int | None = None) -> None:
        tensors = {name: tensor.astype(np.float64) for name, tensor in read_tensors(checkpoint).items()}
        self._encoder = _native.Encoder(tensors)
        self._threads = threads or len(os.sched_getaffinity(0))

    def embed_graphs(self, graphs: Iterable[TraceGraph]) -> Iterator[np.ndarray]:
        """One embedding per graph, float64 [256], before rounding."""
        for graph in graphs:
            yield self._encoder.embed(
                graph.kinds,
                graph.tokens,
                graph.features,
                graph.edge_index,
                graph.edge_type,
                graph.warp_starts,
                graph.warp_weights,
            )

    def embed_traces(self, paths: Sequence[str], max_nodes: int) -> Iterator[np.ndarray]:
        """One embedding per trace, float64 [256], before rounding; graphs stay in C++.

        Raises:
            TraceError: a trace cannot be used, or executes no instruction.
        """
        if min(self._threads, len(paths)) == 1:
            yield from (self._encoder.embed_trace(path, max_nodes) for path in paths)
            return
        with ThreadPoolExecutor(self._threads, "kernelpoint embedding") as pool:
            yield from pool.map(lambda path: self._encoder.embed_trace(path, max_nodes), paths)
