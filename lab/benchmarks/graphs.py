"""Building graphs: nodes and launches per second, and memory, against the plain Python builder.

    python lab/benchmarks/graphs.py LIST [--launches 300] [--slow 20]

Each builder runs in its own process on the first launch of every distinct stream; "MiB" is the growth of that process's peak
resident memory while it builds, keeping one graph at a time. "MB/s" counts bytes of trace.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path

from kernelpoint.graphs import build_graph
from kernelpoint.traces import launch_paths, scan_launches

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "reference"))
from reference_builder import build_graph_slow

BUILDERS = {"C++": build_graph, "Python (oracle)": build_graph_slow}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, paths: list[str], max_nodes: int) -> tuple[float, int, int, float]:
    """CPU seconds, nodes, warps and MiB for building the graphs of `paths`."""
    before, started = peak(), time.process_time()
    nodes = warps = 0
    for path in paths:
        graph = BUILDERS[name](path, max_nodes)
        nodes, warps = nodes + graph.num_nodes, warps + graph.total_warps
    return time.process_time() - started, nodes, warps, peak() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list")
    parser.add_argument("--launches", type=int, default=300, help="distinct streams at most")
    parser.add_argument("--slow", type=int, default=20, help="of those, for the Python builder")
    parser.add_argument("--max-nodes", type=int, default=20000)
    options = parser.parse_args()
    scan = scan_launches(launch_paths(options.list))
    paths = [scan.paths[i] for i in scan.first_launches()[: options.launches]]
    print(f"{len(paths)} distinct streams of {len(scan):,} launches, max_nodes {options.max_nodes:,}")
    print(
        f"{'builder':16} {'graphs':>7} {'nodes/s':>12} {'graphs/s':>9} {'warps/s':>10} {'MB/s':>7} {'MiB':>6} {'ratio':>6}"
    )
    rates: list[float] = []
    for name, chosen in (("C++", paths), ("C++", paths[: options.slow]), ("Python (oracle)", paths[: options.slow])):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, nodes, warps, memory = pool.apply(measure, (name, chosen, options.max_nodes))
        size = sum(os.path.getsize(path) for path in chosen) / 1e6
        rates.append(nodes / seconds)
        print(
            f"{name:16} {len(chosen):7} {nodes / seconds:12,.0f} {len(chosen) / seconds:9,.0f} {warps / seconds:10,.0f} "
            f"{size / seconds:7.1f} {memory:6.1f} {rates[-1] / rates[0] if len(rates) == 1 else rates[-1] / rates[1]:6.3f}"
        )


if __name__ == "__main__":
    main()
