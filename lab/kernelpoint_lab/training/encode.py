"""Embedding graphs with torch: the reference of the encoder in C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from kernelpoint.encoder.checkpoint import Checkpoint
from kernelpoint.graphs import TraceGraph
from kernelpoint_lab.training.batch import collate
from kernelpoint_lab.training.model import TraceEncoder

BATCH_NODES = 8192


def load_encoder(checkpoint: Checkpoint, device: str = "cpu") -> TraceEncoder:
    """The encoder of a checkpoint, in double precision, ready to embed.

    Raises:
        PlanError: the file's tensors are not those of the encoder.
    """
    encoder = TraceEncoder.load(checkpoint.path)
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
