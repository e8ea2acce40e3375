"""Mutants: kernels nobody wrote, as hard negatives. An opcode is replaced by another of the same unit throughout a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernelpoint.graphs import SCHEMA, TraceGraph

INSTRUCTION = SCHEMA.node_kinds.index("instruction")
ROLE_COLUMNS = [
    number for number, name in enumerate(SCHEMA.columns["instruction"]) if name.startswith(("is_", "unit_"))
]

Replacements = dict[int, list[int]]


def replacements(graphs: Sequence[TraceGraph]) -> Replacements:
    """For every opcode token of the graphs, the others with the same unit and role (load, store, branch, ...)."""
    role: dict[int, tuple[float, ...]] = {}
    for graph in graphs:
        nodes = np.flatnonzero(graph.kinds == INSTRUCTION)
        tokens, first = np.unique(graph.tokens[nodes, 0], return_index=True)
        for token, node in zip(tokens.tolist(), nodes[first], strict=True):
            if token != 0:  # 0 stands for any opcode outside the vocabulary
                role[token] = tuple(graph.features[node, ROLE_COLUMNS].tolist())
    return {token: [other for other in sorted(role) if other != token and role[other] == role[token]] for token in role}


def mutant(
    graph: TraceGraph, name: str, allowed: Replacements, random: np.random.Generator
) -> tuple[TraceGraph, str] | None:
    """The graph with one of its opcodes replaced, and a kernel name that says which; None where nothing can be.

    Model: not in the paper. Traces of a few dozen kernels teach little about what tells kernels apart; a mutant has the same
    structure and differs in one opcode, as sum from product, so the encoder has to look at opcodes of kernels it never saw.
    """
    instructions = graph.kinds == INSTRUCTION
    found = [token for token in np.unique(graph.tokens[instructions, 0]).tolist() if allowed.get(token)]
    if not found:
        return None
    old = int(random.choice(found))
    new = int(random.choice(allowed[old]))
    tokens = graph.tokens.copy()
    tokens[instructions & (graph.tokens[:, 0] == old), 0] = new
    return replace(graph, tokens=tokens), f"{name} with {SCHEMA.opcodes[new - 1]} for {SCHEMA.opcodes[old - 1]}"
