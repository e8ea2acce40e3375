"""Two views of a batch for contrastive training: nodes dropped, edges dropped, features blurred."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from kernelpoint_lab.training.batch import GraphBatch

DROPPED_NODES = 0.15
DROPPED_EDGES = 0.15
NOISE = 0.01


def random_view(batch: GraphBatch, random: np.random.Generator) -> GraphBatch:
    """A view in which every graph underwent one or two, drawn evenly, of: 15 % of its nodes dropped, 15 % of its edges
    dropped, Gaussian noise of standard deviation 0.01 on its features (GCL-Sampler, arXiv 2603.00551).

    Model: a warp keeps its first node whatever is drawn, so none becomes empty; noise falls on the schema's features, not
    on the learned token vectors. Graphs are drawn for one by one, in the batch's order.
    """
    chosen = np.zeros((batch.num_graphs, 3), bool)
    order = random.permuted(np.tile(np.arange(3), (batch.num_graphs, 1)), axis=1)
    chosen[np.arange(batch.num_graphs), order[:, 0]] = True
    second = random.random(batch.num_graphs) < 0.5
    chosen[np.arange(batch.num_graphs)[second], order[second, 1]] = True
    flags = torch.from_numpy(chosen).to(batch.tokens.device)
    return drop_nodes(drop_edges(add_noise(batch, flags[:, 2], random), flags[:, 1], random), flags[:, 0], random)


def _graph_of_node(batch: GraphBatch) -> Tensor:
    return batch.graph_of_warp[batch.warp_of_node]


def _uniform(count: int, like: Tensor, random: np.random.Generator) -> Tensor:
    return torch.from_numpy(random.random(count, dtype=np.float32)).to(like.device)


def add_noise(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch with noise on the features of the graphs whose flag is set."""
    noise = torch.from_numpy(random.standard_normal(tuple(batch.features.shape), dtype=np.float32))
    scale = NOISE * flags[_graph_of_node(batch)].to(batch.features.dtype)
    return replace(batch, features=batch.features + noise.to(batch.features.device) * scale[:, None])


def drop_edges(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch that lacks 15 % of the edges of the graphs whose flag is set."""
    flagged = flags[_graph_of_node(batch)[batch.edge_index[0]]]
    keep = ~flagged | (_uniform(len(batch.edge_type), batch.edge_type, random) >= DROPPED_EDGES)
    return replace(batch, edge_index=batch.edge_index[:, keep], edge_type=batch.edge_type[keep])


def drop_nodes(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch that lacks 15 % of the nodes, and the edges at them, of the graphs whose flag is set."""
    first = torch.ones_like(batch.warp_of_node, dtype=torch.bool)
    first[1:] = batch.warp_of_node[1:] != batch.warp_of_node[:-1]
    drawn = _uniform(batch.num_nodes, batch.tokens, random) >= DROPPED_NODES
    keep = ~flags[_graph_of_node(batch)] | first | drawn
    number = torch.cumsum(keep, 0) - 1
    edges = keep[batch.edge_index[0]] & keep[batch.edge_index[1]]
    return replace(
        batch,
        kinds=batch.kinds[keep],
        tokens=batch.tokens[keep],
        features=batch.features[keep],
        warp_of_node=batch.warp_of_node[keep],
        edge_index=number[batch.edge_index[:, edges]],
        edge_type=batch.edge_type[edges],
    )
