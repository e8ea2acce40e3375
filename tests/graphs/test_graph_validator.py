"""The validator refuses every kind of damage, each by the rule it breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph_rules import RULES, violations
from small_traces import ADD, EXIT, LOAD, write_trace

from kernelpoint.graphs import SCHEMA, build_graph

RELATION = {name: number for number, name in enumerate(SCHEMA.relations)}


@pytest.fixture
def graph(tmp_path):
    built = build_graph(write_trace(tmp_path, [[[LOAD, ADD, EXIT]], [[LOAD, LOAD, EXIT]]]))
    return replace(built, **{k: v.copy() for k, v in vars(built).items() if isinstance(v, np.ndarray)})


def without(graph, relation):
    keep = graph.edge_type != RELATION[relation]
    return replace(graph, edge_index=graph.edge_index[:, keep], edge_type=graph.edge_type[keep])


def changed(graph, name, index, value):
    getattr(graph, name)[index] = value
    return graph


DAMAGE = {
    "its arrays must agree in length": lambda g: replace(g, tokens=g.tokens[1:]),
    "it must not have more than max_nodes nodes": lambda g: g,
    "kinds, tokens, relations and edges must be in range": lambda g: changed(g, "tokens", (0, 0), SCHEMA.token_count),
    "features must be finite and of order one": lambda g: changed(g, "features", (0, 0), np.nan),
    "columns that a node kind does not define must be zero": lambda g: changed(g, "features", (0, -1), 1),
    "value statistics not marked as known must be zero": lambda g: changed(g, "features", (0, 0), 1),
    "every edge must go from a lower to a higher node number": lambda g: replace(g, edge_index=g.edge_index[::-1]),
    "its warps must partition its nodes, and none may be empty": lambda g: changed(g, "warp_starts", 0, 1),
    "every edge must stay within a warp": lambda g: changed(g, "warp_starts", 1, 2),
    "warp weights and left-out warps must add up to the launch's warps": lambda g: replace(g, total_warps=99),
    "every relation must join the node kinds it is defined for": lambda g: changed(
        g, "edge_type", g.edge_type == RELATION["destination"], RELATION["control_flow"]
    ),
    "the instructions of a warp must form one chain of control flow": lambda g: without(g, "control_flow"),
    "a variable must be an input that is read, or written exactly once": lambda g: without(g, "destination"),
    "a memory reference must belong to exactly one instruction": lambda g: without(g, "memory_reference"),
}


def test_an_undamaged_graph_conforms(graph):
    assert violations(graph, 20000) == []


@pytest.mark.parametrize("rule", RULES)
def test_damage_is_named_by_the_rule_it_breaks(graph, rule):
    broken = violations(DAMAGE[rule](graph), 10 if "max_nodes" in rule else 20000)
    assert f"a conformant graph: {rule}" in broken
