"""Graphs of launches, built in C++, and their schema, which is defined once, in plugin/native/graph/schema.h."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import ConfigError, shown
from kernelpoint.extras import needs_extra

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class GraphSchema:
    """Definition of a trace graph: node kinds, relations, feature columns and tokens.

    Attributes:
        version: number raised with every change of meaning.
        node_kinds: names of the kinds of nodes; a kind's number is its position.
        relations: names of the relations; a relation's number is its position. Every edge goes from a lower to a higher node
            number.
        columns: kind -> names of its feature columns; further columns up to `feature_count` are zero.
        feature_count: numeric features of a node.
        opcodes: vocabulary; opcode i has token i + 1, any other opcode token 0.
        shared_tokens: later opcode -> opcode of the vocabulary with the same token.
        token_count: rows of the encoder's token table (opcodes, register kinds, kinds of memory reference).
        modifier_count: rows of the encoder's modifier table; 0 means none.
        smallest_max_nodes: the least bound on a graph's nodes that is accepted.
    """

    version: int
    node_kinds: tuple[str, ...]
    relations: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    feature_count: int
    opcodes: tuple[str, ...]
    shared_tokens: dict[str, str]
    token_count: int
    modifier_count: int
    smallest_max_nodes: int

    def column(self, kind: str, name: str) -> int:
        """Index of a feature column, for example column("pseudo", "log_sectors")."""
        return self.columns[kind].index(name)


def _load() -> GraphSchema:
    raw = _native.graph_schema()
    columns = {kind: tuple(names) for kind, names in raw.pop("columns").items()}
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return GraphSchema(columns=columns, **fields)


SCHEMA = _load()


def schema_hash() -> str:
    """Hash of the whole schema. Graphs, checkpoints and cached embeddings with different hashes are never mixed.

    >>> len(schema_hash())
    16
    """
    text = json.dumps(asdict(SCHEMA), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


DEFAULT_MAX_NODES = 20000


@dataclass(frozen=True)
class TraceGraph:
    """The graph of one launch: the disjoint union of the graphs of its distinct warps (GCL-Sampler, arXiv 2603.00551).

    Attributes:
        kinds: uint8 [num_nodes], index of each node's kind in `SCHEMA.node_kinds`.
        tokens: int32 [num_nodes, 2], rows of the token and of the modifier table.
        features: float32 [num_nodes, SCHEMA.feature_count].
        edge_index: int64 [2, num_edges], sources and targets, as PyG expects.
        edge_type: int64 [num_edges], index of each edge's relation in `SCHEMA.relations`.
        warp_starts: int64 [num_warps + 1], first node of each warp; the last entry is num_nodes.
        warp_weights: int64 [num_warps], how many warps of the launch have exactly this graph.
        total_warps: warps of the launch that executed anything.
        left_out_warps: warps among these that the bound on nodes excludes from the graph.
        truncated: True if the graph has a single warp, cut because it exceeded the bound on nodes.

    Example:
        >>> graph = build_graph("traces/kernel-1.traceg")
        >>> graph.features.shape == (len(graph.kinds), SCHEMA.feature_count)
        True
        >>> int(graph.warp_weights.sum()) + graph.left_out_warps == graph.total_warps
        True
    """

    kinds: np.ndarray
    tokens: np.ndarray
    features: np.ndarray
    edge_index: np.ndarray
    edge_type: np.ndarray
    warp_starts: np.ndarray
    warp_weights: np.ndarray
    total_warps: int
    left_out_warps: int
    truncated: bool

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all kinds."""
        return len(self.kinds)

    @property
    def num_warps(self) -> int:
        """Number of distinct warps in the graph."""
        return len(self.warp_weights)

    def to_pyg(self) -> Data:
        """Convert the graph to `torch_geometric.data.Data`; arrays are shared, not copied.

        Attributes of the result: `x` float32 [num_nodes, SCHEMA.feature_count], `tokens` int32 [num_nodes, 2], `kind` uint8
        [num_nodes], `edge_index` int64 [2, num_edges], `edge_type` int64 [num_edges] as `RGCNConv` takes it, `warp` int64
        [num_nodes], the warp of each node, and `warp_weights` int64 [num_warps].

        Raises:
            SetupError: the extra `train` is not installed.
        """
        with needs_extra("TraceGraph.to_pyg"):
            from torch import from_numpy
            from torch_geometric.data import Data
        return Data(
            x=from_numpy(self.features),
            edge_index=from_numpy(self.edge_index),
            edge_type=from_numpy(self.edge_type),
            tokens=from_numpy(self.tokens),
            kind=from_numpy(self.kinds),
            warp=from_numpy(np.repeat(np.arange(self.num_warps), np.diff(self.warp_starts))),
            warp_weights=from_numpy(self.warp_weights),
        )


MOST_NODES = (1 << 31) - 1  # of a graph: nodes are numbered in 32 bits


def check_max_nodes(max_nodes: int) -> None:
    """Raise an error if a bound on nodes is too small for a single instruction."""
    least, is_number = SCHEMA.smallest_max_nodes, isinstance(max_nodes, int) and not isinstance(max_nodes, bool)
    if not is_number or not least <= max_nodes <= MOST_NODES:
        raise ConfigError(f"max_nodes: {shown(max_nodes)} given, an integer from {least} to {MOST_NODES} is needed")


def build_graph(path: str | os.PathLike[str], max_nodes: int = DEFAULT_MAX_NODES) -> TraceGraph:
    """Build the graph of the launch whose trace is at `path`.

    Model: if a launch's distinct warps have more than `max_nodes` nodes together, the most frequent are taken; among equally
    frequent ones, first positions in the grid are spread by the golden-ratio sequence. Deterministic, and independent of the
    order of CTAs in the file. If not even one warp fits, its first instructions are taken.

    Args:
        path: a trace file as the trace reader accepts it.
        max_nodes: bound on the nodes of the graph, and so on its memory: about 140 bytes a node and 16 an edge.

    Raises:
        TraceError: the trace cannot be used.
        ConfigError: `max_nodes` is too small.

    >>> graph = build_graph("traces/kernel-1.traceg")
    >>> graph.num_nodes > 0
    True
    """
    check_max_nodes(max_nodes)
    return TraceGraph(**_native.build_graph(os.fspath(path), max_nodes))
