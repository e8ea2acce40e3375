"""Observations of launches by the fast model on several GPUs: targets of an encoder's training beside the contrastive loss."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint import _native
from kernelpoint.fast_model import Configuration, shipped
from kernelpoint.fast_model.configuration import SHIPPED
from kernelpoint.progress import Progress

if TYPE_CHECKING:
    from kernelpoint_lab.training.data import TrainingData

BASE = "v100"
# Factors on keys of the base configuration; a launch's response to each is a target.
VARIANTS: Mapping[str, Mapping[str, float]] = {
    "half the L2": {"l2_size": 0.5},
    "twice the memory latency": {"l1_latency": 2, "l2_latency": 2, "dram_latency": 2},
    "a quarter of the SMs": {"sms": 0.25},
}
STALLS = ("memory_stalls", "dependence_stalls", "barrier_stalls", "unit_stalls")
# Columns of `observed`; of each variant the differences from the base.
OBSERVED = ("IPC", *STALLS, "L1 hit rate", "L2 hit rate", "DRAM sectors", "cycles beyond latency")
WEIGHT = 0.75  # of all observations of the base GPU together, and of all responses; cycles have 1


@dataclass(frozen=True)
class Observations:
    """Launches observed, one row each.

    Attributes:
        rows: int64 [n], numbers of their graphs among those trained on.
        names: int64 [n], numbers of their kernels' names.
        families: int64 [n], equal where kernels do the same, whatever their names; -1 where that is not known.
        work: float32 [n, w], log2 of what a graph does not hold, its launch's instructions, CTAs, warps, bytes.
        targets: float32 [n, t], means 0: log2 of the cycles, OBSERVED, then for every variant how much these differ from the
            base. The standard deviations of OBSERVED add up to `WEIGHT`, those of the differences too.
    """

    rows: np.ndarray
    names: np.ndarray
    families: np.ndarray
    work: np.ndarray
    targets: np.ndarray

    def of(self, graphs: Collection[int]) -> Observations:
        """Those of some graphs."""
        kept = np.isin(self.rows, list(graphs))
        return Observations(*(getattr(self, field.name)[kept] for field in fields(self)))


def variant(factors: Mapping[str, float]) -> Configuration:
    """The base configuration with some of its keys multiplied.

    >>> variant({"sms": 0.25}).values["sms"]
    20
    """
    values = shipped(BASE).values
    changed = {key: int(value * factors.get(key, 1)) for key, value in values.items() if key != "name"}
    text = "\n".join([f"name: {BASE}", *(f"{key}: {value}" for key, value in changed.items())])
    return _native.fast_model.derive([(f"variant of {BASE}", text)], str(SHIPPED / f"{BASE}.yaml"))


def observe(
    data: TrainingData, families: Mapping[int, int], progress: Progress = lambda done, total: None
) -> Observations:
    """Runs the fast model on each launch alone, with empty caches, on the base GPU and on every variant of it.

    Args:
        data: that an encoder is trained on.
        families: numbers of the graphs whose launches are observed, each with that of its family, or -1.
        progress: called with (launches observed, launches).
    """
    configurations = [shipped(BASE), *(variant(factors) for factors in VARIANTS.values())]
    rows = np.array(list(families), np.int64)
    cycles, found = np.zeros(len(rows)), np.zeros((len(rows), len(configurations), len(OBSERVED)))
    for number, row in enumerate(rows):
        runs = [_native.fast_model.alone(data.paths[row], configuration) for configuration in configurations]
        cycles[number] = np.log2(runs[0]["cycles"])
        found[number] = [observed(run, c.values) for run, c in zip(runs, configurations, strict=True)]
        progress(number + 1, len(rows))
    base, responses = found[:, 0], (found[:, 1:] - found[:, :1]).reshape(len(rows), -1)
    targets = np.column_stack([cycles - cycles.mean(), _standardised(base), _standardised(responses)])
    return Observations(
        rows=rows,
        names=np.unique([data.names[row] for row in rows], return_inverse=True)[1].astype(np.int64),
        families=np.array(list(families.values()), np.int64),
        work=np.log2(1 + data.work[rows]).astype(np.float32),
        targets=targets.astype(np.float32),
    )


def observed(run: Mapping[str, int], gpu: Mapping[str, int]) -> list[float]:
    """OBSERVED of one launch on one GPU: warp instructions per cycle and cycles beyond the launch's latency relative to the
    instructions of an SM, both in log2; stalls as shares of the cycles in which schedulers have warps; DRAM sectors per
    100 instructions as log2(1 + x).

    Args:
        run: of `_native.fast_model.alone`.
        gpu: values of its configuration.
    """
    instructions = max(run["instructions"], 1)
    beyond = max(run["cycles"] - gpu["launch_latency"], 1)
    busy = max(run["warp_instructions"] + sum(run[name] for name in STALLS), 1)
    found = [
        np.log2(max(run["warp_instructions"], 1) / run["cycles"]),
        *(run[name] / busy for name in STALLS),
        1 - run["l1_misses"] / max(run["l1_accesses"], 1),
        1 - run["l2_misses"] / max(run["l2_accesses"], 1),
        np.log2(1 + 100 * (run["dram_reads"] + run["dram_writes"]) / instructions),
        np.log2(beyond * min(max(run["ctas"], 1), gpu["sms"]) / instructions),
    ]
    return [float(value) for value in found]


def _standardised(values: np.ndarray) -> np.ndarray:
    """Columns with a mean of 0, and standard deviations that are equal and add up to `WEIGHT`; constants are 0."""
    spread = values.std(0)
    varies = spread > 1e-9
    return WEIGHT / max(varies.sum(), 1) * np.where(varies, (values - values.mean(0)) / np.where(varies, spread, 1), 0)
