"""The encoder in PyTorch: a relational graph convolutional network from a launch's graph to 256 numbers.

GCL-Sampler (arXiv 2603.00551): three RGCN layers, 64 -> 128 -> 128 -> 256, with basis decomposition, LayerNorm and ReLU, mean
over a warp's nodes, mean over a launch's warps; a projection head in training only. `embed_graphs` is the reference of the
encoder in C++.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kernelpoint.arguments import checked
from kernelpoint.encoder.checkpoint import BUILTIN, LAYER_WIDTHS, TOKEN_WIDTH, Checkpoint, read_checkpoint, read_tensors
from kernelpoint.errors import ConfigError, shown
from kernelpoint.graphs import SCHEMA, TraceGraph


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs side by side as one graph of tensors (disjoint union).

    Attributes:
        kinds: uint8 [num_nodes], see `SCHEMA.node_kinds`.
        tokens: int32 [num_nodes, 2].
        features: float32 [num_nodes, SCHEMA.feature_count].
        edge_index: int64 [2, num_edges].
        edge_type: int64 [num_edges].
        warp_of_node: int64 [num_nodes], counted over the batch.
        graph_of_warp: int64 [num_warps].
        warp_weights: int64 [num_warps].
        num_graphs: number of graphs.
    """

    kinds: Tensor
    tokens: Tensor
    features: Tensor
    edge_index: Tensor
    edge_type: Tensor
    warp_of_node: Tensor
    graph_of_warp: Tensor
    warp_weights: Tensor
    num_graphs: int

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return len(self.tokens)

    @property
    def num_warps(self) -> int:
        """Number of warps of all graphs."""
        return len(self.graph_of_warp)

    def to(self, device: torch.device | str) -> GraphBatch:
        """The same batch on another device."""
        tensors: dict[str, Any] = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **tensors)


def collate(graphs: Sequence[TraceGraph]) -> GraphBatch:
    """Join graphs; the arrays of a single graph are taken as they are, without copies."""
    nodes = np.cumsum([0] + [g.num_nodes for g in graphs])
    warps = np.cumsum([0] + [g.num_warps for g in graphs])
    sizes = np.concatenate([np.diff(g.warp_starts) for g in graphs])
    edge_index = [g.edge_index if start == 0 else g.edge_index + start for g, start in zip(graphs, nodes, strict=False)]
    return GraphBatch(
        kinds=_join([g.kinds for g in graphs]),
        tokens=_join([g.tokens for g in graphs]),
        features=_join([g.features for g in graphs]),
        edge_index=_join(edge_index, axis=1),
        edge_type=_join([g.edge_type for g in graphs]),
        warp_of_node=torch.from_numpy(np.repeat(np.arange(warps[-1]), sizes)),
        graph_of_warp=torch.from_numpy(np.repeat(np.arange(len(graphs)), np.diff(warps))),
        warp_weights=_join([g.warp_weights for g in graphs]),
        num_graphs=len(graphs),
    )


def _join(arrays: list[np.ndarray], axis: int = 0) -> Tensor:
    return torch.from_numpy(arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=axis))


class Arrivals(NamedTuple):
    """Edges of one relation, grouped by target node.

    Attributes:
        sources: int64 [num_edges], source node of each edge.
        slots: int64 [num_edges], index into `targets` of the target node of each edge.
        targets: int64 [num_targets], distinct target nodes, ascending.
        degrees: int64 [num_targets], number of edges to each target node.
    """

    sources: Tensor
    slots: Tensor
    targets: Tensor
    degrees: Tensor


def arrivals(edge_index: Tensor, edge_type: Tensor, num_nodes: int, num_relations: int) -> list[Arrivals]:
    """The edges of every relation; made once for all layers.

    >>> edges = arrivals(torch.tensor([[0, 1, 0], [2, 2, 1]]), torch.tensor([0, 0, 1]), 3, 2)
    >>> edges[0].targets.tolist(), edges[0].degrees.tolist(), edges[1].targets.tolist()
    ([2], [2], [1])
    """
    result = []
    for relation in range(num_relations):
        sources, targets = edge_index[:, edge_type == relation]
        degrees = torch.bincount(targets, minlength=num_nodes)
        distinct = degrees.nonzero().ravel()
        slot_of = torch.empty_like(degrees)
        slot_of[distinct] = torch.arange(len(distinct), device=distinct.device)
        result.append(Arrivals(sources, slot_of[targets], distinct, degrees[distinct]))
    return result


class TargetRGCNConv(nn.Module):
    r"""`RGCNConv` of PyTorch Geometric with basis decomposition and mean aggregation: same parameters, same numbers, a third
    of the work.

    .. math:: h'_i = W_0 h_i + b + \sum_r \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r h_j, \qquad W_r = \sum_b a_{rb} V_b

    Schlichtkrull et al., ESWC 2018. PyG multiplies every node by every W_r. In a trace graph a kind of node is the target of
    one to three of the five relations, so here only the rows that edges of a relation arrive at are multiplied.

    Args:
        in_channels: numbers of a node before.
        out_channels: numbers of a node after.
        num_relations: relations r.
        num_bases: bases b.
    """

    def __init__(self, in_channels: int, out_channels: int, num_relations: int, num_bases: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_bases, in_channels, out_channels))  # V
        self.comp = nn.Parameter(torch.empty(num_relations, num_bases))  # a
        self.root = nn.Parameter(torch.empty(in_channels, out_channels))  # W_0
        self.bias = nn.Parameter(torch.zeros(out_channels))
        for matrix in (self.weight, self.comp, self.root):  # Glorot and Bengio, AISTATS 2010
            bound = math.sqrt(6.0 / (matrix.shape[-2] + matrix.shape[-1]))
            nn.init.uniform_(matrix, -bound, bound)

    def forward(self, x: Tensor, edges: list[Arrivals]) -> Tensor:
        """Output [num_nodes, out_channels] for inputs [num_nodes, in_channels]; `edges` from `arrivals`."""
        weight = torch.einsum("rb,bio->rio", self.comp, self.weight)
        result = x @ self.root + self.bias
        for relation, arriving in enumerate(edges):
            sums = x.new_zeros(len(arriving.targets), x.shape[1]).index_add(0, arriving.slots, x[arriving.sources])
            means = sums / arriving.degrees[:, None].to(x.dtype)
            result = result.index_add(0, arriving.targets, means @ weight[relation])
        return result


MOST_BASES = 1024
TOKEN_SPREAD = 0.25  # Model: at the start tokens weigh as much as the other features, so similar opcodes are alike


class TraceEncoder(nn.Module):
    r"""Encoder of launches: z is the mean over warps of the mean over nodes of h^{(3)}.

    .. math:: h_i^{(l+1)} = \mathrm{ReLU}\Big(\mathrm{LN}\Big(W_0^{(l)} h_i^{(l)} + \sum_r
              \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r^{(l)} h_j^{(l)}\Big)\Big),
              \qquad W_r = \sum_b a_{rb} V_b

    Schlichtkrull et al., ESWC 2018. Model: a node's 64 inputs are 32 learned numbers for its token (opcode, kind of
    register, kind of memory reference) plus those for its modifiers, and the 32 features of the schema. Model: the paper
    does not say how many bases nor whether the last layer has a ReLU: 4 bases, and none, so that z has both signs.

    Args:
        num_bases: bases of the decomposition of the relations' weights. (default: 4)
        dropout: dropout rate of the first two layers' outputs in training. The paper gives no rate. (default: 0.1)
    """

    @checked
    def __init__(self, num_bases: int = 4, dropout: float = 0.1) -> None:
        if not (1 <= num_bases <= MOST_BASES and 0 <= dropout < 1):
            raise ConfigError(
                f"num_bases, dropout: got {shown(num_bases)}, {shown(dropout)}; allowed: 1 to {MOST_BASES}, 0 to below 1"
            )
        super().__init__()
        self.num_bases, self.dropout = num_bases, dropout
        self.tokens = nn.Embedding(SCHEMA.token_count, TOKEN_WIDTH)
        self.modifiers = nn.Embedding(SCHEMA.modifier_count, TOKEN_WIDTH, padding_idx=0)
        for table in (self.tokens, self.modifiers):
            nn.init.normal_(table.weight, std=TOKEN_SPREAD)
        nn.init.zeros_(self.modifiers.weight[0])
        self.layers = nn.ModuleList(
            TargetRGCNConv(a, b, num_relations=len(SCHEMA.relations), num_bases=num_bases) for a, b in pairwise(LAYER_WIDTHS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in LAYER_WIDTHS[1:])

    @classmethod
    @checked
    def load(cls, checkpoint: str | PathLike[str] = BUILTIN) -> TraceEncoder:
        """Encoder of a checkpoint, in single precision, for further training or use in another model.

        Args:
            checkpoint: "builtin" or a file made by `kernelpoint lab train`.

        Raises:
            PlanError: the checkpoint does not fit.

        Example:
            >>> encoder = TraceEncoder.load()
            >>> sum(parameter.numel() for parameter in encoder.parameters())
            312636
            >>> from kernelpoint_lab.training.model import collate
            >>> encoder(collate([build_graph(path) for path in paths])).shape  # doctest: +SKIP
            torch.Size([2, 256])
        """
        chosen = read_checkpoint(checkpoint)
        encoder = cls(**chosen.settings)
        encoder.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in read_tensors(chosen).items()})
        return encoder

    def forward(self, batch: GraphBatch) -> Tensor:
        """Embeddings of shape [num_graphs, 256]."""
        tokens = self.tokens(batch.tokens[:, 0]) + self.modifiers(batch.tokens[:, 1])
        hidden = torch.cat([tokens, batch.features.to(tokens.dtype)], dim=1)
        edges = arrivals(batch.edge_index, batch.edge_type, batch.num_nodes, len(SCHEMA.relations))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            hidden = norm(layer(hidden, edges))
            if layer is not self.layers[-1]:
                hidden = nn.functional.dropout(hidden.relu(), self.dropout, self.training)
        return mean_nodes(hidden, batch)


def mean_nodes(hidden: Tensor, batch: GraphBatch) -> Tensor:
    """Mean over the nodes of a warp, then over the warps of a launch.

    Numerics: sums are accumulated in double, so that a launch of a million nodes is as exact as a small one.
    """
    warps = _mean(hidden.double(), batch.warp_of_node, None, batch.num_warps)
    return _mean(warps, batch.graph_of_warp, batch.warp_weights, batch.num_graphs).to(hidden.dtype)


def _mean(values: Tensor, group: Tensor, weights: Tensor | None, count: int) -> Tensor:
    weights = torch.ones_like(values[:, 0]) if weights is None else weights.to(values.dtype)
    sums = values.new_zeros(count, values.shape[1]).index_add(0, group, values * weights[:, None])
    return sums / values.new_zeros(count).index_add(0, group, weights)[:, None]


class ProjectionHead(nn.Sequential):
    """256 -> 128 -> 64 with ReLU and dropout: input of the loss. Not part of a checkpoint."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__(nn.Linear(LAYER_WIDTHS[-1], 128), nn.ReLU(), nn.Dropout(dropout), nn.Linear(128, 64))


BATCH_NODES = 8192


def load_encoder(checkpoint: Checkpoint, device: str = "cpu") -> TraceEncoder:
    """Encoder of a checkpoint, in double precision, for embedding.

    Raises:
        PlanError: the file's tensors are not those of the encoder.
    """
    encoder = TraceEncoder.load(checkpoint.path)
    return encoder.double().eval().to(device)


def batches(graphs: Iterable[TraceGraph], most_nodes: int = BATCH_NODES) -> Iterator[list[TraceGraph]]:
    """Group graphs, in order, so that a batch has at most `most_nodes` nodes or is a single graph."""
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
            embeddings = encoder(collate(batch).to(device)).cpu().numpy()
        yield from embeddings
