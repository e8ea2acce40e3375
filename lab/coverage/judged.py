"""Populations on which nothing was chosen: they only judge. Each is 8,000 launches of 60 signatures in loops of 240.

python lab/coverage/measure.py --out rows.jsonl --populations "judged: quiet,judged: moe routing" --methods kernelpoint
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpoint.randomness import generator

LAUNCHES, SIGNATURES, LOOP = 8000, 60, 240
Change = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]  # (signature, place, random) -> factors


def _bursts(signature: np.ndarray, place: np.ndarray, random: np.random.Generator) -> np.ndarray:
    factors = np.ones(len(place))
    for start in random.integers(0, len(place), 12):
        factors[start : start + int(random.integers(20, 120))] = 1.0 + 1.5 * random.random()
    return factors


CHANGES: dict[str, Change] = {
    "quiet": lambda s, t, r: np.ones(len(t)),
    "moe routing": lambda s, t, r: r.gamma(6.0, 1.0 / 6.0, len(t)) ** np.where(s % 4 == 0, 1.0, 0.05),
    "gc pauses": lambda s, t, r: np.where(r.random(len(t)) < 0.004, 4.0, 1.0),
    "warming clocks": lambda s, t, r: 1.0 + 0.25 * np.exp(-t / 0.03),
    "growing context": lambda s, t, r: np.where(s % 5 == 0, 1.0 + 3.0 * ((np.arange(len(t)) % 400) / 400.0), 1.0),
    "every tenth loop": lambda s, t, r: np.where((np.arange(len(t)) // LOOP) % 10 == 9, 1.6, 1.0),
    "contention bursts": _bursts,
    "bimodal arguments": lambda s, t, r: np.where((s % 7 == 0) & (r.random(len(t)) < 0.3), 2.5, 1.0),
}


def judged(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, signature of each launch, and typical value of each signature; the same every time.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in CHANGES:
        raise ValueError(f"{name}: give one of {', '.join(CHANGES)}")
    random = generator(7, "judged " + name)
    loop = random.integers(0, SIGNATURES, LOOP)
    loop[:SIGNATURES] = np.arange(SIGNATURES)
    signature = np.tile(loop, LAUNCHES // LOOP + 1)[:LAUNCHES]
    base = random.lognormal(3.0, 1.2, 400)
    noise = random.lognormal(0.0, 0.02, LAUNCHES)
    factors = CHANGES[name](signature, np.arange(LAUNCHES) / LAUNCHES, random)
    return base[signature] * noise * factors, signature, base
