"""The methods that are compared on populations of known total: KernelPoint's engine and the literature's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from unittest import mock

import numpy as np
from designs import Knowledge, design
from populations import Population

from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.estimation.allocation import neyman
from kernelpoint.estimation.inference import Inference
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.randomness import generator, permanent_random_numbers


@dataclass(frozen=True)
class Outcome:
    """One run: relative error, relative half-width stated, whether a statement was ever wrong, share of the total simulated,
    relative half-width t SE before the floor of bounds.stated, passes."""

    error: float
    half_width: float
    ever_wrong: bool
    simulated: float
    computed: float
    passes: int


def kernelpoint(population: Population, budget: ErrorBudget, seed: int, knowledge: Knowledge = "a") -> Outcome:
    """The engine on the shipped policy's design."""
    return run_engine(Engine(design(population, budget, seed, knowledge), budget), population.y)


def run_engine(engine: Engine, y: np.ndarray, total: float | None = None) -> Outcome:
    """Passes until the budget is met or nothing is left to draw. Reports of single clusters are left out, for speed."""
    total = float(y.sum()) if total is None else total
    with mock.patch.object(Inference, "_parts", lambda self, groups, name: []):
        return _passes(engine, y, total)


def _passes(engine: Engine, y: np.ndarray, total: float) -> Outcome:
    wrong = False
    while True:
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        look = engine.look()
        estimate = look.estimates["cycles"]
        wrong |= not estimate.contains(total)
        if look.met or not engine.grow():
            break
    computed = 0.0
    if estimate.std_error > 0.0:
        alpha = 0.5 * (1.0 - engine.budget.confidence)
        computed = two_sided(alpha, round(estimate.degrees_of_freedom, 3)) * estimate.std_error / estimate.estimate
    return Outcome(
        estimate.estimate / total - 1.0,
        estimate.relative_half_width,
        wrong,
        estimate.simulated / total,
        computed,
        engine.looks,
    )


def _ranks(strata: np.ndarray, u: np.ndarray, N: np.ndarray) -> np.ndarray:
    """Place of each unit in its stratum in order of u."""
    order = np.lexsort((u, strata))
    rank = np.empty(len(u), np.int64)
    rank[order] = np.arange(len(u)) - np.repeat(np.cumsum(N) - N, N)
    return rank


def _clt(y: np.ndarray, strata: np.ndarray, pilot: int, eps: float, budget: ErrorBudget, seed: int) -> Outcome:
    """Textbook: pilot, Neyman allocation, normal interval from the sample variances, looking after every step."""
    N = np.bincount(strata)
    rank = _ranks(strata, permanent_random_numbers(seed, 0, len(y)), N)
    n, z, total, wrong, steps = np.minimum(pilot, N), two_sided(1.0 - budget.confidence, np.inf), y.sum(), False, 0
    while True:
        steps += 1
        drawn = rank < n[strata]
        mean = np.bincount(strata[drawn], y[drawn], len(N)) / n
        S2 = np.bincount(strata[drawn], (y[drawn] - mean[strata[drawn]]) ** 2, len(N)) / np.maximum(n - 1, 1)
        estimate = float((N * mean).sum())
        half = z * float(np.sqrt((N * N * S2 * (1.0 / n - 1.0 / N)).sum()))
        wrong |= abs(estimate - total) > half + 1e-9 * total
        if half <= eps * estimate or (n == N).all() or steps >= 50:
            break
        grown = np.maximum(neyman(N, S2, np.maximum(mean, mean.max() * 1e-9), (eps * estimate / z) ** 2, n), n)
        n = (
            np.minimum(n + 1, N)
            if (grown == n).all()
            else np.minimum(np.maximum(grown, np.ceil(1.05 * n)), N).astype(np.int64)
        )
    width = half / estimate
    return Outcome(estimate / total - 1.0, width, wrong, float(y[drawn].sum() / total), width, steps)


def random_clt(population: Population, budget: ErrorBudget, seed: int, eps: float) -> Outcome:
    """Simple random sampling, pilot of 30, fixed normal interval."""
    return _clt(population.y, np.zeros(len(population.y), np.int64), 30, eps, budget, seed)


def stratified_clt(population: Population, budget: ErrorBudget, seed: int, eps: float) -> Outcome:
    """Strata = signature, pilot of 2, fixed normal interval."""
    return _clt(population.y, population.signature, 2, eps, budget, seed)


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


@lru_cache(maxsize=256)
def oracle_plan(population: Population, kind: str, eps: float, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Strata and sizes of STEM+ROOT or Allegro, made from the very values that are then sampled (an oracle: mark b).

    STEM takes at least one draw per leaf: its artifact gives leaves without variance none, and their time vanishes.
    """
    z_eps, leaves = two_sided(1.0 - confidence, np.inf) / eps, []
    for kernel in range(int(population.kernel.max()) + 1):
        units = np.flatnonzero(population.kernel == kernel)
        if not len(units):
            continue
        if kind == "stem":
            (m,), tau = _stem_sizes([population.y[units]], z_eps)
            _root(population.y, units, m, tau, z_eps, leaves)
        else:
            _allegro(population.y, units, z_eps, leaves)
    strata = np.zeros(len(population.y), np.int64)
    for number, (units, _) in enumerate(leaves):
        strata[units] = number
    return strata, np.array([m for _, m in leaves])


def stem(population: Population, budget: ErrorBudget, seed: int, eps: float) -> Outcome:
    """STEM+ROOT: sampling without replacement, error eps claimed."""
    y = population.y
    strata, m = oracle_plan(population, "stem", eps, budget.confidence)
    N = np.bincount(strata)
    m = np.minimum(m, N)
    drawn = _ranks(strata, permanent_random_numbers(seed, 0, len(y)), N) < m[strata]
    estimate = float((y[drawn] * (N / m)[strata[drawn]]).sum())
    return _claimed(estimate, y, float(y[drawn].sum()), eps)


def allegro(population: Population, budget: ErrorBudget, seed: int, eps: float) -> Outcome:
    """Allegro: at least 30 draws per leaf with replacement; a launch drawn twice is simulated once; error eps claimed."""
    y = population.y
    strata, m = oracle_plan(population, "allegro", eps, budget.confidence)
    N = np.bincount(strata)
    order, start = np.argsort(strata, kind="stable"), np.cumsum(N) - N
    leaf = np.repeat(np.arange(len(m)), m)
    picks = order[start[leaf] + (generator(seed, "allegro").random(len(leaf)) * N[leaf]).astype(np.int64)]
    estimate = float((y[picks] * (N / m)[leaf]).sum())
    return _claimed(estimate, y, float(y[np.unique(picks)].sum()), eps)


def _claimed(estimate: float, y: np.ndarray, simulated: float, eps: float) -> Outcome:
    total = float(y.sum())
    error = estimate / total - 1.0
    return Outcome(error, eps, abs(error) > eps, simulated / total, eps, 1)


ALTERNATIVES = {"random": random_clt, "stratified": stratified_clt, "stem (b)": stem, "allegro (b)": allegro}
