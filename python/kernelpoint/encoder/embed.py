"""Embeddings of all instruction sequences of a run, from the cache or computed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from kernelpoint import _native
from kernelpoint.arguments import checked
from kernelpoint.encoder.checkpoint import (
    BUILTIN,
    EMBEDDING_WIDTH,
    ENCODER_VERSION,
    Checkpoint,
    read_checkpoint,
    read_tensors,
)
from kernelpoint.errors import PlanError
from kernelpoint.graphs import DEFAULT_MAX_NODES, TraceGraph, schema_hash
from kernelpoint.graphs.graph import check_max_nodes
from kernelpoint.pool import Pool, pieces_of
from kernelpoint.program import Contents
from kernelpoint.progress import Log, Progress
from kernelpoint.traces import ArtefactCache
from kernelpoint.traces.cache import key_of, opened


class NativeEncoder:
    """Encoder (neural network that embeds the graph of a launch's trace) in C++, in double precision (plugin/native/encoder).

    Numerics: agrees with `TraceEncoder` to about 1e-14, so that rounded embeddings are equal. One thread embeds a graph, so
    results do not depend on the number of threads.

    Args:
        checkpoint: weights and settings.
        threads: number of graphs embedded at the same time; by default the number of processors of this process.

    Raises:
        PlanError: the weights do not fit the encoder.
    """

    def __init__(self, checkpoint: Checkpoint, threads: int | None = None) -> None:
        tensors = {name: tensor.astype(np.float64) for name, tensor in read_tensors(checkpoint).items()}
        self._encoder = _native.Encoder(tensors)
        self._threads = threads or len(os.sched_getaffinity(0))

    def embed_graphs(self, graphs: Iterable[TraceGraph]) -> Iterator[np.ndarray]:
        """Embed graphs of launches: yields float64 [256] for each, not rounded."""
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
        """Embed trace files of launches: yields float64 [256] for each, not rounded. Graphs stay in C++ memory.

        Args:
            paths: trace files.
            max_nodes: largest number of nodes in a graph; larger ones are cut (`build_graph`).

        Raises:
            TraceError: a trace cannot be used, or executes no instruction.
        """
        if min(self._threads, len(paths)) == 1:
            yield from (self._encoder.embed_trace(path, max_nodes) for path in paths)
            return
        with ThreadPoolExecutor(self._threads, "kernelpoint embedding") as pool:
            yield from pool.map(lambda path: self._encoder.embed_trace(path, max_nodes), paths)


EMBEDDING = "embedding"  # kind of artefact
CHUNK = 64  # streams embedded before they are written to the cache
PIECE = 8  # streams that a worker embeds at once


@checked
def embed(
    trace: str | os.PathLike[str] | TraceGraph,
    checkpoint: str | os.PathLike[str] = BUILTIN,
    max_nodes: int = DEFAULT_MAX_NODES,
) -> np.ndarray:
    """Embed the trace of one launch, as policies do, but without the cache.

    Args:
        trace: trace file of a launch, or its graph.
        checkpoint: "builtin", or a file made by `kernelpoint lab train`.
        max_nodes: largest number of nodes in the graph, if `trace` is a file.

    Returns:
        float32 [256]; float16 can represent each number.

    Raises:
        TraceError: the trace cannot be used, or executes no instruction.
        PlanError: the checkpoint does not fit this version.
        ConfigError: `max_nodes` is too small.

    Example:
        >>> import kernelpoint as kp
        >>> kp.embed("traces/kernel-1.traceg").shape  # doctest: +SKIP
        (256,)
    """
    check_max_nodes(max_nodes)
    encoder = NativeEncoder(read_checkpoint(checkpoint))
    if isinstance(trace, TraceGraph):
        (embedding,) = encoder.embed_graphs([trace])
    else:
        (embedding,) = encoder.embed_traces([os.fspath(trace)], max_nodes)
    return round_embeddings(embedding)


def embed_streams(
    contents: Contents,
    cache: ArtefactCache | None = None,
    checkpoint: str | os.PathLike[str] = BUILTIN,
    max_nodes: int = DEFAULT_MAX_NODES,
    progress: Progress | None = None,
    log: Log = lambda text: None,
    pool: Pool | None = None,
) -> np.ndarray:
    """Embed each distinct instruction sequence of a program once, from the trace of its first launch. Embeddings in the cache
    are reused; the cache is filled during the work, so that an interrupted call can be repeated.

    Args:
        contents: data read from the traces of a program.
        cache: cache of embeddings; by default the user's.
        checkpoint: "builtin", or a file made by `kernelpoint lab train`.
        max_nodes: largest number of nodes in a graph.
        progress: function called with (sequences embedded, sequences to embed); it may raise an error to stop.
        log: function that receives messages about the cache.
        pool: workers that embed instead of this process.

    Returns:
        float32 [sequences, 256], by the number of the sequence; float16 can represent each number. The same for any number of
        threads and workers.

    Raises:
        PlanError: the checkpoint does not fit this version.
        TraceError: a trace changed since it was read.
        ConfigError: `max_nodes` is too small.

    >>> from kernelpoint.traces import read_trace_list, scan_launches
    >>> embed_streams(scan_launches(read_trace_list("traces/kernelslist.g").traces).contents).shape
    (1, 256)
    """
    check_max_nodes(max_nodes)
    chosen = read_checkpoint(checkpoint)
    maker = key_of(chosen.digest, schema_hash(), ENCODER_VERSION, max_nodes)
    if pool is None:
        make = partial(_here, chosen, max_nodes)
    else:
        name = BUILTIN if checkpoint == BUILTIN else os.path.abspath(checkpoint)
        make = partial(_by_pool, Task(name, chosen.digest, max_nodes), pool)
    with opened(cache, log) as cache_in_use:
        return _embed(contents, cache_in_use, maker, make, progress or (lambda done, total: None))


@dataclass(frozen=True)
class Task:
    """Settings that all pieces of an embedding job share.

    Attributes:
        checkpoint: "builtin", or the path of the encoder's checkpoint.
        digest: hash of the checkpoint on the machine that plans; workers must have the same.
        max_nodes: largest number of nodes in the graph of one launch.
    """

    checkpoint: str
    digest: str
    max_nodes: int


def embed_piece(task: Task, paths: Sequence[str]) -> np.ndarray:
    """Embed some traces in one thread of a worker: float32 [n, 256], rounded.

    Args:
        task: settings of the job.
        paths: trace files.

    Raises:
        PlanError: the worker's checkpoint is not that of the job.
        TraceError: a trace changed since it was read.
    """
    encoder = _encoder_of_worker(task.checkpoint, task.digest)
    return np.array([round_embeddings(embeddings) for embeddings in encoder.embed_traces(paths, task.max_nodes)], np.float32)


@lru_cache(maxsize=4)
def _encoder_of_worker(checkpoint: str, digest: str) -> NativeEncoder:
    current = read_checkpoint(checkpoint)
    if current.digest != digest:
        raise PlanError(
            f"{current.path}: the encoder checkpoint on {socket.gethostname()} (checksum {current.digest}) is not the "
            f"one where the plan is made ({digest}); copy the same file to both machines"
        )
    return NativeEncoder(current, 1)


def _by_pool(task: Task, pool: Pool, paths: Sequence[str]) -> Iterator[np.ndarray]:
    """One rounded embedding per trace, in order."""
    pieces = [[os.path.abspath(paths[i]) for i in piece] for piece in pieces_of([1] * len(paths), PIECE, PIECE)]
    for embeddings in pool.map(partial(embed_piece, task), pieces):
        yield from embeddings


def _here(checkpoint: Checkpoint, max_nodes: int, paths: Sequence[str]) -> Iterator[np.ndarray]:
    """One rounded embedding per trace, in order."""
    encoder = NativeEncoder(checkpoint)
    for start in range(0, len(paths), CHUNK):
        yield from map(round_embeddings, encoder.embed_traces(paths[start : start + CHUNK], max_nodes))


def round_embeddings(embeddings: np.ndarray) -> np.ndarray:
    """Round embeddings to float16, and return them as float32 [n, d].

    ``Numerics:`` numbers of threads and libraries change an embedding by about 1e-6. After rounding, new embeddings equal those
    in the cache.

    Raises:
        PlanError: a value is not finite, or too large for float16.

    Example:
        >>> round_embeddings(np.array([[0.1]], dtype=np.float32)).tolist()
        [[0.0999755859375]]
    """
    with np.errstate(over="ignore"):
        rounded = np.asarray(embeddings, dtype=np.float32).astype(np.float16)
    if not np.isfinite(rounded).all():
        worst = np.asarray(embeddings)[~np.isfinite(rounded)].flat[0]
        raise PlanError(f"the encoder computed {worst}; allowed: finite numbers up to 65504. Use another encoder.checkpoint")
    return rounded.astype(np.float32)


def _decoded(values: list[bytes]) -> list[np.ndarray]:
    if any(len(value) != 2 * EMBEDDING_WIDTH for value in values):
        raise ValueError(f"an embedding in the cache does not have {2 * EMBEDDING_WIDTH} bytes")
    return list(np.frombuffer(b"".join(values), dtype="<f2").reshape(-1, EMBEDDING_WIDTH).astype(np.float32))


def _embed(
    contents: Contents,
    cache: ArtefactCache,
    maker: str,
    make: Callable[[Sequence[str]], Iterator[np.ndarray]],
    progress: Progress,
) -> np.ndarray:
    keys, first = [key_of(maker, graph) for graph in contents.graph_keys()], contents.of_streams
    cached = cache.get(EMBEDDING, keys, _decoded)
    missing = [row for row, embedding in enumerate(cached) if embedding is None]
    unkept: dict[str, bytes] = {}
    for done, embedding in enumerate(make([contents.traces[first[row]] for row in missing]) if missing else (), start=1):
        row = missing[done - 1]
        cached[row], unkept[keys[row]] = embedding, embedding.astype("<f2").tobytes()
        progress(done, len(missing))
        if len(unkept) == CHUNK or done == len(missing):
            cache.put(EMBEDDING, unkept)
            unkept = {}
    return np.array(cached, dtype=np.float32).reshape(-1, EMBEDDING_WIDTH)
