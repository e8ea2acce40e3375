"""The encoder: a relational graph convolutional network from a launch's graph to 256 numbers.

GCL-Sampler (arXiv 2603.00551): three RGCN layers, 64 -> 128 -> 128 -> 256, with basis decomposition, LayerNorm and ReLU, mean
over a warp's nodes, mean over a launch's warps; a projection head in training only.
"""

from __future__ import annotations

from itertools import pairwise
from os import PathLike

import torch
from torch import Tensor, nn

from kernelpoint.arguments import checked
from kernelpoint.encoder.checkpoint import (
    BUILTIN,
    LAYER_WIDTHS,
    TOKEN_WIDTH,
    read_checkpoint,
    read_tensors,
)
from kernelpoint.errors import ConfigError, shown
from kernelpoint.graphs import SCHEMA
from kernelpoint_lab.training.batch import GraphBatch
from kernelpoint_lab.training.convolution import TargetRGCNConv, arrivals

MOST_BASES = 1024
TOKEN_SPREAD = 0.25  # Model: at the start tokens weigh as much as the other features, so similar opcodes are alike


class TraceEncoder(nn.Module):
    r"""Embeds launches: z is the mean over warps of the mean over nodes of h^{(3)}.

    .. math:: h_i^{(l+1)} = \mathrm{ReLU}\Big(\mathrm{LN}\Big(W_0^{(l)} h_i^{(l)} + \sum_r
              \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r^{(l)} h_j^{(l)}\Big)\Big),
              \qquad W_r = \sum_b a_{rb} V_b

    Schlichtkrull et al., ESWC 2018. Model: a node's 64 inputs are 32 learned numbers for its token (opcode, kind of
    register, kind of memory reference) plus those for its modifiers, and the 32 features of the schema. Model: the paper
    does not say how many bases nor whether the last layer has a ReLU: 4 bases, and none, so that z has both signs.

    Args:
        num_bases: bases of the decomposition of the relations' weights. (default: 4)
        dropout: of the first two layers' outputs, in training. The paper gives no rate. (default: 0.1)
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
            TargetRGCNConv(a, b, num_relations=len(SCHEMA.relations), num_bases=num_bases)
            for a, b in pairwise(LAYER_WIDTHS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in LAYER_WIDTHS[1:])

    @classmethod
    @checked
    def load(cls, checkpoint: str | PathLike[str] = BUILTIN) -> TraceEncoder:
        """The encoder of a checkpoint, in single precision, to be trained further or used in a model of one's own.

        Args:
            checkpoint: "builtin" or a file made by `kernelpoint lab train`.

        Raises:
            PlanError: the checkpoint does not fit.

        Example:
            >>> encoder = TraceEncoder.load()
            >>> sum(parameter.numel() for parameter in encoder.parameters())
            312636
            >>> from kernelpoint_lab.training.batch import collate
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
