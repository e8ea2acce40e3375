"""Measures what embeddings are worth where no fast model predicts, beside simpler features: draws at equal coverage.

    python lab/benchmarks/embedding.py NAME=LIST ... [--gpus v100 rtx FILE] [--checkpoint FILE ...] [--seeds 5]

Features of a content: nothing but work (instructions, CTAs, warps a CTA, bytes); numbers by chance, equal for equal contents
only; the kernel's name; shares of instructions by unit; shares of opcodes; embeddings of an untrained network, and of
checkpoints. All are joined by work. The truth is a full run of the embedded host under each GPU. Every table has the draws at
which a run ends: means over seeds, their geometric mean over the lists with its 95 % interval over seeds, and the share of runs
whose interval holds the total.

cells         the policy `kernelpoint` without predictions; its coarsest cells are clusters of the features
learned       a regression of log(cycles beyond latency / work of an SM) is fitted on the first launches of the run, and
              predicts the others, which are sampled as if a fast model had predicted them. The first launches are exact.
other kernels the same regression, fitted on the full run of the other kernels of the list, predicts each kernel
other lists   the same, fitted on the full runs of the other lists under the first GPU, and judged under each GPU
gcl           the policy `gcl`, which clusters the features: launches simulated, error of the total
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
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.fast_model import predict
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.graphs import DEFAULT_MAX_NODES, SCHEMA, build_graph
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.program import Program as Launches
from kernelpoint.randomness import generator
from kernelpoint.traces import launch_paths, scan_launches
from kernelpoint_lab.training.model import TraceEncoder
from kernelpoint_lab.training.writing import write_checkpoint

WORK = 4  # columns of work
MOST_FITTED = 400  # contents that a regression is fitted on, those with most cycles
FARTHEST = 1.0  # Numerics: predictions of log cycles stay this near the values that were fitted
LINEAR = 0.3  # part of the prior variance that is a line's
LENGTHS, NOISES = (1.0, 3.0, 10.0), (1e-4, 1e-2, 1e-1)
LEARNING = 1 / 3  # of a list that may be simulated to learn from
MOST_ERROR = (
    0.08  # relative, that is expected of predictions when learning ends: those off by more than 12 % are doubted
)


@dataclass(frozen=True, eq=False)
class Program:
    """A list, its features by name, float64 [contents, width], and the cycles of its launches beyond latency, by GPU."""

    scan: Launches
    features: Mapping[str, np.ndarray]
    beyond: Mapping[str, np.ndarray]
    latency: Mapping[str, float]
    sms: Mapping[str, float]

    @cached_property
    def kernel(self) -> np.ndarray:
        """int64 [contents]: kernel of each."""
        return self.scan.names.numbers[self.scan.first_launches]

    def joined(self, feature: str) -> np.ndarray:
        """float64 [contents, WORK + width]: log of the work, then the feature."""
        count, first = self.scan.count, self.scan.first_launches
        work = np.stack(
            [count("instructions"), count("ctas"), count("warps") / np.maximum(count("ctas"), 1), count("bytes")],
            axis=1,
        )
        return np.concatenate([np.log1p(work[first]), self.features[feature]], axis=1)

    def cycles(self, gpu: str) -> np.ndarray:
        """float64 [N]: cycles of each launch."""
        return self.beyond[gpu] + self.latency[gpu]

    def per_sm(self, gpu: str) -> np.ndarray:
        """float64 [N]: instructions of one SM."""
        return np.maximum(self.scan.count("instructions") / np.clip(self.scan.count("ctas"), 1, self.sms[gpu]), 1.0)

    def log_cost(self, gpu: str) -> np.ndarray:
        """float64 [contents]: mean log of the cycles beyond latency over the instructions of an SM."""
        return self.mean_by_content(np.log(self.beyond[gpu] / self.per_sm(gpu)))

    def mean_by_content(self, values: np.ndarray) -> np.ndarray:
        """float64 [contents]: means of values of launches."""
        return np.bincount(self.scan.stream_ids, values) / np.bincount(self.scan.stream_ids)


def untrained(folder: Path) -> Path:
    """A checkpoint with the weights before the first step."""
    torch.manual_seed(0)
    weights = {name: value.numpy() for name, value in TraceEncoder().state_dict().items()}
    write_checkpoint(folder / "untrained.safetensors", weights, {"num_bases": 4, "dropout": 0.1}, {})
    return folder / "untrained.safetensors"


def opcode_shares(scan: Launches) -> np.ndarray:
    """float64 [contents, opcodes]: share of each opcode among executed instructions."""
    result = np.zeros((len(scan.first_launches), len(SCHEMA.opcodes) + 1))
    for row, launch in enumerate(scan.first_launches):
        graph = build_graph(scan.traces[launch], DEFAULT_MAX_NODES)
        weights = np.repeat(graph.warp_weights, np.diff(graph.warp_starts))
        instruction = graph.kinds == SCHEMA.node_kinds.index("instruction")
        np.add.at(result[row], graph.tokens[instruction, 0], weights[instruction])
    return result / result.sum(1, keepdims=True)


def program(traces: str, gpus: list[str], checkpoints: Mapping[str, Path | str]) -> Program:
    """A list with all that is compared."""
    paths = launch_paths(traces)
    scan, configurations = scan_launches(paths), {gpu: configuration_of_host(gpu) for gpu in gpus}
    units = scan.read.records["by_unit"][scan.read.of_streams].astype(float)
    features = {
        "work alone": np.zeros((len(units), 0)),
        "by chance": generator(0, "features by chance").normal(size=(len(units), 256)),
        "kernel names": np.eye(len(scan.names.distinct))[scan.names.numbers[scan.first_launches]],
        "units": units / np.maximum(units.sum(1, keepdims=True), 1),
        "opcodes": opcode_shares(scan),
        **{name: embed_streams(scan.read, checkpoint=path).astype(float) for name, path in checkpoints.items()},
    }
    beyond, latency = {}, {gpu: float(one.values["launch_latency"]) for gpu, one in configurations.items()}
    for gpu, configuration in configurations.items():
        cycles = predict(scan, configuration, print).predictions["cycles"]
        beyond[gpu] = np.maximum(cycles - latency[gpu], 1.0)
    return Program(scan, features, beyond, latency, {gpu: float(c.values["sms"]) for gpu, c in configurations.items()})


def scaled(rows: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and spread 1 in `like`; the columns behind those of work have the variance of those, together."""
    spread = like.std(0)
    weight = np.ones(rows.shape[1])
    weight[WORK:] = np.sqrt(WORK / max(rows.shape[1] - WORK, 1))
    return (rows - like.mean(0)) / np.where(spread > 1e-9, spread, 1.0) * weight


class Regression:
    """Gaussian process: a line and an exponential kernel in scaled features (Rasmussen and Williams 2006, chapters 2 and 5).

    Length and noise are those of LENGTHS (times the median distance) and NOISES with the largest likelihood.

    Args:
        rows: float64 [n, width], scaled; values: float64 [n]; counts: float64 [n], launches that each value is a mean of.
    """

    def __init__(self, rows: np.ndarray, values: np.ndarray, counts: np.ndarray) -> None:
        self.rows, self.mean = rows, np.average(values, weights=counts)
        self.limits = values.min() - FARTHEST, values.max() + FARTHEST
        y, distance = values - self.mean, self._distance(rows)
        median = np.median(distance[distance > 0]) if (distance > 0).any() else 1.0
        best = -math.inf
        for length in LENGTHS:
            for noise in NOISES:
                K = self._kernel(rows, length * median) + np.diag(noise / counts)
                inverse = np.linalg.inv(K)
                variance = max(float(y @ inverse @ y) / len(y), 1e-9)  # of the largest likelihood
                likelihood = -0.5 * (len(y) * math.log(variance) + np.linalg.slogdet(K)[1])
                if likelihood > best:
                    best, self.length, self.inverse, self.variance = likelihood, length * median, inverse, variance
        self.weights = self.inverse @ y
        # the spread of the errors of leaving one out, over what the process says of them
        left_out = self.weights**2 / np.diag(self.inverse) / self.variance
        self.variance *= max(1.0, float(left_out.mean()))

    def _distance(self, rows: np.ndarray) -> np.ndarray:
        squares = (rows**2).sum(1)[:, None] + (self.rows**2).sum(1) - 2.0 * rows @ self.rows.T
        return np.sqrt(np.maximum(squares, 0.0))

    def _kernel(self, rows: np.ndarray, length: float) -> np.ndarray:
        return np.exp(-self._distance(rows) / length) + LINEAR * rows @ self.rows.T / rows.shape[1]

    def predict(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, float64 [rows] each."""
        K = self._kernel(rows, self.length)
        prior = 1.0 + LINEAR * (rows**2).sum(1) / rows.shape[1]
        rest = prior - np.einsum("ij,jk,ik->i", K, self.inverse, K, optimize=True)
        return np.clip(self.mean + K @ self.weights, *self.limits), np.sqrt(np.maximum(self.variance * rest, 0.0))


def predicted(rows: np.ndarray, values: np.ndarray, amounts: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Predictions of a regression on the rows of most amount."""
    most = np.argsort(-amounts, kind="stable")[:MOST_FITTED]
    return Regression(scaled(rows[most], rows), values[most], np.ones(len(most))).predict(scaled(asked, rows))[0]


@dataclass(frozen=True)
class Outcome:
    """Draws of a run, and whether its interval holds the total; for `gcl` the error instead."""

    draws: int
    right: float


def outcome(one: Program, gpu: str, design: Design | AssistedDesign, budget: float) -> Outcome:
    """A run with known results."""
    cycles, engine = one.cycles(gpu), Engine(design, ErrorBudget(budget), "regression")
    *_, look = passes(engine, ("cycles",), cycles[:, None])
    return Outcome(len(engine.drawn()), float(look.estimates["cycles"].contains(float(cycles.sum()))))


def assisted(one: Program, gpu: str, log_cost: np.ndarray, u: np.ndarray, exact: np.ndarray) -> AssistedDesign:
    """The design with predictions of log cycles of each content; kernels are the groups, `exact` launches are certain."""
    x = one.per_sm(gpu) * np.exp(log_cost)[one.scan.stream_ids] + one.latency[gpu]
    kernel = np.array(one.scan.names.numbers)
    kernel[exact] = -1
    groups = np.unique(kernel, return_inverse=True)[1].ravel() - int((kernel < 0).any())
    return AssistedDesign({"cycles": x}, groups.astype(np.int32), u, latency=one.latency[gpu])


def clustered(one: Program, feature: str) -> np.ndarray:
    """Rows that a policy clusters in place of embeddings: the feature; groups by chance; all in one where there is none."""
    rows = one.features[feature]
    if feature == "by chance":
        count = len(np.unique(one.kernel))
        return np.eye(count)[generator(0, "clusters by chance").integers(0, count, len(rows))]
    return rows if rows.shape[1] else np.ones((len(rows), 1))


def cells(one: Program, feature: str, gpu: str, budget: float, seed: int) -> Outcome:
    """A run of the policy `kernelpoint` without predictions."""
    keys = {"fast_model": "off", "seed": seed, "error_budget": {"relative_error": budget}}
    policy = KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", **keys}))
    people = replace(one.scan, seed=seed, embeddings=clustered(one, feature))
    return outcome(one, gpu, policy.design(people), budget)


def learned(one: Program, feature: str, gpu: str, budget: float, seed: int) -> Outcome:
    """A run that learns its predictions.

    The first launches are those of a first look at 25 % with work as the prediction. While predictions are expected to err by
    more than MOST_ERROR, or the others to take more draws than there are launches to learn from, a third more are simulated:
    of the contents that have none and of whose cycles the regression knows least, those first. The sample of the others has
    random numbers of its own, so that it is independent of all that was learned.
    """
    random, content, size = generator(seed, "learned"), one.scan.stream_ids, one.scan.size
    u, later, per_sm, latency = random.random(size), random.random(size), one.per_sm(gpu), one.latency[gpu]
    rows, launches = one.joined(feature), np.bincount(content)
    rows, work = scaled(rows, rows), launches * one.mean_by_content(per_sm)
    values = np.log(one.beyond[gpu] / per_sm)
    by_u = np.argsort(u, kind="stable")
    first_of = by_u[np.unique(content[by_u], return_index=True)[1]]  # of each content, the launch of the least u
    drawn = Engine(assisted(one, gpu, np.zeros(len(rows)), u, np.empty(0, int)), ErrorBudget(0.25)).drawn()
    while True:
        fitted, place = np.unique(content[drawn], return_inverse=True)
        counts = np.bincount(place).astype(float)
        mean, spread = Regression(rows[fitted], np.bincount(place, values[drawn]) / counts, counts).predict(rows)
        amount = work * np.exp(mean)
        left = budget * (1.0 + size * latency / amount.sum())  # relative to the cycles beyond latency
        scatter = float((amount * np.maximum(spread, 0.01) ** 2).sum() / amount.sum())
        unknown = amount * spread
        unknown[fitted] = 0.0
        more = np.argsort(-unknown, kind="stable")[: max(len(drawn) // 3, 1)]
        more = first_of[more[unknown[more] > 0.0]]
        learnt = scatter <= min(len(drawn) * (left / 2.2) ** 2, MOST_ERROR**2)
        if learnt or len(drawn) > LEARNING * size or not len(more):
            return outcome(one, gpu, assisted(one, gpu, mean, later, drawn), budget)
        drawn = np.union1d(drawn, more)


def from_other_kernels(one: Program, feature: str, gpu: str) -> np.ndarray:
    """float64 [contents]: log cost of each kernel, from the other kernels of the list."""
    rows, values, result = one.joined(feature), one.log_cost(gpu), np.zeros(len(one.kernel))
    amounts = np.bincount(one.scan.stream_ids, one.beyond[gpu])
    for kernel in np.unique(one.kernel):
        held = one.kernel == kernel
        result[held] = predicted(rows[~held], values[~held], amounts[~held], rows[held])
    return result


def from_other_lists(one: Program, others: list[Program], feature: str, gpu: str) -> np.ndarray:
    """float64 [contents]: log cost from the other lists under a GPU; each list has the same weight."""
    rows, values = (
        np.concatenate(parts) for parts in zip(*((o.joined(feature), o.log_cost(gpu)) for o in others), strict=True)
    )
    amounts = [np.bincount(o.scan.stream_ids, o.beyond[gpu]) for o in others]
    return predicted(rows, values, np.concatenate([a / a.sum() for a in amounts]), one.joined(feature))


def gcl(one: Program, feature: str, gpu: str, budget: float, seed: int) -> Outcome:
    """A run of the policy `gcl`; its error in place of `right`."""
    policy = Gcl(parse_config({"version": 1, "policy": "gcl", "seed": seed}))
    people = replace(one.scan, seed=seed, embeddings=clustered(one, feature))
    cycles, engine = one.cycles(gpu), Engine(policy.design(people), ErrorBudget(budget, bound="none"), "mean")
    *_, look = passes(engine, ("cycles",), cycles[:, None])
    return Outcome(len(engine.drawn()), abs(look.estimates["cycles"].estimate / cycles.sum() - 1.0))


Run = Callable[[Program, str, float, int], Outcome]  # list, feature, budget, seed


def rows_of(
    title: str, programs: Mapping[str, Program], run: Run, budget: float, seeds: int, shows: str
) -> Iterator[str]:
    """Lines of one table."""
    yield (
        f"\n| {title} | "
        + " | ".join(programs)
        + f" | geometric mean (95 %) | {shows} |\n|"
        + "---|" * (len(programs) + 3)
    )
    for feature in next(iter(programs.values())).features:
        runs = [[run(one, feature, budget, seed) for seed in range(seeds)] for one in programs.values()]
        draws = np.array([[o.draws for o in of_list] for of_list in runs], float)
        logs = np.log(draws).mean(0)
        half = float(student.ppf(0.975, seeds - 1) * logs.std(ddof=1) / math.sqrt(seeds)) if seeds > 1 else math.nan
        means = " | ".join(f"{mean:,.0f}" for mean in draws.mean(1))
        middle, low, high = (math.exp(logs.mean() + k * half) for k in (0, -1, 1))
        right = 100 * np.mean([o.right for of_list in runs for o in of_list])
        yield f"| {feature} | {means} | {middle:,.0f} ({low:,.0f} to {high:,.0f}) | {right:.1f} % |"


def tables(programs: Mapping[str, Program], gpus: list[str], seeds: int, budgets: list[float]) -> Iterator[str]:
    """Lines of all tables in Markdown."""
    judges = {gpu: Path(gpu).stem for gpu in gpus}

    def with_predictions(predictions: Callable[[Program, str], np.ndarray], gpu: str) -> Run:
        designs: dict[tuple[int, str], AssistedDesign] = {}

        def run(one: Program, feature: str, budget: float, seed: int) -> Outcome:
            if (key := (id(one), feature)) not in designs:
                log_cost = predictions(one, feature)
                designs[key] = assisted(one, gpu, log_cost, np.zeros(one.scan.size), np.empty(0, int))
            u = generator(seed, "u").random(one.scan.size)
            return outcome(one, gpu, replace(designs[key], u=u), budget)

        return run

    def from_lists(one: Program, feature: str) -> np.ndarray:
        # names differ between lists
        return from_other_lists(
            one,
            [o for o in programs.values() if o is not one],
            "work alone" if feature == "kernel names" else feature,
            gpus[0],
        )

    first = gpus[0]
    runs: dict[str, Run] = {
        "cells": lambda one, feature, budget, seed: cells(one, feature, first, budget, seed),
        "learned": lambda one, feature, budget, seed: learned(one, feature, first, budget, seed),
        "other kernels": with_predictions(lambda one, feature: from_other_kernels(one, feature, first), first),
        **{f"other lists, {judges[gpu]}": with_predictions(from_lists, gpu) for gpu in gpus if len(programs) > 1},
    }
    for budget in budgets:
        for title, run in runs.items():
            yield from rows_of(f"{title}, {100 * budget:g} %", programs, run, budget, seeds, "right")
    yield from rows_of("gcl", programs, lambda o, f, b, s: gcl(o, f, first, b, s), budgets[0], seeds, "mean error")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+", help="NAME=LIST: trace lists, or folders of traces")
    parser.add_argument("--gpus", nargs="+", default=["v100", "rtx"], help="names, or files, of the embedded host")
    parser.add_argument("--checkpoint", nargs="+", default=["builtin"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budgets", nargs="+", type=float, default=[0.05, 0.01])
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        checkpoints = {"untrained": untrained(Path(folder)), **{Path(path).stem: path for path in options.checkpoint}}
        named = [one.split("=", 1) for one in options.lists]
        programs = {name: program(traces, options.gpus, checkpoints) for name, traces in named}
    for line in tables(programs, options.gpus, options.seeds, options.budgets):
        print(line, flush=True)


if __name__ == "__main__":
    main()
