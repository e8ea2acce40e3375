"""The encoder and InfoNCE against slow oracles in NumPy, and what they must not depend on."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from kernelpoint.encoder.checkpoint import EMBEDDING_WIDTH
from kernelpoint.graphs import SCHEMA
from kernelpoint_lab.training.model import (
    LAYER_WIDTHS,
    ProjectionHead,
    TargetRGCNConv,
    TraceEncoder,
    arrivals,
    batches,
    collate,
    embed_graphs,
)
from kernelpoint_lab.training.trainer import alignment, info_nce, uniformity


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return TraceEncoder().double().eval()


def slow_layer(layer, norm, hidden, graph, last):
    """Schlichtkrull et al. 2018, equation 2 with basis decomposition, node by node; then LayerNorm and ReLU."""
    bases, shares, root, bias = (p.detach().numpy() for p in (layer.weight, layer.comp, layer.root, layer.bias))
    weights = np.einsum("rb,bio->rio", shares, bases)
    result = []
    for node in range(graph.num_nodes):
        value = hidden[node] @ root + bias
        for relation in range(len(SCHEMA.relations)):
            sources = graph.edge_index[0][(graph.edge_index[1] == node) & (graph.edge_type == relation)]
            if len(sources):
                value = value + hidden[sources].mean(0) @ weights[relation]
        value = (value - value.mean()) / np.sqrt(value.var() + norm.eps)
        value = value * norm.weight.detach().numpy() + norm.bias.detach().numpy()
        result.append(value if last else np.maximum(value, 0))
    return np.array(result)


def slow_embedding(encoder, graph):
    tokens, modifiers = (table.weight.detach().numpy() for table in (encoder.tokens, encoder.modifiers))
    inputs = tokens[graph.tokens[:, 0]] + modifiers[graph.tokens[:, 1]]
    hidden = np.concatenate([inputs, graph.features.astype(np.float64)], 1)
    for number in range(3):
        hidden = slow_layer(encoder.layers[number], encoder.norms[number], hidden, graph, number == 2)
    warps = [hidden[a:b].mean(0) for a, b in zip(graph.warp_starts, graph.warp_starts[1:], strict=False)]
    return np.average(warps, axis=0, weights=graph.warp_weights)


def test_embeddings_made_in_one_batch_agree_with_a_slow_oracle(encoder, graphs):
    fast = np.array(list(embed_graphs(encoder, graphs)))
    slow = np.array([slow_embedding(encoder, graph) for graph in graphs])
    assert fast.shape == (len(graphs), 256)
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_the_convolution_agrees_with_pygs_in_first_parameters_values_and_gradients(graphs):
    from torch_geometric.nn import RGCNConv  # seconds, which each process of the suite would pay for

    batch, layers = collate(graphs), []
    for convolution in (TargetRGCNConv, RGCNConv):
        torch.manual_seed(1)
        layers.append(convolution(8, 5, len(SCHEMA.relations), num_bases=4).double())
    ours, pyg = layers
    assert ours.state_dict().keys() == pyg.state_dict().keys()
    for name, values in ours.state_dict().items():
        torch.testing.assert_close(values, pyg.state_dict()[name], rtol=0, atol=0)
    x = torch.randn(batch.num_nodes, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    edges = arrivals(batch.edge_index, batch.edge_type, batch.num_nodes, len(SCHEMA.relations))
    for_ours, for_pyg = ours(x, edges), pyg(x, batch.edge_index, batch.edge_type)
    torch.testing.assert_close(for_ours, for_pyg)
    for mine, theirs in zip(
        torch.autograd.grad(for_ours.square().sum(), list(ours.parameters())),
        torch.autograd.grad(for_pyg.square().sum(), list(pyg.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


def test_the_network_is_as_wide_as_the_papers(encoder):
    assert LAYER_WIDTHS == (64, 128, 128, 256) and EMBEDDING_WIDTH == 256
    assert encoder.tokens.embedding_dim + SCHEMA.feature_count == LAYER_WIDTHS[0]
    assert [type(layer).__name__ for layer in encoder.layers] == ["TargetRGCNConv"] * 3
    head = ProjectionHead()
    assert (head[0].in_features, head[0].out_features, head[-1].out_features) == (256, 128, 64)


def test_weights_of_warps_count_as_that_many_equal_warps(encoder, graphs):
    graph = graphs[0]
    double = replace(graph, warp_weights=graph.warp_weights * 7)
    np.testing.assert_allclose(*(next(embed_graphs(encoder, [g])) for g in (graph, double)), atol=1e-13)


def test_batches_keep_order_and_bound(graphs):
    sizes = [[g.num_nodes for g in batch] for batch in batches(graphs, 40)]
    assert [size for batch in sizes for size in batch] == [g.num_nodes for g in graphs]
    assert all(len(batch) == 1 or sum(batch) <= 40 for batch in sizes)


def test_a_single_graph_reaches_the_encoder_without_copies(graphs):
    batch = collate(graphs[:1])
    for name in ("kinds", "tokens", "features", "edge_index", "edge_type", "warp_weights"):
        assert np.shares_memory(getattr(batch, name).numpy(), getattr(graphs[0], name)), name


def slow_info_nce(a, b, temperature):
    """The formula as it is written, term by term, in Python's unbounded decimals where exp would overflow."""

    def similarity(x, y):
        return math.fsum(p * q for p, q in zip(x, y, strict=True)) / (math.hypot(*x) * math.hypot(*y)) / temperature

    def loss(x, others, i):
        terms = math.fsum(math.exp(similarity(x, y)) for y in others)
        return -math.log(math.exp(similarity(x, others[i])) / terms)

    count = len(a)
    return sum(loss(a[i], b, i) + loss(b[i], a, i) for i in range(count)) / (2 * count)


@pytest.fixture
def views():
    torch.manual_seed(1)
    return torch.randn(6, 5, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)


@pytest.mark.parametrize("temperature", [0.05, 0.5, 2.0])
def test_the_loss_agrees_with_the_formula_term_by_term(views, temperature):
    a, b = views
    assert float(info_nce(a, b, temperature)) == pytest.approx(slow_info_nce(a.tolist(), b.tolist(), temperature))


def test_the_gradient_agrees_with_differences(views):
    a, b = (view.requires_grad_() for view in views)
    assert torch.autograd.gradcheck(lambda x, y: info_nce(x, y, 0.5), (a, b))
    assert torch.autograd.gradcheck(lambda x, y: info_nce(x, y, 0.05), (a, b), atol=1e-4)


def test_the_loss_stays_finite_where_a_plain_exponential_would_not(views):
    a, b = views
    assert math.isfinite(float(info_nce(a, b, 1e-4)))


def test_alignment_and_uniformity_are_what_wang_and_isola_define(views):
    a, b = (view / view.norm(dim=1, keepdim=True) for view in views)
    assert float(alignment(*views)) == pytest.approx(float(((a - b) ** 2).sum(1).mean()))
    pairs = [math.exp(-2 * float(((a[i] - a[j]) ** 2).sum())) for i in range(6) for j in range(i)]
    assert float(uniformity(views[0])) == pytest.approx(math.log(np.mean(pairs)))
