"""Trouble that no metadata tells, planted in populations: what real GPUs do besides running kernels.

Each takes the values of a base population and says how they change; each is the same for a base every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from populations import Population, population

from kernelpoint.randomness import generator


def first_of(label: np.ndarray, count: int) -> np.ndarray:
    """bool [N]: which launches are among the first `count` with their label."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.r_[True, label[order][1:] != label[order][:-1]])
    rank = np.arange(len(label)) - np.repeat(starts, np.diff(np.r_[starts, len(label)]))
    found = np.zeros(len(label), dtype=bool)
    found[order[rank < count]] = True
    return found


def _heavy(people: Population) -> np.ndarray:
    """bool [N]: launches of the signatures that make up the heavier half of the total."""
    sums = np.bincount(people.signature, weights=people.y)
    order = np.argsort(-sums)
    inside = np.zeros(len(sums), dtype=bool)
    inside[order[np.cumsum(sums[order]) <= 0.5 * sums.sum()]] = True
    inside[order[0]] = True
    return inside[people.signature]


Change = Callable[
    [Population, np.ndarray, np.random.Generator], np.ndarray
]  # (base, place in the run, random) -> factors
ORDINARY: dict[str, Change] = {
    "drift": lambda p, t, r: 1.0 + t,
    "blocks": lambda p, t, r: np.exp(0.3 * r.standard_normal(20))[np.minimum((20 * t).astype(int), 19)],
    "throttling": lambda p, t, r: np.where(t > 0.6, 1.3, 1.0),
    "slow early phase": lambda p, t, r: np.where(t < 0.05, 3.0, 1.0),
    "autotuning": lambda p, t, r: np.where(first_of(p.signature, 3), 1.0 + 4.0 * r.random(len(t)), 1.0),
    "imbalance": lambda p, t, r: np.where(_heavy(p), 0.6 * (1.0 - r.random(len(t))) ** (-1.0 / 2.5), 1.0),
    "periodic": lambda p, t, r: np.where(np.arange(len(t)) % 97 == 13, 3.0, 1.0),
    "lazy loading": lambda p, t, r: np.where(first_of(p.kernel, 1), 10.0, 1.0),
}
RARE: dict[str, Change] = {
    "first of each signature x10": lambda p, t, r: np.where(first_of(p.signature, 1), 10.0, 1.0),
    "1 % x5": lambda p, t, r: np.where(r.random(len(t)) < 0.01, 5.0, 1.0),
    "1 in 500 x3": lambda p, t, r: np.where(r.random(len(t)) < 0.002, 3.0, 1.0),
    "1 in 500 x10": lambda p, t, r: np.where(r.random(len(t)) < 0.002, 10.0, 1.0),
}


def planted(base: str, trouble: str) -> Population:
    """A population with trouble planted in it, which what is known of it does not tell."""
    people = population(base)
    change = {**ORDINARY, **RARE}[trouble]
    random = generator(0, f"trouble {base} {trouble}")
    factors = change(people, np.arange(len(people.y)) / len(people.y), random)
    return replace(people, name=f"{base}, {trouble}", y=people.y * factors, counters={}, elsewhere=None)
