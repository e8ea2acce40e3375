"""Embeddings of a run: the cache, threads, and what must not be imported."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import run_command

import kernelpoint
from kernelpoint.encoder import embed_streams, read_checkpoint
from kernelpoint.encoder.embed import round_embeddings
from kernelpoint.errors import ConfigError, SetupError
from kernelpoint.graphs import build_graph
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.randomness import generator
from kernelpoint.traces import ArtefactCache, read_trace_list, scan_launches
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.launch import Memory
from kernelpoint_lab.synth.lists import write_list
from kernelpoint_lab.training.model import collate, embed_graphs, load_encoder


@pytest.fixture
def cache(tmp_path):
    return ArtefactCache(tmp_path)


def test_streams_are_embedded_once_and_then_come_from_the_cache(traces, cache, monkeypatch):
    scan = scan_launches(read_trace_list(traces).traces, cache)
    calls = []
    first = embed_streams(scan.contents, cache, progress=lambda done, total: calls.append((done, total)))
    assert first.shape == (3, 256) and first.dtype == np.float32 and calls == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr("kernelpoint.encoder.embed.NativeEncoder", lambda *_: pytest.fail("embedded again"))
    assert np.array_equal(embed_streams(scan.contents, cache), first)
    assert np.array_equal(first, round_embeddings(first))


def by_torch(graphs):
    """Rounded embeddings as the reference computes them."""
    return np.array([round_embeddings(exact) for exact in embed_graphs(load_encoder(read_checkpoint()), graphs)], np.float32)


def test_embeddings_of_streams_are_those_of_the_reference(traces, tmp_path):
    scan = scan_launches(read_trace_list(traces).traces, ArtefactCache(tmp_path))
    native = embed_streams(scan.contents, ArtefactCache(tmp_path / "native"))
    reference = by_torch([build_graph(path) for path in (scan.traces[row] for row in scan.first_launches)])
    assert np.array_equal(native, reference)


def test_another_bound_on_nodes_is_another_embedding(traces, cache):
    scan = scan_launches(read_trace_list(traces).traces, cache)
    assert not np.array_equal(embed_streams(scan.contents, cache), embed_streams(scan.contents, cache, max_nodes=16))


def test_an_interrupted_call_goes_on_where_it_stopped(traces, cache, monkeypatch):
    monkeypatch.setattr("kernelpoint.encoder.embed.CHUNK", 1)
    scan = scan_launches(read_trace_list(traces).traces, cache)

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_streams(scan.contents, cache, progress=interrupt)
    calls = []
    embed_streams(scan.contents, cache, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]


def test_a_bound_on_nodes_that_cannot_be_is_refused(traces, cache):
    with pytest.raises(ConfigError, match="max_nodes"):
        embed_streams(scan_launches(read_trace_list(traces).traces, cache).contents, cache, max_nodes=3)


def test_train_and_cluster_work_from_the_command_line(traces, tmp_path):
    encoder = tmp_path / "encoder.safetensors"
    options = ("--epochs", 2)
    done = run_command("lab", "train", traces, "-o", encoder, *options)
    assert done.returncode == 0, done.stderr
    log = encoder.with_suffix(".log.csv").read_text().splitlines()
    assert log[0] == "epoch,loss,alignment,uniformity,learning_rate,seconds,memory_mib" and len(log) == 3
    again = run_command("lab", "train", traces, "-o", encoder, *options, "--resume")
    assert again.returncode == 0 and "going on after epoch 2" in again.stderr
    labels = tmp_path / "labels.csv"
    done = run_command("plan", "--clusters", traces, "--checkpoint", encoder, "-o", labels)
    assert done.returncode == 0, done.stderr
    plan = tmp_path / "run.kpplan"
    config = tmp_path / "kernelpoint.yaml"
    config.write_text(f"version: 1\npolicy: kernelpoint\nfast_model: off\nencoder: {{checkpoint: {encoder}}}\n")
    assert run_command("plan", traces, "-o", plan, "--config", config).returncode == 0
    of_plan = Plan.load(plan, Program((6,))).cluster_of_unit()
    assert labels.read_text().split()[1:] == [f"{launch},{number}" for launch, number in enumerate(of_plan)]
    assert f"6 launches, 3 instruction sequences, {of_plan.max() + 1} clusters" in done.stdout
    refused = run_command("plan", "--clusters", traces, "--policy", "stem")
    assert refused.returncode == 1 and "--profile" in refused.stderr


def test_training_leaves_out_streams_and_names_kept_for_testing(traces, tmp_path):
    from kernelpoint_lab.training.data import training_data

    kept = tmp_path / "kept"
    kept.mkdir()
    first = Path(read_trace_list(traces).traces[0])
    (kept / "kernel-1.traceg").write_text(first.read_text())
    data = training_data([str(traces)], [str(kept)], cache=ArtefactCache(tmp_path))
    assert data.streams == 3 and data.excluded_streams == 1 and data.shared_streams == 0 and len(data.graphs) == 2
    everything = training_data([str(traces), str(kept)], cache=ArtefactCache(tmp_path))
    assert len(everything.graphs) == 3 and everything.launches == 7


def test_one_launch_is_embedded_as_in_a_run(traces, cache):
    scan = scan_launches(read_trace_list(traces).traces, cache)
    first = embed_streams(scan.contents, cache)[0]
    path = scan.traces[scan.first_launches[0]]
    assert np.array_equal(kernelpoint.embed(path), first)
    assert np.array_equal(kernelpoint.embed(build_graph(path)), first)
    assert np.array_equal(by_torch([build_graph(path)])[0], first)


def test_a_graph_goes_to_pyg_and_an_encoder_can_be_trained_further(traces):
    graph = build_graph(read_trace_list(traces).traces[0])
    data = graph.to_pyg()
    assert data.validate() and data.num_nodes == graph.num_nodes and np.shares_memory(data.x.numpy(), graph.features)
    assert torch.equal(torch.bincount(data.warp), torch.from_numpy(np.diff(graph.warp_starts)))
    encoder = kernelpoint.TraceEncoder.load()
    encoder(collate([graph])).sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())


def test_the_encoder_without_torch_is_one_message_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "kernelpoint_lab.training.model")
    with pytest.raises(SetupError, match=r"the package torch is not installed, in KernelPoint.s folder: pip install"):
        kernelpoint.TraceEncoder.load()


def test_launches_of_one_stream_are_embedded_by_the_values_of_their_list(tmp_path):
    launch = FAMILIES["axpy"].build(Memory(), generator(0, "test"), FAMILIES["axpy"].defaults("small") | {"n": 300})
    cache, by_seed = ArtefactCache(tmp_path), {}
    for seed in (None, 1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        write_list([launch], folder, 1, {"name": "test", "seed": 0}, 6, values=seed)
        scan = scan_launches(read_trace_list(str(folder / "kernelslist.g")).traces, cache)
        embedding = embed_streams(scan.contents, cache)[0]
        assert np.array_equal(embedding, kernelpoint.embed(scan.traces[0])), "the cache holds another list's embedding"
        assert np.array_equal(embedding, by_torch([build_graph(scan.traces[0])])[0])
        by_seed[seed] = scan.contents.stream_hashes(), embedding
    assert by_seed[None][0] == by_seed[1][0] == by_seed[2][0], "values are no part of a stream"
    assert len({embedding.tobytes() for _, embedding in by_seed.values()}) == 3
