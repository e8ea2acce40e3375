"""Embedding graphs with a trained encoder. Imports torch: reached only when an embedding is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from safetensors.torch import load_file

from kernelpoint.encoder.batch import collate
from kernelpoint.encoder.checkpoint import Checkpoint
from kernelpoint.encoder.model import TraceEncoder
from kernelpoint.errors import PlanError
from kernelpoint.graphs import TraceGraph

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
    """One embedding per graph, float64 [256], before rounding.

    Numerics: the forward pass runs in double, where other thread counts, batches and BLAS libraries move a number by about
    1e-15. Rounded to float16 (11 bits) afterwards, two runs differ in a number with a chance of about 1e-11. In single
    precision it would be one number in a few hundred, so one embedding in two.
    """
    device = next(encoder.parameters()).device
    for batch in batches(graphs):
        with torch.inference_mode():
            found = encoder(collate(batch).to(device)).cpu().numpy()
        yield from found
