"""Observations of launches by the fast model on several GPUs: what the input readout is fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native
from kernelpoint.fast_model import Configuration, shipped
from kernelpoint.fast_model.configuration import SHIPPED

Progress = Callable[[int, int], None]
BASE = "v100"
# Factors on keys of the base configuration; a launch's response to each is a target.
VARIANTS: Mapping[str, Mapping[str, float]] = {
    "half the L2": {"l2_size": 0.5},
    "twice the memory latency": {"l1_latency": 2, "l2_latency": 2, "dram_latency": 2},
    "a quarter of the SMs": {"sms": 0.25},
}
OBSERVED = ("cycles", "L1 hit rate", "L2 hit rate", "DRAM sectors")
WEIGHT = 0.5  # of everything but cycles


@dataclass(frozen=True)
class Observations:
    """Launches observed, one row each.

    Attributes:
        work: float32 [n, w], log2 of what a graph does not hold, its launch's instructions, CTAs, warps, bytes.
        targets: float32 [n, t], means 0; columns OBSERVED, then one per variant. Cycles in log2, the others with a standard
            deviation of `WEIGHT`.
    """

    work: np.ndarray
    targets: np.ndarray


def variant(factors: Mapping[str, float]) -> Configuration:
    """The base configuration with some of its keys multiplied.

    >>> variant({"sms": 0.25}).values["sms"]
    20
    """
    values = shipped(BASE).values
    changed = {key: int(value * factors.get(key, 1)) for key, value in values.items() if key != "name"}
    text = "\n".join([f"name: {BASE}", *(f"{key}: {value}" for key, value in changed.items())])
    return _native.fast_model.derive([(f"variant of {BASE}", text)], str(SHIPPED / f"{BASE}.yaml"))


def observe(paths: Sequence[str], work: np.ndarray, progress: Progress = lambda done, total: None) -> Observations:
    """Runs the fast model on each launch alone, with empty caches, on the base GPU and on every variant of it.

    Model: the response to more latency, less L2 and fewer SMs stands for shares of stall cycles, which the fast model does
    not count; it is log2 of the ratio of cycles beyond the latency of a launch.

    Args:
        paths: one launch's trace per graph.
        work: [n, w], positive.
        progress: called with (launches observed, launches).
    """
    configurations = [shipped(BASE), *(variant(factors) for factors in VARIANTS.values())]
    rows = []
    for done, path in enumerate(paths):
        runs = [_alone(path, configuration) for configuration in configurations]
        rows.append(_observed(runs, configurations[0].values))
        progress(done + 1, len(paths))
    cycles = np.array([row[0] for row in rows])
    targets = _standardised(np.array(rows)) * WEIGHT
    targets[:, 0] = cycles - cycles.mean()
    return Observations(np.log2(1 + work).astype(np.float32), targets)


def _alone(path: str, configuration: Configuration) -> dict[str, float]:
    effort, no_copies = _native.fast_model.Effort(1), np.zeros((0, 3), np.uint64)
    columns = _native.fast_model.run([path], no_copies, configuration, effort, lambda done, share: None)[0]
    return {name: float(values[0]) for name, values in columns.items()}


def _observed(runs: Sequence[Mapping[str, float]], gpu: Mapping[str, float]) -> list[float]:
    base = runs[0]
    beyond = [max(run["cycles"] - gpu["launch_latency"], 1) for run in runs]
    instructions = max(base["instructions"], 1)
    row = [
        np.log2(base["cycles"]),
        1 - base["l1_misses"] / max(base["l1_accesses"], 1),
        1 - base["l2_misses"] / max(base["l2_accesses"], 1),
        np.log2(1 + 100 * (base["dram_reads"] + base["dram_writes"]) / instructions),
    ]
    return [*map(float, row), *(float(np.log2(value / beyond[0])) for value in beyond[1:])]


def _standardised(values: np.ndarray) -> np.ndarray:
    spread = values.std(0)
    return ((values - values.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
