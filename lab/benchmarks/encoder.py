"""Embedding a run: launches, streams and nodes per second, by torch and by C++, in one run.

    python lab/benchmarks/encoder.py LIST [--launches N] [--threads 1] [--nodes 100000]

First `embed_streams` with an empty cache, reading of traces apart, then with a full one. Then graphs alone: of all streams; one
of about `--nodes` nodes, joined from those of the list; the same with noise on its features, where computing equal nodes once
saves nothing. The last column is how much the process's largest memory grew.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from kernelpoint.encoder import embed_streams, read_checkpoint
from kernelpoint.encoder.embed import NativeEncoder
from kernelpoint.graphs import TraceGraph, build_graph
from kernelpoint.randomness import generator
from kernelpoint.traces import ArtefactCache, launch_paths, scan_launches
from kernelpoint_lab.training.encode import embed_graphs, load_encoder


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds."""
    cpu, wall = time.process_time(), time.monotonic()
    action()
    return time.process_time() - cpu, time.monotonic() - wall


def joined(graphs: list[TraceGraph], nodes: int) -> TraceGraph:
    """One graph of about this many nodes: graphs side by side, taken again from the first where there are too few."""
    taken: list[TraceGraph] = []
    while sum(graph.num_nodes for graph in taken) < nodes:
        taken.append(graphs[len(taken) % len(graphs)])
    starts = np.cumsum([0] + [graph.num_nodes for graph in taken])
    firsts = [graph.warp_starts[:-1] + start for graph, start in zip(taken, starts, strict=False)]
    return replace(
        taken[0],
        kinds=np.concatenate([graph.kinds for graph in taken]),
        tokens=np.concatenate([graph.tokens for graph in taken]),
        features=np.concatenate([graph.features for graph in taken]),
        edge_index=np.concatenate([g.edge_index + start for g, start in zip(taken, starts, strict=False)], 1),
        edge_type=np.concatenate([graph.edge_type for graph in taken]),
        warp_starts=np.concatenate([*firsts, starts[-1:]]),
        warp_weights=np.concatenate([graph.warp_weights for graph in taken]),
    )


def without_equals(graph: TraceGraph) -> TraceGraph:
    """The graph with noise on its features."""
    noise = generator(0, "benchmark noise").normal(0, 1e-3, graph.features.shape)
    return replace(graph, features=np.float32(graph.features + noise))


def table(title: str, ways: dict[str, Callable[[], object]], count: int) -> None:
    """Each way's CPU seconds, against the first."""
    print(f"{title:36} {'s CPU':>8} {'graphs/s':>10} {'times':>6} {'MiB':>7}")
    base = 0.0
    for name, way in ways.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = timed(way)[0]
        base = base or seconds
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"{name:36} {seconds:8.2f} {count / seconds:10,.1f} {seconds / base:6.2f} {grown:7,.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list")
    parser.add_argument("--launches", type=int, default=None)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=100_000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    checkpoint = read_checkpoint()
    with tempfile.TemporaryDirectory() as folder:
        cache = ArtefactCache(folder)
        paths = launch_paths(options.list)[: options.launches]
        scanning = timed(lambda: scan_launches(paths, cache))
        scan = scan_launches(paths, cache)
        fresh, cached = timed(lambda: embed_streams(scan.read, cache)), timed(lambda: embed_streams(scan.read, cache))
    graphs = [build_graph(path) for path in (scan.traces[launch] for launch in scan.first_launches.tolist())]
    nodes = sum(graph.num_nodes for graph in graphs)
    print(f"{scan.size:,} launches, {len(graphs):,} streams, {nodes:,} nodes, {options.threads} thread(s)")
    for name, (cpu, wall) in {"reading traces": scanning, "embedding": fresh, "embedding, cached": cached}.items():
        rates = f"{scan.size / cpu:12,.0f} launches/s {len(graphs) / cpu:9,.0f} streams/s {nodes / cpu:11,.0f} nodes/s"
        print(f"{name:18} {cpu:8.2f} s CPU {wall:8.2f} s wall {rates}")
    native, encoder = NativeEncoder(checkpoint, 1), load_encoder(checkpoint)
    large = joined(graphs, options.nodes)
    parts = {
        "all streams": graphs,
        f"one graph, {large.num_nodes:,} nodes, joined streams": [large],
        f"one graph, {large.num_nodes:,} nodes, no two alike": [without_equals(large)],
    }
    for title, part in parts.items():
        ways: dict[str, Callable[[], object]] = {
            "native": lambda part=part: list(native.embed_graphs(part)),
            "torch": lambda part=part: list(embed_graphs(encoder, part)),
        }
        table(title, ways, len(part))


if __name__ == "__main__":
    main()
