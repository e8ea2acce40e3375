"""The native forward pass: the numbers of the reference in PyTorch, whatever the threads; no graph can make it read outside."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_graphs import random_graph

from kernelpoint import _native
from kernelpoint.encoder import read_checkpoint
from kernelpoint.encoder.checkpoint import read_tensors, tensor_shapes
from kernelpoint.encoder.embed import NativeEncoder, round_embeddings
from kernelpoint.errors import PlanError, TraceError
from kernelpoint.graphs import SCHEMA, build_graph
from kernelpoint_lab.training.model import TraceEncoder, embed_graphs, load_encoder
from kernelpoint_lab.training.writing import write_checkpoint


@pytest.fixture(scope="module")
def native():
    return NativeEncoder(read_checkpoint(), threads=1)


def repeated(graph):
    """The graph with each of its warps twice, so that every class of nodes has two members or more."""
    nodes, warps = graph.num_nodes, graph.num_warps
    return replace(
        graph,
        kinds=np.tile(graph.kinds, 2),
        tokens=np.tile(graph.tokens, (2, 1)),
        features=np.tile(graph.features, (2, 1)),
        edge_index=np.concatenate([graph.edge_index, graph.edge_index + nodes], 1),
        edge_type=np.tile(graph.edge_type, 2),
        warp_starts=np.concatenate([graph.warp_starts, graph.warp_starts[1:] + nodes]),
        warp_weights=np.tile(graph.warp_weights, 2) * np.repeat([1, 3], warps),
    )


def test_embeddings_agree_with_torch_and_round_to_the_same_numbers(native, graphs):
    random_graphs = [random_graph(seed, warps=1 + seed % 5, nodes=3 + seed) for seed in range(40)]
    many = [*graphs, repeated(graphs[0]), *random_graphs]
    reference = np.array(list(embed_graphs(load_encoder(read_checkpoint()), many)))
    embeddings = np.array(list(native.embed_graphs(many)))
    np.testing.assert_allclose(embeddings, reference, atol=1e-12)
    assert np.array_equal(round_embeddings(embeddings), round_embeddings(reference))


def test_other_numbers_of_bases_agree_with_torch_too(graphs, tmp_path):
    torch.manual_seed(0)
    encoder = TraceEncoder(num_bases=3)
    weights = {name: value.numpy() for name, value in encoder.state_dict().items()}
    write_checkpoint(tmp_path / "e.safetensors", weights, {"num_bases": 3, "dropout": 0.1}, {})
    made = read_checkpoint(tmp_path / "e.safetensors")
    embeddings = np.array(list(NativeEncoder(made).embed_graphs(graphs)))
    reference = np.array(list(embed_graphs(load_encoder(made), graphs)))
    np.testing.assert_allclose(embeddings, reference, atol=1e-12)


def test_a_trace_goes_to_the_same_embedding_as_its_graph_for_any_number_of_threads(trace_paths, native):
    expected = np.array(list(native.embed_graphs(build_graph(path) for path in trace_paths)))
    for threads in (1, 2, 5):
        embeddings = NativeEncoder(read_checkpoint(), threads).embed_traces(trace_paths, 20000)
        assert np.array_equal(np.array(list(embeddings)), expected)


def test_a_trace_that_cannot_be_read_is_named(native, tmp_path):
    with pytest.raises(TraceError, match=r"no\.traceg"):
        list(native.embed_traces([str(tmp_path / "no.traceg")], 20000))


def test_the_shapes_that_checkpoints_are_checked_against_are_those_of_the_reference():
    shapes = {name: tuple(value.shape) for name, value in TraceEncoder(num_bases=2).state_dict().items()}
    assert shapes == tensor_shapes(2)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"edge_index": lambda g: g.edge_index + g.num_nodes}, "no such node"),
        ({"edge_index": lambda g: g.edge_index - g.num_nodes}, "no such node"),
        ({"edge_type": lambda g: g.edge_type + len(SCHEMA.relations)}, "no such relation"),
        ({"tokens": lambda g: g.tokens + np.int32(SCHEMA.token_count)}, "in no row"),
        ({"tokens": lambda g: -1 - g.tokens}, "in no row"),
        ({"kinds": lambda g: g.kinds[:1]}, "kinds does not have the shape"),
        ({"warp_starts": lambda g: g.warp_starts + 1}, "not all of its nodes"),
        ({"warp_starts": lambda g: g.warp_starts[[0, 2, 1, 3]]}, "a warp has no node"),
        ({"warp_weights": lambda g: g.warp_weights * 0}, "a weight below 1"),
        ({"warp_weights": lambda g: g.warp_weights[:1]}, "warp_starts does not have the shape"),
        ({"features": lambda g: g.features[:1]}, "features does not have the shape"),
        ({"features": lambda g: np.ascontiguousarray(g.features[:, :7])}, "features does not have the shape"),
        (
            {name: lambda g, name=name: getattr(g, name)[:0] for name in ("kinds", "tokens", "features")},
            "no such node|no node",
        ),
    ],
)
def test_a_graph_that_contradicts_itself_is_refused(native, graphs, change, complaint):
    broken = replace(graphs[0], **{name: make(graphs[0]) for name, make in change.items()})
    with pytest.raises(ValueError, match=complaint):
        list(native.embed_graphs([broken]))


def test_weights_that_do_not_fit_each_other_are_refused_by_name():
    whole = {name: np.zeros(shape) for name, shape in tensor_shapes(2).items()}
    _native.Encoder(whole)
    for name in whole:
        without = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(ValueError, match="belong to no layer" if name.endswith(".root") and name > "layers.1" else name):
            _native.Encoder(without)
        shape = list(whole[name].shape)
        shape[-1] += 1
        with pytest.raises(ValueError, match="tensor"):
            _native.Encoder({**whole, name: np.zeros(shape)})


def header(text: str, data: bytes = b"\0" * 8) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode() + data


def tensor(shape: list[int], begin: int, end: int) -> bytes:
    return header(json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}}))


HOSTILE = {
    "no byte": b"",
    "a text": b"not safetensors at all",
    "a pickle": b"\x80\x04\x95pickle",
    "a header longer than the file": (2**40).to_bytes(8, "little") + b"{}",
    "a header longer than any file": b"\xff" * 8 + b"{}",
    "a header that is no JSON": header("{{{{"),
    "an end beyond the file": tensor([4], 0, 16),
    "an end before its beginning": tensor([1], 4, 0),
    "a shape of 2^60 numbers": tensor([2**60], 0, 8),
    "a shape whose size wraps round": tensor([2**32, 2**32], 0, 0),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_is_no_checkpoint_is_refused_and_its_header_checked_before_it_is_believed(tmp_path, content):
    path = tmp_path / "e.safetensors"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=r"e\.safetensors: not a safetensors checkpoint"):
        read_tensors(read_checkpoint(path))
