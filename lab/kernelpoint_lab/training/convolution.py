"""The relational graph convolution, computed only where edges arrive."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.nn import RGCNConv


class Arrivals(NamedTuple):
    """The edges of one relation, by the nodes they arrive at.

    Attributes:
        sources: int64 [num_edges], where each edge starts.
        slots: int64 [num_edges], the position in `targets` of the node it arrives at.
        targets: int64 [num_targets], the distinct nodes arrived at, ascending.
        degrees: int64 [num_targets], edges that arrive at each.
    """

    sources: Tensor
    slots: Tensor
    targets: Tensor
    degrees: Tensor


def arrivals(edge_index: Tensor, edge_type: Tensor, num_nodes: int, num_relations: int) -> list[Arrivals]:
    """The edges of every relation; made once for all layers.

    >>> found = arrivals(torch.tensor([[0, 1, 0], [2, 2, 1]]), torch.tensor([0, 0, 1]), 3, 2)
    >>> found[0].targets.tolist(), found[0].degrees.tolist(), found[1].targets.tolist()
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


class TargetRGCNConv(RGCNConv):
    r"""PyG's `RGCNConv` with basis decomposition and mean aggregation: same parameters, same numbers, a third of the work.

    .. math:: h'_i = W_0 h_i + b + \sum_r \frac{1}{|N_r(i)|} \sum_{j \in N_r(i)} W_r h_j, \qquad W_r = \sum_b a_{rb} V_b

    Schlichtkrull et al., ESWC 2018. PyG multiplies every node by every W_r. In a trace graph a kind of node is the target of
    one to three of the five relations, so here only the rows that edges of a relation arrive at are multiplied.
    """

    def forward(self, x: Tensor, edges: list[Arrivals]) -> Tensor:
        """Output [num_nodes, out_channels] for inputs [num_nodes, in_channels]; `edges` from `arrivals`."""
        weight = torch.einsum("rb,bio->rio", self.comp, self.weight)
        result = x @ self.root + self.bias
        for relation, arriving in enumerate(edges):
            sums = x.new_zeros(len(arriving.targets), x.shape[1]).index_add(0, arriving.slots, x[arriving.sources])
            means = sums / arriving.degrees[:, None].to(x.dtype)
            result = result.index_add(0, arriving.targets, means @ weight[relation])
        return result
