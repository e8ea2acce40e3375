"""Populations with known totals: real profiles, one simulated workload, and synthetic ones with named difficulties."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kernelpoint.randomness import generator

PROFILES = (
    "h100_owlv2",
    "v100_df_index",
    "v100_resnet50",
    "rtx2080ti_resnet",
    "a100_control",
    "a100_nccl",
    "a100_negative_queue",
    "b200_eager",
)
SYNTHETIC = ("drift", "late_change", "outliers", "bimodal", "tiny_and_huge", "mixed", "violates")
TUNING = (
    "h100_owlv2",
    "v100_df_index",
    "a100_negative_queue",
    "late_change",
    "mixed",
)  # parameters were chosen on these


@dataclass(frozen=True, eq=False)
class Population:
    """name; y: float64 [N], truth; x: float64 [N], work known beforehand; kernel, signature: int [N] in launch order."""

    name: str
    y: np.ndarray
    x: np.ndarray
    kernel: np.ndarray
    signature: np.ndarray

    @property
    def context(self) -> tuple[np.ndarray, np.ndarray]:
        """Signatures of the launch before and of the launch after; -1 beyond the ends."""
        edge = np.array([-1])
        return np.concatenate((edge, self.signature[:-1])), np.concatenate((self.signature[1:], edge))


def shared_data() -> Path | None:
    """The folder with the real data, if there is one."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("KERNELPOINT_SHARED_DATA", default))
    return folder if (folder / "profiles").is_dir() else None


def _labels(values: list) -> np.ndarray:
    numbers: dict = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _volume(shape: str) -> float:
    return float(np.prod([int(side) for side in shape.split("x")]))


def profile(name: str) -> Population:
    """A real GPU profile without NCCL kernels: y is the duration, x the number of threads."""
    with gzip.open(shared_data() / "profiles" / f"{name}.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if "nccl" not in row["name"].lower()]
    signature = _labels([(r["name"], r["grid"], r["block"], r["regs"], r["smem"]) for r in rows])
    x = np.array([_volume(r["grid"]) * _volume(r["block"]) for r in rows])
    y = np.array([float(r["dur_us"]) for r in rows])
    return Population(name, y, x, _labels([r["name"] for r in rows]), signature)


def simpletorch() -> Population:
    """A full Accel-Sim run: y is simulated cycles, x the instructions; signature = kernel and instructions."""
    with gzip.open(shared_data() / "ground_truth" / "simpletorch_accelsim_qv100.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    x = np.array([float(r["instructions"]) for r in rows])
    y = np.array([float(r["cycles"]) for r in rows])
    kernels = _labels([r["kernel_name"] for r in rows])
    return Population("simpletorch", y, x, kernels, _labels([(r["kernel_name"], r["instructions"]) for r in rows]))


def _program(random: np.random.Generator, launches: int, kernels: int, body: int) -> np.ndarray:
    """A launch sequence as programs make it: one loop body of `body` launches over `kernels` signatures, repeated."""
    loop = random.integers(0, kernels, body)
    loop[:kernels] = np.arange(kernels)
    return np.tile(loop, launches // body + 1)[:launches]


def synthetic(name: str) -> Population:
    """Synthetic populations, each always the same."""
    random = generator(0, "coverage population " + name)
    N = 6000
    signature = _program(random, N, 20, 60)
    base = random.lognormal(3.0, 1.0, 400)
    work = 100.0 * base
    noise = random.lognormal(0.0, 0.02, N)
    place = np.arange(N) / N
    if name == "drift":
        noise = noise * (1.0 + place)
    elif name == "late_change":
        noise = noise * np.where(place > 0.9, 1.6, 1.0)
    elif name == "outliers":
        noise = noise * np.where(random.random(N) < 0.005, 5.0, 1.0)
    elif name == "bimodal":
        noise = noise * np.where(random.random(N) < 0.5, 1.0, 3.0)
    elif name == "tiny_and_huge":
        signature = np.concatenate((np.repeat(np.arange(3), 1900), np.arange(300) // 2 + 3))
        random.shuffle(signature)
    elif name == "mixed":
        signature = _program(random, N, 80, 300)
        spread = random.lognormal(-3.5, 1.0, 400)
        noise = np.exp(spread[signature] * random.standard_normal(N))
        noise *= 1.0 + 0.1 * np.sin(np.roll(signature, 1) * 1.7)  # the launch before matters
    elif name == "violates":
        noise = noise * np.where((signature == 3) & (random.random(N) < 0.01), 200.0, 1.0)
    else:
        raise ValueError(name)
    return Population(name, base[signature] * noise, work[signature], signature % 7, signature)


@lru_cache(maxsize=64)
def population(name: str) -> Population:
    """A population by name."""
    if name == "simpletorch":
        return simpletorch()
    return synthetic(name) if name in SYNTHETIC else profile(name)
