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
    """Definition of the graph that represents a launch's trace: kinds of nodes, relations, features and tokens.

    Attributes:
        version: number that increases with every change of meaning.
        node_kinds: names of the kinds of nodes, in the order of their numbers.
        relations: names of the relations between nodes, in the order of their numbers. Every edge goes to a node with a higher
            number.
        columns: for each kind of node, the names of its feature columns; further columns up to `feature_count` are zero.
        feature_count: number of features of a node.
        opcodes: opcodes with a token of their own: opcode i has token i + 1, any other token 0.
        shared_tokens: further opcode -> opcode with the same token.
        token_count: number of tokens (opcodes, kinds of registers, kinds of memory references).
        modifier_count: number of modifier tokens; 0 means none.
        smallest_max_nodes: smallest limit on the number of nodes in a graph that is allowed.
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
        """Index of a feature column, by kind of node and name, for example column("pseudo", "log_sectors")."""
        return self.columns[kind].index(name)


def _load() -> GraphSchema:
    raw = _native.graph_schema()
    columns = {kind: tuple(names) for kind, names in raw.pop("columns").items()}
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return GraphSchema(columns=columns, **fields)


SCHEMA = _load()


def schema_hash() -> str:
    """Hash of the graph schema. Graphs, checkpoints and cached embeddings with different hashes are never used together.

    >>> len(schema_hash())
    16
    """
    text = json.dumps(asdict(SCHEMA), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


DEFAULT_MAX_NODES = 20000


@dataclass(frozen=True)
class TraceGraph:
    """Graph of one launch's trace: the graphs of its distinct warps side by side (GCL-Sampler, arXiv 2603.00551).

    Attributes:
        kinds: uint8 [num_nodes], number of each node's kind in `SCHEMA.node_kinds`.
        tokens: int32 [num_nodes, 2], token and modifier token of each node.
        features: float32 [num_nodes, SCHEMA.feature_count].
        edge_index: int64 [2, num_edges], source and target node of each edge, as in PyG.
        edge_type: int64 [num_edges], number of each edge's relation in `SCHEMA.relations`.
        warp_starts: int64 [num_warps + 1], first node of each distinct warp, and num_nodes.
        warp_weights: int64 [num_warps], number of warps of the launch with exactly this graph.
        total_warps: number of warps of the launch that executed an instruction.
        left_out_warps: number of these that are not in the graph, because it would have too many nodes.
        truncated: True if the graph has one warp, which was cut because it alone has too many nodes.

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
        """Convert the graph to `torch_geometric.data.Data`. Arrays are shared, not copied.

        Returns:
            Data with `x` (`features`), `tokens`, `kind` (`kinds`), `edge_index`, `edge_type` as `RGCNConv` takes it, `warp`
            (int64 [num_nodes], number of each node's warp) and `warp_weights`.

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
    """Raise ConfigError unless a limit on the number of nodes in a graph is an integer that allows at least one instruction."""
    least, is_number = SCHEMA.smallest_max_nodes, isinstance(max_nodes, int) and not isinstance(max_nodes, bool)
    if not is_number or not least <= max_nodes <= MOST_NODES:
        raise ConfigError(f"max_nodes: got {shown(max_nodes)}; allowed: a whole number from {least} to {MOST_NODES}")


def build_graph(path: str | os.PathLike[str], max_nodes: int = DEFAULT_MAX_NODES) -> TraceGraph:
    """Build the graph of a launch from its trace file.

    Model: if the distinct warps have more than `max_nodes` nodes together, the most frequent warps are used. Among equally
    frequent ones, those whose positions in the grid are spread evenly (golden-ratio sequence) are preferred. If a single warp
    has too many nodes, its first instructions are used. The result does not depend on the order of CTAs in the file.

    Args:
        path: trace file.
        max_nodes: largest number of nodes; a node needs about 140 bytes, an edge 16.

    Raises:
        TraceError: the trace cannot be used.
        ConfigError: `max_nodes` is too small.

    >>> graph = build_graph("traces/kernel-1.traceg")
    >>> graph.num_nodes > 0
    True
    """
    check_max_nodes(max_nodes)
    return TraceGraph(**_native.build_graph(os.fspath(path), max_nodes))
