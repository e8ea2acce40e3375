"""Worth of embeddings compared with simpler features, where no fast model predicts: draws at equal coverage.

    python lab/benchmarks/embedding.py NAME=LIST ... [--gpu v100] [--checkpoint FILE ...] [--seeds 5]

Features of a content: nothing; numbers by chance, equal for equal contents only; the kernel's name; shares of instructions by
unit; shares of opcodes; embeddings of an untrained network, and of checkpoints. The truth is a full run of the embedded host.

cells   the policy `kernelpoint` without predictions, whose coarsest cells are clusters of the features: draws of the run, their
        geometric mean over the lists with its 95 % interval over seeds, and the share of runs whose interval contains the total
gcl     the policy `gcl`, which clusters the features: launches simulated, error of the total
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from scipy.stats import t as student

from kernelpoint.config import parse_config
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import Engine, ErrorBudget, passes
from kernelpoint.fast_model import predict
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.graphs import DEFAULT_MAX_NODES, SCHEMA, build_graph
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.program import Program as Launches
from kernelpoint.randomness import generator
from kernelpoint.traces import read_trace_list, scan_launches
from kernelpoint_lab.training.model import TraceEncoder
from kernelpoint_lab.training.writing import write_checkpoint


@dataclass(frozen=True, eq=False)
class Program:
    """Trace list of a benchmark: features of its distinct trace contents, float64 [contents, width], by name, and the cycles of
    its N launches, float64 [N].
    """

    scan: Launches
    features: Mapping[str, np.ndarray]
    cycles: np.ndarray

    @cached_property
    def kernel(self) -> np.ndarray:
        """Number of the kernel of each distinct trace content, int64 [contents]."""
        return self.scan.names.numbers[self.scan.first_launches]


@dataclass(frozen=True)
class Outcome:
    """Result of a sampled run: number of sampled launches, and whether its interval contains the total. For the policy `gcl`,
    which states no interval, the error of the total.
    """

    draws: int
    right: float


def untrained(folder: Path) -> Path:
    """Write a checkpoint of the encoder with its random initial weights."""
    torch.manual_seed(0)
    weights = {name: value.numpy() for name, value in TraceEncoder().state_dict().items()}
    write_checkpoint(folder / "untrained.safetensors", weights, {"num_bases": 4, "dropout": 0.1}, {})
    return folder / "untrained.safetensors"


def opcode_shares(scan: Launches) -> np.ndarray:
    """Share of each opcode among the executed instructions of each distinct trace content, float64 [contents, opcodes]."""
    result = np.zeros((len(scan.first_launches), len(SCHEMA.opcodes) + 1))
    for row, launch in enumerate(scan.first_launches):
        graph = build_graph(scan.traces[launch], DEFAULT_MAX_NODES)
        weights = np.repeat(graph.warp_weights, np.diff(graph.warp_starts))
        instruction = graph.kinds == SCHEMA.node_kinds.index("instruction")
        np.add.at(result[row], graph.tokens[instruction, 0], weights[instruction])
    return result / result.sum(1, keepdims=True)


def program(traces: str, gpu: str, checkpoints: Mapping[str, Path | str]) -> Program:
    """Read a trace list: its launches, each feature of their traces, and their true cycles."""
    scan = scan_launches(read_trace_list(traces).traces)
    units = scan.read.records["by_unit"][scan.read.of_streams].astype(float)
    features = {
        "nothing": np.ones((len(units), 1)),
        "by chance": generator(0, "features by chance").normal(size=(len(units), 256)),
        "kernel names": np.eye(len(scan.names.distinct))[scan.names.numbers[scan.first_launches]],
        "units": units / np.maximum(units.sum(1, keepdims=True), 1),
        "opcodes": opcode_shares(scan),
        **{name: embed_streams(scan.read, checkpoint=path).astype(float) for name, path in checkpoints.items()},
    }
    return Program(scan, features, predict(scan, configuration_of_host(gpu), print).predictions["cycles"])


def clustered(workload: Program, feature: str) -> np.ndarray:
    """Rows that a policy clusters in place of embeddings: the values of the named feature, or random groups, as many as there
    are kernels.
    """
    rows = workload.features[feature]
    if feature != "by chance":
        return rows
    count = len(np.unique(workload.kernel))
    return np.eye(count)[generator(0, "clusters by chance").integers(0, count, len(rows))]


def cells(workload: Program, feature: str, budget: float, seed: int) -> Outcome:
    """Make a sampled run with the policy `kernelpoint`, without predictions."""
    keys = {"fast_model": "off", "seed": seed, "error_budget": {"relative_error": budget}}
    policy = KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", **keys}))
    people = replace(workload.scan, seed=seed, embeddings=clustered(workload, feature))
    engine = Engine(policy.design(people), ErrorBudget(budget), "regression")
    *_, look = passes(engine, ("cycles",), workload.cycles[:, None])
    return Outcome(len(engine.drawn()), float(look.estimates["cycles"].contains(float(workload.cycles.sum()))))


def gcl(workload: Program, feature: str, budget: float, seed: int) -> Outcome:
    """Make a sampled run with the policy `gcl`, which states no bound; the result has the error of the total."""
    policy = Gcl(parse_config({"version": 1, "policy": "gcl", "seed": seed}))
    people = replace(workload.scan, seed=seed, embeddings=clustered(workload, feature))
    engine = Engine(policy.design(people), ErrorBudget(budget, bound="none"), "mean")
    *_, look = passes(engine, ("cycles",), workload.cycles[:, None])
    return Outcome(len(engine.drawn()), abs(look.estimates["cycles"].estimate / workload.cycles.sum() - 1.0))


Run = Callable[[Program, str, float, int], Outcome]  # list, feature, budget, seed


def rows_of(title: str, programs: Mapping[str, Program], run: Run, budget: float, seeds: int, shows: str) -> Iterator[str]:
    """Markdown lines of one table: a row for each feature, a column for each list."""
    yield (f"\n| {title} | " + " | ".join(programs) + f" | geometric mean (95 %) | {shows} |\n|" + "---|" * (len(programs) + 3))
    for feature in next(iter(programs.values())).features:
        runs = [[run(workload, feature, budget, seed) for seed in range(seeds)] for workload in programs.values()]
        draws = np.array([[o.draws for o in of_list] for of_list in runs], float)
        logs = np.log(draws).mean(0)
        half = float(student.ppf(0.975, seeds - 1) * logs.std(ddof=1) / math.sqrt(seeds)) if seeds > 1 else math.nan
        means = " | ".join(f"{mean:,.0f}" for mean in draws.mean(1))
        middle, low, high = (math.exp(logs.mean() + k * half) for k in (0, -1, 1))
        right = 100 * np.mean([o.right for of_list in runs for o in of_list])
        yield f"| {feature} | {means} | {middle:,.0f} ({low:,.0f} to {high:,.0f}) | {right:.1f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+", help="NAME=LIST: trace lists, or folders of traces")
    parser.add_argument("--gpu", default="v100", help="name, or file, of a GPU of the embedded host")
    parser.add_argument("--checkpoint", nargs="+", default=["builtin"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budgets", nargs="+", type=float, default=[0.05, 0.01])
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        checkpoints = {"untrained": untrained(Path(folder)), **{Path(path).stem: path for path in options.checkpoint}}
        named = [text.split("=", 1) for text in options.lists]
        programs = {name: program(traces, options.gpu, checkpoints) for name, traces in named}
    shown: list[tuple[str, Run, float, str]] = [
        *((f"cells, {100 * budget:g} %", cells, budget, "right") for budget in options.budgets),
        ("gcl", gcl, options.budgets[0], "mean error"),
    ]
    for title, run, budget, column in shown:
        for line in rows_of(title, programs, run, budget, options.seeds, column):
            print(line, flush=True)


if __name__ == "__main__":
    main()
