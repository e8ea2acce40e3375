"""STEM+ROOT planned from predictions of single launches, many seeds at a time (Chung et al., MICRO 2025)."""

from __future__ import annotations

import numpy as np
from runs import FullRun

from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.randomness import generator

CHUNK = 40  # seeds at a time
Leaf = tuple[np.ndarray, int]  # units, number of draws


def _halves(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact 2-means in one dimension: masks of the two parts (by sorting and prefix sums)."""
    v = np.sort(y)
    k = np.arange(1, len(v))
    s, q = np.cumsum(v)[:-1], np.cumsum(v * v)[:-1]
    cost = q - s * s / k + (q_all := float((v * v).sum())) - q - (v.sum() - s) ** 2 / (len(v) - k)
    cost = np.where(v[1:] > v[:-1], cost, q_all + 1.0)
    cut = v[int(np.argmin(cost))]
    return y <= cut, y > cut


def _sizes(parts: list[np.ndarray], z_eps: float) -> tuple[list[float], float]:
    """Sizes for clusters together (eq. 6), and the expected time."""
    N, mu, sigma = (np.array([f(p) for p in parts]) for f in (len, np.mean, np.std))
    below = float((N * mu).sum()) ** 2
    if below == 0.0:
        return [1.0] * len(parts), 0.0
    root = np.sqrt(np.maximum(mu, 1e-12))
    m = z_eps**2 * float((N * sigma * root).sum()) / below * N * sigma / root
    m = np.minimum(np.ceil(m), N)
    return m.tolist(), float((m * mu).sum())


def _root(y: np.ndarray, units: np.ndarray, m: float, tau: float, z_eps: float, leaves: list[Leaf]) -> None:
    if len(units) > 1 and tau > 0.0 and y[units].min() < y[units].max():
        parts = [units[mask] for mask in _halves(y[units])]
        sizes, together = _sizes([y[p] for p in parts], z_eps)
        if together <= tau:
            for part, size in zip(parts, sizes, strict=True):
                _root(y, part, size, size * float(y[part].mean()), z_eps, leaves)
            return
    leaves.append((units, max(int(m), 1)))


def plan(times: np.ndarray, kernel: np.ndarray, eps: float, confidence: float) -> list[Leaf]:
    """Leaves of all kernels, planned from the given times.

    A leaf takes at least one draw: the artifact gives leaves without variance none, and their time vanishes.
    """
    z_eps, leaves = two_sided(1.0 - confidence, np.inf) / eps, []
    for k in np.unique(kernel):
        units = np.flatnonzero(kernel == k)
        (m,), tau = _sizes([times[units]], z_eps)
        _root(times, units, m, tau, z_eps, leaves)
    return leaves


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
