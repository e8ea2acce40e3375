"""Does the embedding mean something? Nearest neighbours, cluster purity, and how alike a cluster's cycles are.

    python tests/benchmarks/embedding.py --real LIST --synth FOLDER [--checkpoint FILE] [--launches 8000]

Three embeddings (trained encoder, the same encoder untrained, histogram of executed opcodes) alone, with work, and with work
and context. Classes are kernel name, grid and block on the real list, the kernel on synthesised folders (each with a
kernelslist.g, such as training_data.py writes; give it another seed than that of training). Only streams that training left
out are looked at on the real list when `--unseen LIST` names the traces that were excluded.

    nn        share of distinct streams whose nearest other stream is of the same class (streams alone in theirs left out)
    kin       the same among streams of other kernels only: whether the nearest is of the same family (synthesised folders)
    purity    share of launches in the commonest class of their cluster; K-Means with as many clusters as classes
    CoV       sum of N_h sigma_h over the total of cycles, with the same clusters: what the size of a sample depends on
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from kernelpoint.cli.host import program
from kernelpoint.clustering.estimator import nearest
from kernelpoint.clustering.features import run_features
from kernelpoint.encoder import embed_streams
from kernelpoint.encoder.checkpoint import read_checkpoint
from kernelpoint.encoder.encode import embed_graphs
from kernelpoint.encoder.training import Trainer, TrainingConfig
from kernelpoint.graphs import SCHEMA, build_graph
from kernelpoint.traces import ScanTable, launch_paths, scan_launches

CONFIGS = ("v100", "rtx")


def opcode_histogram(scan: ScanTable) -> np.ndarray:
    """Share of each opcode among a stream's executed instructions."""
    result = np.zeros((len(scan.streams), len(SCHEMA.opcodes) + 1))
    for row, launch in enumerate(scan.first_launches()):
        graph = build_graph(scan.paths[launch])
        weights = np.repeat(graph.warp_weights, np.diff(graph.warp_starts))
        instruction = graph.kinds == SCHEMA.node_kinds.index("instruction")
        np.add.at(result[row], graph.tokens[instruction, 0], weights[instruction])
    return result / result.sum(1, keepdims=True)


def untrained(scan: ScanTable, seed: int) -> np.ndarray:
    """Embeddings of an encoder as it is before its first step."""
    graphs = [build_graph(scan.paths[launch]) for launch in scan.first_launches()]
    trainer = Trainer(graphs, TrainingConfig(seed=seed))
    return np.array(list(embed_graphs(trainer.encoder.double().eval(), graphs)))


def neighbours(embedding: np.ndarray, classes: np.ndarray, apart: np.ndarray | None = None) -> float:
    """Leave-one-out accuracy of the nearest neighbour; rows of the same `apart` (by default, the row alone) do not count.

    Rows for which no other row of their class is left are not asked for.
    """
    apart = np.arange(len(classes)) if apart is None else apart
    hits = []
    for row in range(len(classes)):
        others = np.flatnonzero(apart != apart[row])
        if (classes[others] == classes[row]).any():
            best = others[np.linalg.norm(embedding[others] - embedding[row], axis=1).argmin()]
            hits.append(classes[best] == classes[row])
    return float(np.mean(hits)) if hits else float("nan")


def k_means(rows: np.ndarray, count: int) -> np.ndarray:
    """K-Means labels of all rows; equal rows are one point with a weight."""
    points, inverse, weights = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    found = KMeans(min(count, len(points)), n_init=2, random_state=0).fit(points, sample_weight=weights)
    return nearest(points, found.cluster_centers_)[0][inverse.ravel()]


def purity(labels: np.ndarray, classes: np.ndarray) -> float:
    """Share of rows in the commonest class of their cluster."""
    table = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(table, (labels, classes), 1)
    return float(table.max(1).sum() / len(labels))


def pooled_cov(labels: np.ndarray, cycles: np.ndarray) -> float:
    """Sum over clusters of N_h sigma_h, over the total."""
    spread = [(labels == h).sum() * cycles[labels == h].std() for h in np.unique(labels)]
    return float(np.sum(spread) / cycles.sum())


def simulate(paths: list[str], config: str) -> np.ndarray:
    """Cycles of every launch in a full run on the embedded host."""
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "kernelslist.g"
        for i, path in enumerate(paths):
            (Path(folder) / f"kernel-{i}.traceg").symlink_to(Path(path).resolve())
        listing.write_text("".join(f"kernel-{i}.traceg\n" for i in range(len(paths))))
        results = Path(folder) / "results.csv"
        command = [program(), "-trace", listing, "-config", config, "-results", results]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with results.open() as file:
            return np.array([float(row["cycles"]) for row in csv.DictReader(file)])


def classes_of(scan: ScanTable, by_shape: bool) -> np.ndarray:
    """Class of every launch: its shape, or its kernel's name."""
    keys = [(s.kernel_name, s.grid, s.block) if by_shape else s.kernel_name for s in scan.shapes]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys])[scan.shape_ids]


def show(
    title: str, scan: ScanTable, chosen: np.ndarray, by_shape: bool, checkpoint: str, families: np.ndarray | None = None
) -> None:
    """The table for some launches of a scan."""
    classes = np.unique(classes_of(scan, by_shape)[chosen], return_inverse=True)[1]
    streams, first = np.unique(scan.stream_ids[chosen], return_index=True)
    cycles = {config: simulate([scan.paths[i] for i in chosen], config) for config in CONFIGS}
    work = np.stack([scan.instructions, scan.ctas, scan.warps, scan.bytes], 1)[chosen]
    count = classes.max() + 1
    print(f"\n{title}: {len(chosen):,} launches, {len(streams)} streams, {count} classes")
    print(f"{'features':34}  {'nn':>6} {'kin':>6} {'purity':>7}" + "".join(f" {'CoV ' + c:>9}" for c in CONFIGS))
    per_class = "".join(f" {pooled_cov(classes, cycles[c]):9.4f}" for c in CONFIGS)
    print(f"{'(the classes themselves)':34}  {'':>6} {'':>6} {1:7.3f}{per_class}")
    for name, embedding in embeddings(scan, checkpoint).items():
        launch_embedding = embedding[scan.stream_ids[chosen]]
        for suffix, used, context in (("", None, ()), ("work", work, ()), ("work, context", work, (-1, 1))):
            rows = run_features(launch_embedding, used, context)
            labels = k_means(rows, count)
            kin = float("nan") if families is None else neighbours(rows[first], families[first], classes[first])
            figures = f"{neighbours(rows[first], classes[first]):6.3f} {kin:6.3f} {purity(labels, classes):7.3f}"
            figures += "".join(f" {pooled_cov(labels, cycles[c]):9.4f}" for c in CONFIGS)
            print(f"{name + (' + ' + suffix if suffix else ''):34}  {figures}")


def embeddings(scan: ScanTable, checkpoint: str) -> dict[str, np.ndarray]:
    """Every embedding compared, by stream id."""
    result = {"trained encoder": embed_streams(scan, checkpoint=checkpoint)}
    result["untrained encoder"] = untrained(scan, read_checkpoint(checkpoint).card["config"]["seed"])
    return result | {"opcode histogram": opcode_histogram(scan)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", help="a trace list")
    parser.add_argument("--unseen", help="the list that training excluded: only its kernel names are looked at")
    parser.add_argument("--synth", type=Path, help="a folder of folders of synthesised traces")
    parser.add_argument("--checkpoint", default="builtin")
    parser.add_argument("--launches", type=int, default=8000, help="of the real list, from its start")
    options = parser.parse_args()
    if options.real:
        scan = scan_launches(launch_paths(options.real)[: options.launches])
        chosen = np.arange(len(scan))
        show("real, all kernels", scan, chosen, True, options.checkpoint)
        if options.unseen:
            names = set(scan_launches(launch_paths(options.unseen)).kernel_names)
            chosen = chosen[[scan.kernel_names[k] in names for k in scan.kernel_ids]]
            show("real, kernels unseen in training", scan, chosen, True, options.checkpoint)
    if options.synth:
        lists = [launch_paths(str(folder / "kernelslist.g")) for folder in sorted(options.synth.iterdir())]
        families = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        scan = scan_launches([path for one in lists for path in one])
        chosen = np.arange(len(scan))
        show("synthesised, sizes unseen in training", scan, chosen, False, options.checkpoint, families)


if __name__ == "__main__":
    main()
