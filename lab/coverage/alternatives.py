"""The literature's methods on the same populations, many seeds at a time: arrays of shape [seeds].

`random` and `stratified` look after every step with the textbook normal interval; `stem` and `allegro` plan once from times
and claim the budget. What the times are is the caller's business: guesses from traces, another configuration's, or the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.randomness import generator

CHUNK = 40  # seeds at a time
STEPS = 50


@dataclass(frozen=True)
class Outcomes:
    """Of each seed: relative error, relative half-width claimed, share of the total simulated, whether ever wrong."""

    error: np.ndarray
    half_width: np.ndarray
    simulated: np.ndarray
    ever_wrong: np.ndarray


def _joined(parts: list[Outcomes]) -> Outcomes:
    names = ("error", "half_width", "simulated", "ever_wrong")
    return Outcomes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


@dataclass(frozen=True)
class Orders:
    """Random orders of the values of every stratum: one float64 [seeds, N] per chunk, stratum by stratum; N: int [H]."""

    values: list[np.ndarray]
    N: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, strata: np.ndarray, seeds: int) -> Orders:
        """Orders of `seeds` runs."""
        order, values = np.argsort(strata, kind="stable"), []
        for first in range(0, seeds, CHUNK):
            random = generator(first, "alternatives clt")
            keys = random.random((min(CHUNK, seeds - first), len(y))) + strata[order]
            values.append(y[order][np.argsort(keys, axis=1)])  # the whole part of the keys keeps strata apart
        return cls(values, np.bincount(strata))


def clt(orders: Orders, pilot: int, eps: float, confidence: float) -> Outcomes:
    """Pilot, then Neyman growth until the normal interval from the sample variances is inside eps, looking after each step."""
    z = two_sided(1.0 - confidence, np.inf)
    return _joined([_grow(v, orders.N, pilot, eps, z) for v in orders.values])


def _grow(v: np.ndarray, N: np.ndarray, pilot: int, eps: float, z: float) -> Outcomes:
    """v: float64 [seeds, N], values in the order in which they are drawn, stratum by stratum."""
    rows, total, start = len(v), float(v[0].sum()), np.cumsum(N) - N
    shift = np.repeat(np.add.reduceat(v[0], start) / N, N)  # Numerics: sums of squares about the mean
    zero = np.zeros((rows, 1))
    sums = np.concatenate([zero, np.cumsum(v - shift, axis=1)], axis=1)
    squares = np.concatenate([zero, np.cumsum((v - shift) ** 2, axis=1)], axis=1)
    n = np.tile(np.minimum(pilot, N), (rows, 1))
    running, wrong = np.ones(rows, bool), np.zeros(rows, bool)
    centre = shift[start]
    for _ in range(STEPS):
        s, q = (np.take_along_axis(a, start + n, 1) - a[:, start] for a in (sums, squares))
        S2 = np.maximum(q - s * s / n, 0.0) / np.maximum(n - 1, 1)
        estimate = (N * (centre + s / n)).sum(axis=1)
        half = z * np.sqrt((N * N * S2 * (1.0 / n - 1.0 / N)).sum(axis=1))
        wrong |= running & (np.abs(estimate - total) > half + 1e-9 * total)
        running &= (half > eps * estimate) & (n < N).any(axis=1)
        if not running.any():
            break
        root = N * np.sqrt(S2)
        size = root.sum(axis=1) ** 2 / ((eps * estimate / z) ** 2 + (N * S2).sum(axis=1))
        wanted = np.ceil(size[:, None] * root / np.maximum(root.sum(axis=1), 1e-300)[:, None])
        grown = np.minimum(np.maximum(wanted, n), N).astype(np.int64)
        stuck = (grown == n).all(axis=1)
        grown[stuck] = np.minimum(n[stuck] + 1, N)
        n = np.where(running[:, None], grown, n)
    spent = (n * centre + np.take_along_axis(sums, start + n, 1) - sums[:, start]).sum(axis=1) / total
    return Outcomes(estimate / total - 1.0, half / estimate, spent, wrong)


def _halves(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact 2-means in one dimension: masks of the two parts (by sorting and prefix sums)."""
    v = np.sort(y)
    k = np.arange(1, len(v))
    s, q = np.cumsum(v)[:-1], np.cumsum(v * v)[:-1]
    cost = q - s * s / k + (q_all := float((v * v).sum())) - q - (v.sum() - s) ** 2 / (len(v) - k)
    cost = np.where(v[1:] > v[:-1], cost, q_all + 1.0)
    cut = v[int(np.argmin(cost))]
    return y <= cut, y > cut


def _stem_sizes(parts: list[np.ndarray], z_eps: float) -> tuple[list[float], float]:
    """STEM's sizes for clusters together (Chung et al., MICRO 2025, eq. 6), and the expected time."""
    N, mu, sigma = (np.array([f(p) for p in parts]) for f in (len, np.mean, np.std))
    below = float((N * mu).sum()) ** 2
    if below == 0.0:
        return [1.0] * len(parts), 0.0
    root = np.sqrt(np.maximum(mu, 1e-12))
    m = z_eps**2 * float((N * sigma * root).sum()) / below * N * sigma / root
    m = np.minimum(np.ceil(m), N)
    return m.tolist(), float((m * mu).sum())


def _root(y: np.ndarray, units: np.ndarray, m: float, tau: float, z_eps: float, leaves: list) -> None:
    if len(units) > 1 and tau > 0.0 and y[units].min() < y[units].max():
        parts = [units[mask] for mask in _halves(y[units])]
        sizes, together = _stem_sizes([y[p] for p in parts], z_eps)
        if together <= tau:
            for part, size in zip(parts, sizes, strict=True):
                _root(y, part, size, size * float(y[part].mean()), z_eps, leaves)
            return
    leaves.append((units, max(int(m), 1)))


def _allegro(y: np.ndarray, units: np.ndarray, z_eps: float, leaves: list) -> None:
    v = y[units]
    sigma = float(v.std(ddof=1)) if len(v) > 1 else 0.0
    n = 1.0 if sigma == 0.0 or v.mean() == 0.0 else (z_eps * sigma / float(v.mean())) ** 2
    if n >= 50.0:
        for mask in _halves(v):
            _allegro(y, units[mask], z_eps, leaves)
        return
    leaves.append((units, max(int(np.ceil(n)), 30)))


def plan(method: str, times: np.ndarray, kernel: np.ndarray, eps: float, confidence: float) -> list:
    """Leaves of STEM+ROOT or Allegro: (units, number of draws) each, planned from the given times.

    STEM takes at least one draw per leaf: its artifact gives leaves without variance none, and their time vanishes.
    """
    z_eps, leaves = two_sided(1.0 - confidence, np.inf) / eps, []
    for k in np.unique(kernel):
        units = np.flatnonzero(kernel == k)
        if method == "stem":
            (m,), tau = _stem_sizes([times[units]], z_eps)
            _root(times, units, m, tau, z_eps, leaves)
        else:
            _allegro(times, units, z_eps, leaves)
    return leaves


def one_shot(method: str, y: np.ndarray, leaves: list, eps: float, seeds: int) -> Outcomes:
    """Draw the plan and scale up; error eps is claimed. STEM draws without replacement, Allegro with (repeats cost nothing)."""
    random, total = generator(seeds, "alternatives " + method), float(y.sum())
    estimate, spent = np.zeros(seeds), np.zeros(seeds)
    for units, m in leaves:
        v, N = y[units], len(units)
        if method == "stem" and m >= N:
            estimate += v.sum()
            spent += v.sum()
            continue
        for first in range(0, seeds, CHUNK):
            rows = slice(first, min(first + CHUNK, seeds))
            count = rows.stop - rows.start
            if method == "stem":
                picks = np.argpartition(random.random((count, N)), m - 1, axis=1)[:, :m]
            else:
                picks = np.sort(random.integers(0, N, (count, m)), axis=1)
            drawn = v[picks]
            estimate[rows] += N * drawn.mean(axis=1)
            fresh = np.ones(picks.shape, bool)
            if method == "allegro":
                fresh[:, 1:] = picks[:, 1:] != picks[:, :-1]
            spent[rows] += (drawn * fresh).sum(axis=1)
    error = estimate / total - 1.0
    return Outcomes(error, np.full(seeds, eps), spent / total, np.abs(error) > eps)
