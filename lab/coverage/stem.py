"""STEM (policies/methods/stem.py) planned from predictions of single launches, many seeds at a time."""

from __future__ import annotations

import numpy as np
from runs import FullRun

from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.policies.methods.stem import clusters_of, joint_sizes
from kernelpoint.randomness import generator

CHUNK = 40  # seeds at a time
Leaf = tuple[np.ndarray, int]  # units, number of draws


def plan(times: np.ndarray, kernel: np.ndarray, eps: float, confidence: float) -> list[Leaf]:
    """Clusters and sizes of the policy `stem`, planned from the given times."""
    z_eps = two_sided(1.0 - confidence, np.inf) / eps
    leaves = clusters_of(times, kernel.astype(np.int64), z_eps)
    N, mean, deviation = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("N", "mean", "deviation"))
    sizes = joint_sizes(N, mean, deviation, z_eps).tolist()
    return [(leaf.units, size) for leaf, size in zip(leaves, sizes, strict=True)]


def outcomes(y: np.ndarray, leaves: list[Leaf], seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the plan without replacement and scale up: relative error and share of the total simulated, float64 [seeds]."""
    random, total = generator(seeds, "alternatives stem"), float(y.sum())
    estimate, spent = np.zeros(seeds), np.zeros(seeds)
    for units, m in leaves:
        v, N = y[units], len(units)
        if m >= N:
            estimate += v.sum()
            spent += v.sum()
            continue
        for first in range(0, seeds, CHUNK):
            rows = slice(first, min(first + CHUNK, seeds))
            drawn = v[np.argpartition(random.random((rows.stop - rows.start, N)), m - 1, axis=1)[:, :m]]
            estimate[rows] += N * drawn.mean(axis=1)
            spent[rows] += drawn.sum(axis=1)
    return estimate / total - 1.0, spent / total


def stem(run: FullRun, eps: float, seeds: int) -> str:
    """Share of runs inside the budget and speedup, of a plan from the predictions."""
    y = run.counters["cycles"]
    error, share = outcomes(y, plan(run.predictions["cycles"], run.kernel, eps, 0.95), seeds)
    return f"{(np.abs(error) <= eps).mean():.2f}, {1.0 / share.mean():.1f}x"
