"""Groups of launches that share one correction line of the fast model: kernel names, or clusters of embeddings?

    kernelpoint-host -trace LIST -config GPU -results FOLDER/NAME-GPU.csv    # once for each workload and GPU
    python lab/benchmarks/groups.py FOLDER NAME=LIST ... --truth v100 --model rtx [--seeds 60]

Predictions are the cycles of one full run, the truth those of another; a file of the truth may be another simulator's, with
columns `trace` and `cycles`. Clusters are K-Means on distinct streams, as many as there are kernels; "threshold" are those of
the policy `kernelpoint` without a model. For each grouping

    slope     of truth on predictions inside groups
    residual  sum over groups of N_g times the standard deviation of truth - line, over the total; lines have a level for each
              group and one slope
    draws     what that takes at 1 % and 95 % by Neyman's allocation
    engine    share of runs of the engine that hold, cycle speedup (harmonic mean) and draws, with these groups, at 1 %
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from statistics import NormalDist

import numpy as np
from sklearn.cluster import KMeans

from embedding import opcode_histogram, untrained
from kernelpoint.clustering import run_features, threshold_clusters
from kernelpoint.clustering.features import WORK_COLUMNS
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import AssistedDesign, AssistedEngine, ErrorBudget, passes
from kernelpoint.graphs import build_graph
from kernelpoint.policies.methods.kernelpoint import CLUSTER_DISTANCE
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.traces import ScanTable, read_trace_list, scan_launches

EPS = 0.01


def cycles_of(path: Path) -> tuple[list[str], np.ndarray]:
    """Trace and cycles of every launch of a full run."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [row["trace"] for row in rows], np.array([float(row["cycles"]) for row in rows])


def k_means(rows: np.ndarray, scan: ScanTable, count: int) -> np.ndarray:
    """The cluster of every launch, from features of streams."""
    weights = np.bincount(scan.stream_ids)
    found = KMeans(min(count, len(rows)), n_init=3, random_state=0).fit(rows, sample_weight=weights)
    return found.labels_[scan.stream_ids]


def groupings(scan: ScanTable, max_nodes: int) -> dict[str, np.ndarray]:
    """The group of every launch by each way of grouping."""
    count, first = len(np.unique(scan.kernel_ids)), scan.first_launches()
    graphs = [build_graph(scan.paths[launch], max_nodes) for launch in first]
    work = np.stack([getattr(scan, name)[first] for name in WORK_COLUMNS], axis=1)
    trained = embed_streams(scan, max_nodes=max_nodes)
    embeddings = {"histogram": opcode_histogram(graphs), "untrained": untrained(graphs, 0), "trained": trained}
    alike = threshold_clusters(run_features(trained), CLUSTER_DISTANCE)[scan.stream_ids]
    result = {"one for all": np.zeros(len(scan), int), "kernel name": scan.kernel_ids, "trained, threshold": alike}
    for name, embedding in embeddings.items():
        result[name] = k_means(run_features(embedding), scan, count)
        result[name + " + work"] = k_means(run_features(embedding, work), scan, count)
    result["name and threshold"] = scan.kernel_ids.astype(np.int64) * (alike.max() + 1) + alike
    return {name: np.unique(labels, return_inverse=True)[1].ravel() for name, labels in result.items()}


def lines(x: np.ndarray, y: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Sum of N_g sigma_g of what the groups' lines leave, over the total, and the slope of the lines."""
    count = np.bincount(group)
    dx, dy = (values - (np.bincount(group, values) / count)[group] for values in (x, y))
    slope = (dx * dy).sum() / max((dx * dx).sum(), 1e-300)
    squares = np.bincount(group, (dy - slope * dx) ** 2) / count
    return float((count * np.sqrt(squares)).sum() / y.sum()), float(slope)


def shared_lines(x: np.ndarray, kernel: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """The line of each kernel in the policy `kernelpoint`: the cluster in which most of its predicted cycles are."""
    share = np.zeros((kernel.max() + 1, alike.max() + 1))
    np.add.at(share, (kernel, alike), x)
    return np.unique(share.argmax(axis=1), return_inverse=True)[1].ravel()


def sampled(
    x: np.ndarray, y: np.ndarray, group: np.ndarray, seeds: int, line: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Share of runs of the engine that hold, harmonic mean of cycle speedups, mean draws."""
    rows = []
    for seed in range(seeds):
        u = permanent_random_numbers(seed, 0, len(y))
        engine = AssistedEngine(AssistedDesign({"cycles": x}, group, u, lines=line), ErrorBudget(EPS))
        *_, look = passes(engine, ("cycles",), y)
        drawn = engine.drawn()
        rows.append((look.estimates["cycles"].contains(y.sum()), y[drawn].sum() / y.sum(), len(drawn)))
    held, share, draws = np.array(rows, float).mean(0)
    return float(held), float(1 / share), float(draws)


def show(name: str, trace_list: str, options: argparse.Namespace) -> None:
    """The table of one workload."""
    traces, y = cycles_of(options.folder / f"{name}-{options.truth}.csv")
    x = cycles_of(options.folder / f"{name}-{options.model}.csv")[1]
    listed = Path(trace_list)
    folder = listed if listed.is_dir() else Path(read_trace_list(listed).paths[0]).parent
    scan = scan_launches([str(folder / trace) for trace in traces])
    z = NormalDist().inv_cdf(0.975)
    print(f"\n### {name}: {len(y):,} launches, {len(scan.streams)} streams\n")
    print("| groups | number | slope | residual | draws | engine |\n|---|---|---|---|---|---|")
    found = groupings(scan, options.max_nodes)
    kernel = found["kernel name"]
    shared = shared_lines(x, kernel, found["trained, threshold"])
    for title, group, line in [(k, v, None) for k, v in found.items()] + [("name, alike share a line", kernel, shared)]:
        left, slope = lines(x, y, group if line is None else line[group])
        held, speedup, draws = sampled(x, y, group, options.seeds, line)
        told = f"{slope:.2f} | {left:.5f} | {(z * left / EPS) ** 2:.1f} | {held:.2f}, {speedup:.1f}x, {draws:.1f} |"
        print(f"| {title} | {(group if line is None else line).max() + 1} | {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="+", help="NAME=LIST")
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--max-nodes", type=int, default=1000)
    options = parser.parse_args()
    for workload in options.workloads:
        name, _, trace_list = workload.partition("=")
        show(name, trace_list, options)


if __name__ == "__main__":
    main()
