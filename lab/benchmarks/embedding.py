"""Measures how well embeddings tell a launch's cycles beyond its work, beside simpler features: where no fast model predicts.

    python lab/benchmarks/embedding.py NAME=LIST ... [--gpus v100 rtx FILE] [--checkpoint FILE ...] [--seeds 10]

Features of a content: nothing but work (instructions, CTAs, warps a CTA, bytes); the kernel's name; shares of instructions by
unit; shares of opcodes; embeddings of checkpoints; of an untrained network; numbers by chance, which are equal for equal
contents only. All are joined by work. The truth is a full run of the embedded host under each GPU.

few draws   a ridge regression of log(cycles beyond latency / work of an SM) is fitted on 20, 60 and 200 launches drawn at
            random, and predicts every launch. Shown: draws at which the difference estimator with these predictions has a
            half-width of 1 % at 95 %, the root of the mean square over seeds.
unseen      the same regression predicts contents of a kernel that it was not fitted on: from the other kernels of the list, and
            from the other lists, under the first GPU and judged under each, less the mean error of the list. Shown: root of the
            mean square of the error of log cycles beyond latency, weighted by cycles; `3nn`: the mean of the three nearest.
cells       draws of the policy `kernelpoint` without predictions, and share of runs whose interval holds the total, where its
            coarsest cells are clusters of the features, by the threshold of the policy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from kernelpoint.config import parse_config
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import Engine, ErrorBudget, passes
from kernelpoint.fast_model import predict
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.graphs import DEFAULT_MAX_NODES, SCHEMA, build_graph
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.randomness import generator
from kernelpoint.traces import ScanTable, launch_paths, scan_launches
from kernelpoint.workload import Population, fingerprint
from kernelpoint_lab.training.model import TraceEncoder
from kernelpoint_lab.training.writing import write_checkpoint

DRAWS = (20, 60, 200)
WORK = 4  # columns of work
PENALTIES = np.logspace(-1, 3, 9)  # of the ridge; the one with the least error of leaving one out is taken
FARTHEST = 1.0  # Numerics: predictions of log cycles stay this near the values that were fitted


@dataclass(frozen=True, eq=False)
class Program:
    """A list, its features by name, float64 [contents, width], and the cycles of its launches beyond latency, by GPU."""

    scan: ScanTable
    features: Mapping[str, np.ndarray]
    beyond: Mapping[str, np.ndarray]
    latency: Mapping[str, float]
    sms: Mapping[str, float]

    @cached_property
    def kernel(self) -> np.ndarray:
        """int64 [contents]: kernel of each."""
        return self.scan.kernel_ids[self.scan.first_launches()]

    def joined(self, feature: str) -> np.ndarray:
        """float64 [contents, WORK + width]: log of the work, then the feature."""
        scan, first = self.scan, self.scan.first_launches()
        work = np.stack([scan.instructions, scan.ctas, scan.warps / np.maximum(scan.ctas, 1), scan.bytes], axis=1)
        return np.concatenate([np.log1p(work[first]), self.features[feature]], axis=1)

    def per_sm(self, gpu: str) -> np.ndarray:
        """float64 [N]: instructions of one SM."""
        return np.maximum(self.scan.instructions / np.clip(self.scan.ctas, 1, self.sms[gpu]), 1.0)

    def log_cost(self, gpu: str) -> np.ndarray:
        """float64 [N]: log of the cycles beyond latency over the instructions of an SM."""
        return np.log(self.beyond[gpu] / self.per_sm(gpu))

    def mean_by_content(self, values: np.ndarray) -> np.ndarray:
        """float64 [contents]: means of values of launches."""
        return np.bincount(self.scan.stream_ids, values) / np.bincount(self.scan.stream_ids)


def untrained(folder: Path) -> Path:
    """A checkpoint with the weights before the first step."""
    torch.manual_seed(0)
    weights = {name: value.numpy() for name, value in TraceEncoder().state_dict().items()}
    write_checkpoint(folder / "untrained.safetensors", weights, {"num_bases": 4, "dropout": 0.1}, {})
    return folder / "untrained.safetensors"


def opcode_shares(scan: ScanTable) -> np.ndarray:
    """float64 [contents, opcodes]: share of each opcode among executed instructions."""
    result = np.zeros((len(scan.streams), len(SCHEMA.opcodes) + 1))
    for row, launch in enumerate(scan.first_launches()):
        graph = build_graph(scan.paths[launch], DEFAULT_MAX_NODES)
        weights = np.repeat(graph.warp_weights, np.diff(graph.warp_starts))
        instruction = graph.kinds == SCHEMA.node_kinds.index("instruction")
        np.add.at(result[row], graph.tokens[instruction, 0], weights[instruction])
    return result / result.sum(1, keepdims=True)


def program(traces: str, gpus: list[str], checkpoints: Mapping[str, Path | str]) -> Program:
    """A list with all that is compared."""
    paths = launch_paths(traces)
    scan, configurations = scan_launches(paths), {gpu: configuration_of_host(gpu) for gpu in gpus}
    units = scan.by_unit[scan.first_launches()].astype(float)
    names = np.eye(len(scan.kernel_names))[scan.kernel_ids[scan.first_launches()]]
    features = {
        "work alone": np.zeros((len(units), 0)),
        "by chance": generator(0, "features by chance").normal(size=(len(units), 256)),
        "name": names,
        "units": units / np.maximum(units.sum(1, keepdims=True), 1),
        "opcodes": opcode_shares(scan),
        **{name: embed_streams(scan, checkpoint=path).astype(float) for name, path in checkpoints.items()},
    }
    identity = fingerprint((len(paths),), paths).files
    beyond, latency = {}, {gpu: float(one.values["launch_latency"]) for gpu, one in configurations.items()}
    for gpu, configuration in configurations.items():
        cycles = predict(paths, np.zeros((0, 3), np.uint64), configuration, identity, print).counters["cycles"]
        beyond[gpu] = np.maximum(cycles - latency[gpu], 1.0)
    return Program(scan, features, beyond, latency, {gpu: float(c.values["sms"]) for gpu, c in configurations.items()})


def scaled(rows: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and spread 1 in `like`; the columns behind those of work have the variance of those, together."""
    spread = like.std(0)
    weight = np.ones(rows.shape[1])
    weight[WORK:] = np.sqrt(WORK / max(rows.shape[1] - WORK, 1))
    return (rows - like.mean(0)) / np.where(spread > 1e-9, spread, 1.0) * weight


def ridge(rows: np.ndarray, values: np.ndarray, weights: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Predictions for the rows asked."""
    from sklearn.linear_model import RidgeCV

    fit = RidgeCV(PENALTIES).fit(scaled(rows, rows), values, weights)
    return np.clip(fit.predict(scaled(asked, rows)), values.min() - FARTHEST, values.max() + FARTHEST)


def nearest(rows: np.ndarray, values: np.ndarray, weights: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Means of the three nearest rows; weights are not used."""
    from sklearn.neighbors import KNeighborsRegressor

    fit = KNeighborsRegressor(min(3, len(rows))).fit(scaled(rows, rows), values)
    return np.asarray(fit.predict(scaled(asked, rows)))


def draws_needed(residuals: np.ndarray, cycles: np.ndarray) -> float:
    """Draws at which a mean of residuals has a half-width of 1 % of the total at 95 %, without the finite population."""
    return float((1.96 / 0.01 * residuals.std() / cycles.mean()) ** 2)


def few_draws(one: Program, feature: str, gpu: str, count: int, seed: int) -> float:
    """Draws needed once a regression was fitted on as many launches; at most a third of them."""
    content, values, rows = one.scan.stream_ids, one.log_cost(gpu), one.joined(feature)
    size = min(count, len(content) // 3)
    drawn = generator(seed, "launches to fit on", count).choice(len(content), size, replace=False)
    fitted, place = np.unique(content[drawn], return_inverse=True)
    weights = np.bincount(place).astype(float)
    predicted = ridge(rows[fitted], np.bincount(place, values[drawn]) / weights, weights, rows)
    residuals = one.beyond[gpu] - one.per_sm(gpu) * np.exp(predicted[content])
    return draws_needed(residuals, one.beyond[gpu] + one.latency[gpu])


Regression = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def error_of(one: Program, gpu: str, predicted: np.ndarray) -> float:
    """Root of the mean square error of log cycles, weighted by cycles, less the mean error."""
    cycles = np.bincount(one.scan.stream_ids, one.beyond[gpu])
    error = predicted - one.mean_by_content(one.log_cost(gpu))
    return float(np.sqrt(np.average((error - np.average(error, weights=cycles)) ** 2, weights=cycles)))


def unseen_kernels(one: Program, feature: str, gpu: str, regression: Regression) -> float:
    """Error of contents of each kernel, predicted from the other kernels of the list; nan where there is one kernel."""
    rows, values, predicted = one.joined(feature), one.mean_by_content(one.log_cost(gpu)), np.zeros(len(one.kernel))
    if len(np.unique(one.kernel)) < 2:
        return float("nan")
    for kernel in np.unique(one.kernel):
        held = one.kernel == kernel
        predicted[held] = regression(rows[~held], values[~held], np.ones((~held).sum()), rows[held])
    return error_of(one, gpu, predicted)


def unseen_lists(one: Program, others: list[Program], feature: str, gpu: str, judge: str) -> float:
    """Error of contents predicted from other lists under one GPU and judged under another."""
    rows = np.concatenate([other.joined(feature) for other in others])
    values = np.concatenate([other.mean_by_content(other.log_cost(gpu)) for other in others])
    return error_of(one, judge, ridge(rows, values, np.ones(len(rows)), one.joined(feature)))


def clustered(one: Program, feature: str) -> np.ndarray:
    """Rows that the policy clusters in place of embeddings: the feature; groups by chance; all in one where there is none."""
    rows = one.features[feature]
    if feature == "by chance":
        count = len(np.unique(one.kernel))
        return np.eye(count)[generator(0, "clusters by chance").integers(0, count, len(rows))]
    return rows if rows.shape[1] else np.ones((len(rows), 1))


def cells(one: Program, feature: str, gpu: str, budget: float, seeds: int) -> tuple[float, float]:
    """Mean draws of the policy, and share of runs that are right."""
    rows, cycles, found = clustered(one, feature), one.beyond[gpu] + one.latency[gpu], []
    for seed in range(seeds):
        keys = {"fast_model": "off", "seed": seed, "error_budget": {"relative_error": budget}}
        policy = KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", **keys}))
        people = Population((len(one.scan),), seed, scan=one.scan, embeddings=rows)
        engine = Engine(policy.design(people), ErrorBudget(budget), "regression")
        *_, look = passes(engine, ("cycles",), cycles[:, None])
        found.append((len(engine.drawn()), look.estimates["cycles"].contains(float(cycles.sum()))))
    draws, right = np.mean(found, axis=0)
    return float(draws), float(right)


def tables(programs: Mapping[str, Program], gpus: list[str], seeds: int) -> Iterator[str]:
    """Lines of the three tables in Markdown."""
    features = list(next(iter(programs.values())).features)
    yield "\n| List | GPU | Features | " + " | ".join(f"{n} draws" for n in DRAWS) + " |\n|" + "---|" * (3 + len(DRAWS))
    for (name, one), gpu in ((item, gpu) for item in programs.items() for gpu in gpus):
        for feature in features:
            needed = [np.sqrt(np.mean([few_draws(one, feature, gpu, n, s) ** 2 for s in range(seeds)])) for n in DRAWS]
            yield (
                f"| {name} | {Path(gpu).parent.name or gpu} | {feature} | "
                + " | ".join(f"{n:,.0f}" for n in needed)
                + " |"
            )
    judges = [Path(gpu).parent.name or gpu for gpu in gpus]
    yield (
        "\n| List | Features | other kernels | other kernels, 3nn | "
        + " | ".join(f"other lists, {judge}" for judge in judges)
        + " |\n|"
        + "---|" * (4 + len(gpus))
    )
    for name, one in programs.items():
        others = [other for other in programs.values() if other is not one]
        for feature in features:
            found = [unseen_kernels(one, feature, gpus[0], regression) for regression in (ridge, nearest)]
            if others and feature != "name":  # names differ between lists
                found += [unseen_lists(one, others, feature, gpus[0], judge) for judge in gpus]
            yield f"| {name} | {feature} | " + " | ".join(f"{value:.2f}" for value in found) + " |"
    yield "\n| List | Coarsest cells | draws, 5 % | right | draws, 1 % | right |\n|---|---|---|---|---|---|"
    for name, one in programs.items():
        for feature in features:
            found = [value for budget in (0.05, 0.01) for value in cells(one, feature, gpus[0], budget, seeds)]
            yield f"| {name} | {feature} | " + " | ".join(f"{value:.2f}" for value in found) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+", help="NAME=LIST: trace lists, or folders of traces")
    parser.add_argument("--gpus", nargs="+", default=["v100", "rtx"], help="names, or files, of the embedded host")
    parser.add_argument("--checkpoint", nargs="+", default=["builtin"])
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        checkpoints = {"untrained": untrained(Path(folder)), **{Path(path).stem: path for path in options.checkpoint}}
        named = [one.split("=", 1) for one in options.lists]
        programs = {name: program(traces, options.gpus, checkpoints) for name, traces in named}
    for line in tables(programs, options.gpus, options.seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
