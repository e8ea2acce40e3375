"""Trouble that neither names and shapes nor predictions tell: what real GPUs do besides running kernels.

Each takes labels and values of a base population and says how values change; each is the same for a base every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from made_up import rank

from kernelpoint.randomness import generator


class Launches(NamedTuple):
    """Attributes:
    y: float64 [N], values.
    kernel, signature: int [N] in launch order.
    """

    y: np.ndarray
    kernel: np.ndarray
    signature: np.ndarray


def _heavier_half(p: Launches) -> np.ndarray:
    """bool [N]: launches of the signatures that make up the heavier half of the total."""
    sums = np.bincount(p.signature, weights=p.y)
    order = np.argsort(-sums)
    inside = np.zeros(len(sums), dtype=bool)
    inside[order[np.cumsum(sums[order]) <= 0.5 * sums.sum()]] = True
    inside[order[0]] = True
    return inside[p.signature]


def _pareto(t: np.ndarray, r: np.random.Generator) -> np.ndarray:
    return 0.6 * (1.0 - r.random(len(t))) ** (-1.0 / 2.5)


def _every(t: np.ndarray, period: int, factor: float) -> np.ndarray:
    return np.where(np.arange(len(t)) % period == 13, factor, 1.0)


# (base, place in the run 0 to 1, random) -> factors of the values
Change = Callable[[Launches, np.ndarray, np.random.Generator], np.ndarray]
ORDINARY: dict[str, Change] = {
    "none": lambda p, t, r: np.ones(len(t)),
    "drift": lambda p, t, r: 1.0 + t,
    "blocks": lambda p, t, r: np.exp(0.3 * r.standard_normal(20))[np.minimum((20 * t).astype(int), 19)],
    "throttling": lambda p, t, r: np.where(t > 0.6, 1.3, 1.0),
    "slow early phase": lambda p, t, r: np.where(t < 0.05, 3.0, 1.0),
    "autotuning": lambda p, t, r: np.where(rank(p.signature) < 3, 1.0 + 4.0 * r.random(len(t)), 1.0),
    "imbalance": lambda p, t, r: np.where(_heavier_half(p), _pareto(t, r), 1.0),
    "periodic": lambda p, t, r: _every(t, 97, 3.0),
    "lazy loading": lambda p, t, r: np.where(rank(p.kernel) < 1, 10.0, 1.0),
}
RARE: dict[str, Change] = {
    "first of each signature x10": lambda p, t, r: np.where(rank(p.signature) < 1, 10.0, 1.0),
    "1 % x5": lambda p, t, r: np.where(r.random(len(t)) < 0.01, 5.0, 1.0),
    "1 in 500 x3": lambda p, t, r: np.where(r.random(len(t)) < 0.002, 3.0, 1.0),
    "1 in 500 x10": lambda p, t, r: np.where(r.random(len(t)) < 0.002, 10.0, 1.0),
}
FURTHER: dict[str, Change] = {
    "first 5 % x1.5": lambda p, t, r: np.where(t < 0.05, 1.5, 1.0),
    "1 in 50 x1.5": lambda p, t, r: _every(t, 50, 1.5),
    "1 in 200 x3": lambda p, t, r: np.where(r.random(len(t)) < 0.005, 3.0, 1.0),
    "imbalance of all": lambda p, t, r: _pareto(t, r),
}
JUDGED: dict[str, Change] = {
    "1 + 2 exp(-t / 3 %)": lambda p, t, r: 1.0 + 2.0 * np.exp(-t / 0.03),
    "first 2 % x4": lambda p, t, r: np.where(t < 0.02, 4.0, 1.0),
    "first 10 % x1.3": lambda p, t, r: np.where(t < 0.1, 1.3, 1.0),
    "half of the first ones x6": lambda p, t, r: np.where((rank(p.kernel) < 1) & (r.random(len(t)) < 0.5), 6.0, 1.0),
    "first ones x(1 + lognormal)": lambda p, t, r: np.where(
        rank(p.kernel) < 1, 1.0 + np.exp(1.5 + r.standard_normal(len(t))), 1.0
    ),
    "first five of each kernel x3": lambda p, t, r: np.where(rank(p.kernel) < 5, 3.0, 1.0),
}
TROUBLE = {**ORDINARY, **RARE, **FURTHER, **JUDGED}
# `predicted`: parameters of the engine with predictions were chosen on these; `judged`: they only judge
GROUPS: dict[str, tuple[str, ...]] = {
    "ordinary": tuple(ORDINARY),
    "rare": tuple(RARE),
    "predicted": ("none", "slow early phase", "lazy loading", "periodic", "drift", *FURTHER),
    "judged": tuple(JUDGED),
}


def troubled(base: Launches, trouble: str, seed_of: str) -> np.ndarray:
    """Values float64 [N] with trouble; seed_of: name of the random numbers."""
    t = np.arange(len(base.y)) / len(base.y)
    return base.y * TROUBLE[trouble](base, t, generator(0, f"trouble {seed_of}"))
