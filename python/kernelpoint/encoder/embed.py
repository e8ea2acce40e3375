"""The embedding of every stream of a run, from the cache or made now."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from kernelpoint.encoder.architecture import EMBEDDING_WIDTH
from kernelpoint.encoder.backends import load_backend
from kernelpoint.encoder.checkpoint import BUILTIN, ENCODER_VERSION, Checkpoint, read_checkpoint
from kernelpoint.graphs import DEFAULT_MAX_NODES, TraceGraph, schema_hash
from kernelpoint.graphs.build import check_max_nodes
from kernelpoint.traces import EmbeddingKey, ScanTable, TraceCache, round_embeddings

CHUNK = 64  # streams embedded before they are written to the cache

Log = Callable[[str], None]
Progress = Callable[[int, int], None]


def embed(
    trace: str | os.PathLike[str] | TraceGraph,
    checkpoint: str | os.PathLike[str] = BUILTIN,
    max_nodes: int = DEFAULT_MAX_NODES,
    backend: str = "auto",
) -> np.ndarray:
    """The embedding of one launch, as the policies use it; nothing is cached.

    Args:
        trace: a launch's trace file, or its graph.
        checkpoint: "builtin" or a file made by `kernelpoint train`.
        max_nodes: bound on the graph's nodes, where a file is given.
        backend: "auto", "native" or "torch".

    Returns:
        float32 [256]; each number is one that float16 can hold.

    Raises:
        TraceError: the trace cannot be used, or executes no instruction.
        PlanError: the checkpoint does not fit.
        ConfigError: `max_nodes` is too small, or there is no such backend.
        SetupError: the backend needs torch, and it is not installed.

    Example:
        >>> import kernelpoint as kp
        >>> kp.embed("traces/kernel-1.traceg").shape  # doctest: +SKIP
        (256,)
    """
    check_max_nodes(max_nodes)
    encoder = load_backend(backend, read_checkpoint(checkpoint))
    if isinstance(trace, TraceGraph):
        (found,) = encoder.embed_graphs([trace])
    else:
        (found,) = encoder.embed_traces([os.fspath(trace)], max_nodes)
    return round_embeddings(found)


def embed_streams(
    scan: ScanTable,
    cache: TraceCache | None = None,
    checkpoint: str | os.PathLike[str] = BUILTIN,
    max_nodes: int = DEFAULT_MAX_NODES,
    progress: Progress | None = None,
    log: Log = lambda text: None,
    backend: str = "auto",
) -> np.ndarray:
    """Embeds every stream once, from the trace of its first launch; streams that the cache knows are not embedded again.

    An interrupted call goes on where it stopped, because the cache is filled as it goes.

    Args:
        scan: the run's launches.
        cache: by default the user's.
        checkpoint: "builtin" or a file made by `kernelpoint train`.
        max_nodes: bound on a graph's nodes.
        progress: called with (streams embedded, streams to embed), and may raise to stop.
        log: told what is worth knowing about the cache.
        backend: "auto", "native" or "torch": which code computes. All give the same embeddings, so the cache does not
            tell them apart.

    Returns:
        float32 [number of streams, 256], by stream id; each number is one that float16 can hold. Equal for any number of
        threads.

    Raises:
        PlanError: the checkpoint does not fit.
        TraceError: a trace changed since it was scanned.
        ConfigError: `max_nodes` is too small, or there is no such backend.
        SetupError: the backend needs torch, and it is not installed.
    """
    check_max_nodes(max_nodes)
    chosen = read_checkpoint(checkpoint)
    key = EmbeddingKey(chosen.digest, schema_hash(), str(ENCODER_VERSION), max_nodes)
    own = TraceCache(log=log) if cache is None else cache
    try:
        return _embed(scan, own, chosen, key, backend, progress or (lambda done, total: None))
    finally:
        if cache is None:
            own.close()


def _embed(
    scan: ScanTable, cache: TraceCache, checkpoint: Checkpoint, key: EmbeddingKey, backend: str, progress: Progress
) -> np.ndarray:
    streams, first = scan.stream_hashes(), scan.first_launches()
    result = np.zeros((len(streams), EMBEDDING_WIDTH), np.float32)
    known, cached = cache.get_embeddings(key, streams)
    for row, embedding in cached.items():
        result[row] = embedding
    missing = np.flatnonzero(~known).tolist()
    if not missing:
        return result
    encoder = load_backend(backend, checkpoint)
    for start in range(0, len(missing), CHUNK):
        chunk = missing[start : start + CHUNK]
        paths = [scan.paths[first[row]] for row in chunk]
        for done, embedding in enumerate(encoder.embed_traces(paths, key.max_nodes)):
            result[chunk[done]] = round_embeddings(embedding)
            progress(start + done + 1, len(missing))
        cache.put_embeddings(key, [streams[row] for row in chunk], result[chunk])
    return result
