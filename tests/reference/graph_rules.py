"""Rules of a conformant trace graph. `violations` names every one that a graph breaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpoint.graphs.build import TraceGraph
from kernelpoint.graphs.schema import SCHEMA

_INSTRUCTION, _VARIABLE, _PSEUDO = (SCHEMA.node_kinds.index(k) for k in ("instruction", "variable", "pseudo"))
_ENDS = {
    "control_flow": ({_INSTRUCTION}, {_INSTRUCTION}),
    "left_source": ({_VARIABLE}, {_INSTRUCTION, _PSEUDO}),
    "right_source": ({_VARIABLE}, {_INSTRUCTION}),
    "destination": ({_INSTRUCTION}, {_VARIABLE}),
    "memory_reference": ({_PSEUDO}, {_INSTRUCTION}),
}


def _edges(graph: TraceGraph, relation: str) -> np.ndarray:
    return graph.edge_index[:, graph.edge_type == SCHEMA.relations.index(relation)]


def _degree(graph: TraceGraph, relation: str, end: int) -> np.ndarray:
    """Edges of a relation that leave (end 0) or enter (end 1) each node."""
    return np.bincount(_edges(graph, relation)[end], minlength=graph.num_nodes)


def _shapes(graph: TraceGraph, max_nodes: int) -> bool:
    nodes, edges = graph.num_nodes, len(graph.edge_type)
    shapes = (graph.tokens.shape, graph.features.shape, graph.edge_index.shape, graph.warp_starts.shape)
    return shapes == ((nodes, 2), (nodes, SCHEMA.feature_count), (2, edges), (graph.num_warps + 1,))


def _bounded(graph: TraceGraph, max_nodes: int) -> bool:
    return graph.num_nodes <= max_nodes


def _ranges(graph: TraceGraph, max_nodes: int) -> bool:
    edges, tokens = graph.edge_index, graph.tokens
    return bool(
        (graph.kinds < len(SCHEMA.node_kinds)).all()
        and ((tokens >= 0) & (tokens < [SCHEMA.token_count, SCHEMA.modifier_count])).all()
        and ((graph.edge_type >= 0) & (graph.edge_type < len(SCHEMA.relations))).all()
        and ((edges >= 0) & (edges < graph.num_nodes)).all()
    )


def _finite(graph: TraceGraph, max_nodes: int) -> bool:
    return bool(np.isfinite(graph.features).all() and (np.abs(graph.features) <= 8).all())


def _padding(graph: TraceGraph, max_nodes: int) -> bool:
    used = np.array([len(SCHEMA.columns[kind]) for kind in SCHEMA.node_kinds])[graph.kinds]
    return not graph.features[np.arange(SCHEMA.feature_count) >= used[:, None]].any()


def _unknown_values(graph: TraceGraph, max_nodes: int) -> bool:
    unknown = graph.features[(graph.kinds == _VARIABLE)]
    marked = unknown[:, SCHEMA.column("variable", "has_values")] == 0
    return not unknown[marked, :8].any()


def _forward(graph: TraceGraph, max_nodes: int) -> bool:
    return bool((graph.edge_index[0] < graph.edge_index[1]).all())


def _partition(graph: TraceGraph, max_nodes: int) -> bool:
    starts = graph.warp_starts
    return bool(starts[0] == 0 and starts[-1] == graph.num_nodes and (np.diff(starts) > 0).all())


def _inside_warps(graph: TraceGraph, max_nodes: int) -> bool:
    warp = np.searchsorted(graph.warp_starts, graph.edge_index, side="right")
    return bool((warp[0] == warp[1]).all())


def _weights(graph: TraceGraph, max_nodes: int) -> bool:
    represented = int(graph.warp_weights.sum())
    return bool((graph.warp_weights > 0).all()) and represented + graph.left_out_warps == graph.total_warps


def _ends(graph: TraceGraph, max_nodes: int) -> bool:
    for relation, kinds in _ENDS.items():
        for end in (0, 1):
            if not set(graph.kinds[_edges(graph, relation)[end]].tolist()) <= kinds[end]:
                return False
    return True


def _chain(graph: TraceGraph, max_nodes: int) -> bool:
    instruction = graph.kinds == _INSTRUCTION
    for end in (0, 1):
        degree = _degree(graph, "control_flow", end)[instruction]
        if degree.max(initial=0) > 1 or (degree == 0).sum() != graph.num_warps:
            return False
    return True


def _versions(graph: TraceGraph, max_nodes: int) -> bool:
    variable = graph.kinds == _VARIABLE
    is_input = graph.features[variable, SCHEMA.column("variable", "is_input")] == 1
    writes = _degree(graph, "destination", 1)[variable]
    reads = (_degree(graph, "left_source", 0) + _degree(graph, "right_source", 0))[variable]
    return bool((writes == ~is_input).all() and (reads[is_input] > 0).all())


def _references(graph: TraceGraph, max_nodes: int) -> bool:
    pseudo = graph.kinds == _PSEUDO
    return bool((_degree(graph, "memory_reference", 0) == pseudo).all()) and bool(
        (_degree(graph, "memory_reference", 1) <= 1).all()
    )


RULES: dict[str, Callable[[TraceGraph, int], bool]] = {
    "its arrays must agree in length": _shapes,
    "it must not have more than max_nodes nodes": _bounded,
    "kinds, tokens, relations and edges must be in range": _ranges,
    "features must be finite and of order one": _finite,
    "columns that a node kind does not define must be zero": _padding,
    "value statistics not marked as known must be zero": _unknown_values,
    "every edge must go from a lower to a higher node number": _forward,
    "its warps must partition its nodes, and none may be empty": _partition,
    "every edge must stay within a warp": _inside_warps,
    "warp weights and left-out warps must add up to the launch's warps": _weights,
    "every relation must join the node kinds it is defined for": _ends,
    "the instructions of a warp must form one chain of control flow": _chain,
    "a variable must be an input that is read, or written exactly once": _versions,
    "a memory reference must belong to exactly one instruction": _references,
}


def violations(graph: TraceGraph, max_nodes: int) -> list[str]:
    """The rules that `graph` breaks, each as "a conformant graph: ..."; an empty list means it conforms.

    Later rules rely on shapes and ranges, so a graph that breaks one of those is not looked at further.
    """
    broken: list[str] = []
    for rule, holds in RULES.items():
        if not holds(graph, max_nodes):
            broken.append(f"a conformant graph: {rule}")
            if holds in (_shapes, _ranges):
                break
    return broken
