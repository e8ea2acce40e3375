"""Embedding graphs with a trained encoder. Imports torch: reached only when an embedding is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from safetensors.torch import load_file

from kernelpoint.encoder.batch import collate
from kernelpoint.encoder.checkpoint import Checkpoint
from kernelpoint.encoder.model import EMBEDDING_WIDTH, TraceEncoder
from kernelpoint.errors import PlanError
from kernelpoint.graphs import TraceGraph

DECIMALS = 5
BATCH_NODES = 8192


def load_encoder(checkpoint: Checkpoint, device: str = "cpu") -> TraceEncoder:
    """The encoder of a checkpoint, in double precision, ready to embed.

    Raises:
        PlanError: the file's tensors are not those of the encoder.
    """
    encoder = TraceEncoder(**checkpoint.settings)
    weights, needed = load_file(checkpoint.path), encoder.state_dict()
    for name in sorted(weights.keys() | needed.keys()):
        found = tuple(weights[name].shape) if name in weights else None
        wanted = tuple(needed[name].shape) if name in needed else None
        if found != wanted:
            raise PlanError(f"{checkpoint.path}: tensor {name} has shape {found}, the encoder has {wanted}")
    encoder.load_state_dict(weights)
    return encoder.double().eval().to(device)


def batches(graphs: Iterable[TraceGraph], most_nodes: int = BATCH_NODES) -> Iterator[list[TraceGraph]]:
    """Groups graphs, in order, so that a batch has at most `most_nodes` nodes or is a single graph."""
    batch: list[TraceGraph] = []
    for graph in graphs:
        if batch and sum(g.num_nodes for g in batch) + graph.num_nodes > most_nodes:
            yield batch
            batch = []
        batch.append(graph)
    if batch:
        yield batch


def embed_graphs(encoder: TraceEncoder, graphs: Iterable[TraceGraph]) -> Iterator[np.ndarray]:
    """One embedding per graph, float32 [256], rounded to 5 decimals.

    Numerics: the forward pass runs in double, where other thread counts, batches and BLAS libraries move a result by about
    1e-14. After rounding to 1e-5 equal graphs have equal embeddings but for a chance of about 1e-9 a number. In single
    precision one number in ten would differ.
    """
    device = next(encoder.parameters()).device
    for batch in batches(graphs):
        with torch.inference_mode():
            found = encoder(collate(batch).to(device)).cpu().numpy()
        yield from np.round(found, DECIMALS).astype(np.float32) + np.float32(0)  # no negative zeros


__all__ = ["BATCH_NODES", "DECIMALS", "EMBEDDING_WIDTH", "batches", "embed_graphs", "load_encoder"]
