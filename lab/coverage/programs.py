"""Populations like profiles of programs: setup, then steps of a head, equal layers and a tail; names and shapes are known.

    python lab/coverage/measure.py --out rows.jsonl --methods kernelpoint --populations "program: drift,program: judged drift"

Parameters were chosen with CHANGES in sight; JUDGED, with other programs, sizes and forms of the same troubles, only judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelpoint.profiles.profile import Profile
from kernelpoint.randomness import generator

KERNELS = 18
Change = Callable[["Program", np.random.Generator], np.ndarray]  # factors of the values


@dataclass(frozen=True)
class Program:
    """signature: int [N], of each launch; kernel: int [S], of each signature; y: float64 [N], values without trouble."""

    signature: np.ndarray
    kernel: np.ndarray
    y: np.ndarray

    @property
    def place(self) -> np.ndarray:
        """Place in the run, 0 to 1, float64 [N]."""
        return np.arange(len(self.y)) / len(self.y)

    def first(self, count: int, of: str = "signature") -> np.ndarray:
        """Launches that are among the first `count` of their signature, or kernel, bool [N]."""
        label = self.signature if of == "signature" else self.kernel[self.signature]
        order = np.argsort(label, kind="stable")
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        rank = np.empty(len(label), dtype=np.int64)
        rank[order] = np.arange(len(label)) - np.repeat(starts, np.diff(np.append(starts, len(label))))
        return rank < count

    def before(self, count: int) -> np.ndarray:
        """Signature of the launch so many before, int [N]."""
        return np.concatenate((np.zeros(count, dtype=np.int64), self.signature[:-count]))


def _heavy(p: Program, r: np.random.Generator, count: int, share: float) -> np.ndarray:
    """A few launches take `share` of the total in addition, each."""
    return 1.0 + np.where(np.isin(np.arange(len(p.y)), r.choice(len(p.y), count)), share * p.y.sum() / p.y, 0.0)


CHANGES: dict[str, tuple[dict[str, float], Change]] = {
    "quiet": ({}, lambda p, r: np.ones(len(p.y))),
    "slow early phase": ({}, lambda p, r: np.where(p.place < 0.03, 2.5, 1.0)),
    "autotuning": ({}, lambda p, r: np.where(p.first(4), 1.0 + 6.0 * r.random(len(p.y)), 1.0)),
    "imbalance": ({}, lambda p, r: np.where(p.signature % 3 == 0, 0.5 + r.gamma(2.0, 0.25, len(p.y)), 1.0)),
    "periodic": ({}, lambda p, r: np.where(np.arange(len(p.y)) % 64 == 7, 2.5, 1.0)),
    "lazy loading": ({}, lambda p, r: np.where(p.first(1, "kernel"), 15.0, 1.0)),
    "heavy single launches": ({}, lambda p, r: _heavy(p, r, 3, 0.02)),
    "drift": ({}, lambda p, r: 1.0 + 0.6 * p.place),
    "bimodal": ({}, lambda p, r: np.where((p.signature % 4 == 1) & (r.random(len(p.y)) < 0.4), 2.2, 1.0)),
    "lognormal tails": ({}, lambda p, r: r.lognormal(0.0, 0.4, len(p.y))),
    "context": ({}, lambda p, r: np.where((p.before(1) % 2 == 0) & (p.signature % 3 == 0), 1.7, 1.0)),
}
JUDGED: dict[str, tuple[dict[str, float], Change]] = {
    "quiet": ({"launches": 9000, "signatures": 120, "layers": 24}, lambda p, r: np.ones(len(p.y))),
    "very quiet": ({"launches": 4000, "signatures": 30, "layers": 6, "spread": -5.0}, lambda p, r: np.ones(len(p.y))),
    "slow early phase": ({"launches": 5000}, lambda p, r: 1.0 + 1.5 * np.exp(-p.place / 0.05)),
    "autotuning": (
        {"signatures": 110},
        lambda p, r: np.where(p.first(6) & (r.random(len(p.y)) < 0.7), 1.0 + 8.0 * r.random(len(p.y)), 1.0),
    ),
    "imbalance": ({}, lambda p, r: np.where(p.signature % 4 == 0, r.lognormal(-0.18, 0.6, len(p.y)), 1.0)),
    "periodic": ({"launches": 10000}, lambda p, r: np.where(np.arange(len(p.y)) % 83 == 0, 4.0, 1.0)),
    "lazy loading": ({}, lambda p, r: np.where(p.first(1), 8.0, 1.0)),
    "heavy single launches": ({"launches": 8000}, lambda p, r: _heavy(p, r, 1, 0.05)),
    "drift": ({}, lambda p, r: 1.0 + 0.5 * np.sin(6.28 * p.place)),
    "bimodal": ({}, lambda p, r: np.where((p.signature % 5 == 1) & (r.random(len(p.y)) < 0.15), 3.0, 1.0)),
    "lognormal tails": ({"signatures": 50}, lambda p, r: r.lognormal(0.0, np.where(p.signature % 3 == 0, 0.8, 0.05))),
    "context": ({}, lambda p, r: np.where((p.before(2) % 3 == 0) & (p.signature % 2 == 0), 1.5, 1.0)),
}


def made(
    random: np.random.Generator, launches: int = 6000, signatures: int = 70, layers: int = 12, spread: float = -4.0
) -> tuple[Program, Profile]:
    """A program and its names and shapes; exp(spread) is the typical CoV of launches of one signature."""
    layer, head, tail = (random.integers(0, signatures, n) for n in (14, 9, 5))
    step = np.concatenate([head, *[layer] * layers, tail])
    steps = [random.integers(0, signatures, 60), *[step] * (launches // len(step) + 1)]
    signature = np.unique(np.concatenate(steps)[:launches], return_inverse=True)[1]
    S = int(signature.max()) + 1
    kernel, size = random.integers(0, KERNELS, S), random.lognormal(2.5, 1.3, S)
    grid = np.ceil(4.0 * np.maximum(1.0, size**1.5 * random.lognormal(0.0, 0.8, S))).astype(np.int64) + np.arange(S)
    deviation = np.exp(spread + 0.6 * random.standard_normal(S))
    y = size[signature] * np.exp(deviation[signature] * random.standard_normal(launches))
    one = np.ones(launches, dtype=np.int64)
    block = random.choice([64, 128, 256], S)
    profile = Profile(
        source="synthetic",
        names=tuple(f"kernel{k}" for k in range(KERNELS)),
        name_ids=kernel[signature].astype(np.int32),
        grid=np.stack([grid[signature], one, one], axis=1),
        block=np.stack([block[signature], one, one], axis=1),
        registers=32 * one,
        shared_memory=0 * one,
        stream=0 * one,
        start=0 * one,
        duration=np.full(launches, np.nan),
    )
    return Program(signature, kernel, y), profile


def program(name: str) -> tuple[np.ndarray, Profile]:
    """Values, names and shapes of the launches; the same every time. `judged NAME` is of JUDGED.

    Raises:
        ValueError: there is none of this name.
    """
    found = JUDGED.get(name.removeprefix("judged ")) if name.startswith("judged ") else CHANGES.get(name)
    if found is None:
        raise ValueError(f"{name}: give one of {', '.join((*CHANGES, *(f'judged {key}' for key in JUDGED)))}")
    random = generator(11, "program " + name)
    people, profile = made(random, **found[0])
    return people.y * found[1](people, random), profile
