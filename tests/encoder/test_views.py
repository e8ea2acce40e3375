"""Changes that views may and may not make to a graph."""

import numpy as np
import pytest
import torch
from small_graphs import random_graph

from kernelpoint.randomness import generator
from kernelpoint_lab.training.model import collate
from kernelpoint_lab.training.trainer import add_noise, drop_edges, drop_nodes, random_view


@pytest.fixture(scope="module")
def batch():
    return collate([random_graph(seed, warps=20, nodes=60) for seed in range(30)])


def flags(batch, value):
    return torch.full((batch.num_graphs,), value)


def random(seed=0):
    return generator(seed, "test views")


def test_a_view_differs_and_repeats_under_its_seed(batch):
    first, again, other = (random_view(batch, random(seed)) for seed in (0, 0, 1))
    for name, value in vars(first).items():
        assert torch.equal(value, getattr(again, name)) if isinstance(value, torch.Tensor) else True
    assert first.num_nodes != other.num_nodes


def test_about_fifteen_percent_of_nodes_and_edges_are_dropped(batch):
    nodes = drop_nodes(batch, flags(batch, True), random()).num_nodes / batch.num_nodes
    edges = len(drop_edges(batch, flags(batch, True), random()).edge_type) / len(batch.edge_type)
    assert nodes == pytest.approx(0.85, abs=0.02) and edges == pytest.approx(0.85, abs=0.01)


def test_noise_has_the_papers_size(batch):
    difference = add_noise(batch, flags(batch, True), random()).features - batch.features
    assert float(difference.std()) == pytest.approx(0.01, rel=0.05) and abs(float(difference.mean())) < 1e-3


def test_graphs_that_are_not_flagged_stay_as_they_are(batch):
    for change in (drop_nodes, drop_edges, add_noise):
        view = change(batch, flags(batch, False), random())
        for name, value in vars(batch).items():
            if isinstance(value, torch.Tensor):
                assert torch.equal(value, getattr(view, name))


def test_dropping_nodes_leaves_no_warp_empty_and_no_edge_dangling(batch):
    view = drop_nodes(batch, flags(batch, True), random())
    assert torch.equal(torch.unique(view.warp_of_node), torch.arange(view.num_warps))
    assert int(view.edge_index.max()) < view.num_nodes
    assert torch.equal(view.warp_of_node[view.edge_index[0]], view.warp_of_node[view.edge_index[1]])


def test_edges_of_a_view_join_the_nodes_that_they_joined_before(batch):
    marked = add_noise(batch, flags(batch, False), random())
    marked.features[:, 0] = torch.arange(batch.num_nodes)
    view = drop_nodes(marked, flags(batch, True), random())
    before = {tuple(edge) for edge in batch.edge_index.T.tolist()}
    after = view.features[:, 0].long()[view.edge_index].T.tolist()
    assert {tuple(edge) for edge in after} <= before


def test_every_graph_undergoes_one_or_two_of_the_three(batch):
    counts = np.zeros(4, int)
    for seed in range(20):
        graph = collate([random_graph(5, warps=20, nodes=60)])
        view = random_view(graph, random(seed))
        kept = drop_edges(graph, flags(graph, False), random()).features
        fewer_nodes = view.num_nodes < graph.num_nodes
        noisy = not torch.isin(view.features[:, 0], kept[:, 0]).all()
        fewer_edges = not fewer_nodes and len(view.edge_type) < len(graph.edge_type)
        counts[int(fewer_nodes) + int(noisy) + int(fewer_edges)] += 1
    assert counts[0] == 0 and counts[1] > 0 and counts[2] > 0 and counts[3] == 0
