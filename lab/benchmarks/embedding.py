"""Quality of embeddings: trained encoders against untrained ones and the histogram of executed opcodes.

    python lab/benchmarks/embedding.py [--real LIST [--unseen LIST]] [--synth FOLDER [--held-out FAMILY ...]]
        [--checkpoint FILE ...] [--untrained 3] [--launches 8000] [--max-nodes 20000]

Each with the launch's work, at the weight that clusters use, on two GPU configurations of the embedded host, run in full. The
measures are defined in embedding_measures.py.
`--unseen` names the list that training excluded: of the real list, launches of its kernels are looked at apart.
FOLDER holds folders of synthesised traces, each with a kernelslist.g, such as training_data.py writes (with another seed
than that of training); `--held-out` families, unseen in training, are looked at apart. Several checkpoints or untrained
encoders are shown as mean (lowest to highest).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from embedding_measures import Launches, measure

from kernelpoint.clustering import run_features
from kernelpoint.encoder import embed_streams
from kernelpoint.fast_model import predict
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.graphs import SCHEMA, TraceGraph, build_graph
from kernelpoint.policies.methods.kernelpoint import SMS
from kernelpoint.traces import ScanTable, launch_paths, scan_launches
from kernelpoint.workload import fingerprint
from kernelpoint_lab.training.config import TrainingConfig
from kernelpoint_lab.training.encode import embed_graphs
from kernelpoint_lab.training.trainer import Trainer

CONFIGS = ("v100", "rtx")


def opcode_histogram(graphs: Sequence[TraceGraph]) -> np.ndarray:
    """Share of each opcode among a stream's executed instructions."""
    result = np.zeros((len(graphs), len(SCHEMA.opcodes) + 1))
    for row, graph in enumerate(graphs):
        weights = np.repeat(graph.warp_weights, np.diff(graph.warp_starts))
        instruction = graph.kinds == SCHEMA.node_kinds.index("instruction")
        np.add.at(result[row], graph.tokens[instruction, 0], weights[instruction])
    return result / result.sum(1, keepdims=True)


def untrained(graphs: Sequence[TraceGraph], seed: int) -> np.ndarray:
    """Embeddings of an encoder as it is before its first step."""
    encoder = Trainer(graphs, TrainingConfig(seed=seed)).encoder
    return np.array(list(embed_graphs(encoder.double().eval(), graphs)))


def embeddings(scan: ScanTable, options: argparse.Namespace) -> dict[str, list[np.ndarray]]:
    """Every embedding compared, by stream id; several of one kind are its repetitions."""
    graphs = [build_graph(scan.paths[launch], options.max_nodes) for launch in scan.first_launches()]
    return {
        "trained": [embed_streams(scan, checkpoint=c, max_nodes=options.max_nodes) for c in options.checkpoint],
        "untrained": [untrained(graphs, seed) for seed in range(options.untrained)],
        "opcode histogram": [opcode_histogram(graphs)],
    }


def simulate(paths: Sequence[str], gpu: str) -> np.ndarray:
    """Cycles of every launch in a full run on the embedded host."""
    identity = fingerprint((len(paths),), paths).files
    found = predict(paths, np.zeros((0, 3), np.uint64), configuration_of_host(gpu), identity, print)
    return found.counters["cycles"]


def classes_of(scan: ScanTable, by_shape: bool) -> np.ndarray:
    """Class of every launch: name, grid and block, or the kernel's name."""
    keys = [(s.kernel_name, s.grid, s.block) if by_shape else s.kernel_name for s in scan.shapes]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys])[scan.shape_ids]


def launches_of(scan: ScanTable, families: np.ndarray | None) -> Launches:
    """All launches of a scan, simulated in full; with families they are synthesised, and their order means nothing."""
    names = classes_of(scan, by_shape=False)
    return Launches(
        streams=scan.stream_ids,
        names=names,
        shapes=classes_of(scan, by_shape=True) if families is None else names,
        families=names if families is None else families,
        work=np.stack([scan.instructions, scan.ctas, scan.warps, scan.bytes], 1),
        amounts=np.round(np.log2(1 + scan.instructions / np.clip(scan.ctas, 1, SMS))).astype(int),
        cycles={config: simulate(scan.paths, config) for config in CONFIGS},
    )


def part(launches: Launches, chosen: np.ndarray) -> Launches:
    """Some of the launches, with the cycles they took among all."""
    return Launches(
        launches.streams[chosen],
        *(np.unique(c[chosen], return_inverse=True)[1] for c in (launches.names, launches.shapes, launches.families)),
        launches.work[chosen],
        launches.amounts[chosen],
        {config: cycles[chosen] for config, cycles in launches.cycles.items()},
    )


def cell(values: Sequence[float]) -> str:
    """One number, or the mean of several and their range; a dash where nothing was asked."""
    if np.isnan(values).any():
        return "-"
    digits = 3 if max(values) >= 0.1 else 4
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def show(title: str, launches: Launches, compared: dict[str, list[np.ndarray]]) -> None:
    """The table of some launches, in Markdown."""
    streams, classes = len(np.unique(launches.streams)), len(np.unique(launches.shapes))
    kernels = len(np.unique(launches.names))
    print(
        f"\n### {title}\n{len(launches.streams):,} launches, {streams} streams, {kernels} kernels, {classes} classes\n"
    )
    heads: list[str] = []
    for name, repetitions in compared.items():
        found = [measure(run_features(one[launches.streams], launches.work), launches) for one in repetitions]
        if found and not heads:
            heads = list(found[0])
            print("| encoder | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 1))
        if found:
            cells = (cell([one[head] for one in found]) for head in heads)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def compare_real(options: argparse.Namespace) -> None:
    """Tables of the real list."""
    scan = scan_launches(launch_paths(options.real)[: options.launches])
    launches, compared = launches_of(scan, None), embeddings(scan, options)
    show("Real, all kernels", launches, compared)
    if options.unseen:
        names = set(scan_launches(launch_paths(options.unseen)).kernel_names)
        unseen = np.array([scan.kernel_names[k] in names for k in scan.kernel_ids])
        show("Real, kernels unseen in training", part(launches, np.flatnonzero(unseen)), compared)


def compare_synthesised(options: argparse.Namespace) -> None:
    """Tables of the synthesised families."""
    folders = sorted(folder for folder in options.synth.iterdir() if folder.is_dir())
    lists = [launch_paths(str(folder / "kernelslist.g")) for folder in folders]
    families = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    scan = scan_launches([path for one in lists for path in one])
    launches, compared = launches_of(scan, families), embeddings(scan, options)
    show("Synthesised, all", launches, compared)
    held = np.isin(np.array([folder.name for folder in folders])[families], options.held_out)
    if held.any():
        show("Synthesised, families unseen in training", part(launches, np.flatnonzero(held)), compared)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", help="a trace list")
    parser.add_argument("--unseen", help="the list that training excluded: only its kernel names are looked at")
    parser.add_argument("--synth", type=Path, help="a folder of folders of synthesised traces")
    parser.add_argument("--held-out", nargs="+", default=[], help="families that training did not have")
    parser.add_argument("--checkpoint", nargs="+", default=["builtin"])
    parser.add_argument("--untrained", type=int, default=3, help="untrained encoders, with seeds 0, 1, ...")
    parser.add_argument("--launches", type=int, default=8000, help="of the real list, from its start")
    parser.add_argument("--max-nodes", type=int, default=20000)
    options = parser.parse_args()
    if options.real:
        compare_real(options)
    if options.synth:
        compare_synthesised(options)


if __name__ == "__main__":
    main()
