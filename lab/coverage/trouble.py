"""Disturbances of real GPUs that neither names, shapes nor predictions show: throttling, autotuning, slow first
launches.

Each kind takes the launches of a population and says by which factors their values change; it is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelpoint.randomness import generator


@dataclass(frozen=True, eq=False)
class Launches:
    """Launches with known true values, and rules that pick some of them.

    Attributes:
        y: float64 [N], values in program order.
        kernel, signature: int [N], equal for launches of one kernel, and of one kernel and shape.
    """

    y: np.ndarray
    kernel: np.ndarray
    signature: np.ndarray

    @property
    def place(self) -> np.ndarray:
        """Position of each launch in the run, from 0 to 1, float64 [N]."""
        return np.arange(len(self.y)) / len(self.y)

    def first(self, count: int, of: str = "signature") -> np.ndarray:
        """True for the first `count` launches of each signature (kernel and shape) or of each kernel, bool [N]."""
        label = getattr(self, of)
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=label[order[0]] - 1))
        rank = np.empty(len(label), dtype=np.int64)
        rank[order] = np.arange(len(label)) - np.repeat(starts, np.diff(starts, append=len(label)))
        return rank < count

    def before(self, count: int) -> np.ndarray:
        """Signature (kernel and shape) of the launch that is `count` places before each launch, int [N]."""
        return np.concatenate((np.zeros(count, dtype=np.int64), self.signature[:-count]))

    def every(self, count: int, offset: int) -> np.ndarray:
        """True for the launches `offset`, `offset + count`, and so on, bool [N]."""
        return np.arange(len(self.y)) % count == offset

    def every_step(self, steps: int, offset: int) -> np.ndarray:
        """One launch in every `steps` steps of the program, bool [N]. A step is the distance at which signatures repeat
        most often.
        """
        s = self.signature[100:]
        step = max(range(20, 400), key=lambda d: float((s[d:] == s[:-d]).mean()))
        return np.arange(len(self.y)) % (steps * step) == offset

    def heavier_half(self) -> np.ndarray:
        """True for launches of the signatures (kernel and shape) that make up the larger half of the total, bool [N]."""
        sums = np.bincount(self.signature, weights=self.y)
        order = np.argsort(-sums)
        inside = np.zeros(len(sums), dtype=bool)
        inside[order[np.cumsum(sums[order]) <= 0.5 * sums.sum()]] = True
        inside[order[0]] = True
        return inside[self.signature]

    def troubled(self, trouble: str, seed_of: str) -> np.ndarray:
        """Values of the launches after one kind of disturbance, float64 [N]. `seed_of` is the name of the random numbers."""
        return self.y * TROUBLE[trouble](self, generator(0, f"trouble {seed_of}"))


def _pareto(p: Launches, r: np.random.Generator) -> np.ndarray:
    return 0.6 * (1.0 - r.random(len(p.y))) ** (-1.0 / 2.5)


def _rarely(p: Launches, r: np.random.Generator, rate: float) -> np.ndarray:
    return r.random(len(p.y)) < rate


Change = Callable[[Launches, np.random.Generator], np.ndarray]  # factors of the values
ORDINARY: dict[str, Change] = {
    "none": lambda p, r: np.ones(len(p.y)),
    "drift": lambda p, r: 1.0 + p.place,
    "blocks": lambda p, r: np.exp(0.3 * r.standard_normal(20))[np.minimum((20 * p.place).astype(int), 19)],
    "throttling": lambda p, r: np.where(p.place > 0.6, 1.3, 1.0),
    "slow early phase": lambda p, r: np.where(p.place < 0.05, 3.0, 1.0),
    "autotuning": lambda p, r: np.where(p.first(3), 1.0 + 4.0 * r.random(len(p.y)), 1.0),
    "imbalance": lambda p, r: np.where(p.heavier_half(), _pareto(p, r), 1.0),
    "periodic": lambda p, r: np.where(p.every(97, 13), 3.0, 1.0),
    "lazy loading": lambda p, r: np.where(p.first(1, "kernel"), 10.0, 1.0),
}
RARE: dict[str, Change] = {
    "first of each signature x10": lambda p, r: np.where(p.first(1), 10.0, 1.0),
    "1 % x5": lambda p, r: np.where(_rarely(p, r, 0.01), 5.0, 1.0),
    "1 in 500 x3": lambda p, r: np.where(_rarely(p, r, 0.002), 3.0, 1.0),
    "1 in 500 x10": lambda p, r: np.where(_rarely(p, r, 0.002), 10.0, 1.0),
}
FURTHER: dict[str, Change] = {
    "first 5 % x1.5": lambda p, r: np.where(p.place < 0.05, 1.5, 1.0),
    "1 in 50 x1.5": lambda p, r: np.where(p.every(50, 13), 1.5, 1.0),
    "1 in 200 x3": lambda p, r: np.where(_rarely(p, r, 0.005), 3.0, 1.0),
    "imbalance of all": _pareto,
}
JUDGED: dict[str, Change] = {
    "1 + 2 exp(-t / 3 %)": lambda p, r: 1.0 + 2.0 * np.exp(-p.place / 0.03),
    "first 2 % x4": lambda p, r: np.where(p.place < 0.02, 4.0, 1.0),
    "first 10 % x1.3": lambda p, r: np.where(p.place < 0.1, 1.3, 1.0),
    "half of the first ones x6": lambda p, r: np.where(p.first(1, "kernel") & _rarely(p, r, 0.5), 6.0, 1.0),
    "first ones x(1 + lognormal)": lambda p, r: np.where(
        p.first(1, "kernel"), 1.0 + np.exp(1.5 + r.standard_normal(len(p.y))), 1.0
    ),
    "first five of each kernel x3": lambda p, r: np.where(p.first(5, "kernel"), 3.0, 1.0),
}
TROUBLE = {**ORDINARY, **RARE, **FURTHER, **JUDGED}
# `predicted`: parameters of the engine with predictions were chosen on these; `judged`: they only judge
GROUPS: dict[str, tuple[str, ...]] = {
    "ordinary": tuple(ORDINARY),
    "rare": tuple(RARE),
    "predicted": ("none", "slow early phase", "lazy loading", "periodic", "drift", *FURTHER),
    "judged": tuple(JUDGED),
}
