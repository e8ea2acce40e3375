"""Several trace graphs as one graph of tensors, for the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernelpoint.graphs import TraceGraph


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
    """Joins graphs; the arrays of a single graph are taken as they are, without copies."""
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
