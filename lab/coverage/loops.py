"""Populations on which nothing was chosen, of two kinds of programs: training loops, and servers of requests.

    python lab/coverage/measure.py --out rows.jsonl --methods kernelpoint --populations "loops: training/page faults"

Names and shapes are known. They only judge: they were written after the parameters had been chosen on programs.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpoint.randomness import generator

LAUNCHES = 7000
Change = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]  # (signature, place, random) -> factors


def _rank(signature: np.ndarray) -> np.ndarray:
    """Number of launches of the same signature before each, int [N]."""
    order = np.argsort(signature, kind="stable")
    starts = np.flatnonzero(np.diff(signature[order], prepend=-1))
    rank = np.empty(len(signature), dtype=np.int64)
    rank[order] = np.arange(len(signature)) - np.repeat(starts, np.diff(np.append(starts, len(signature))))
    return rank


def _windows(place: np.ndarray, random: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Launches inside so many random windows of the run, bool [N]."""
    begins = random.random(count)
    return np.any([(place >= begin) & (place < begin + length) for begin in begins], axis=0)


CHANGES: dict[str, Change] = {
    "none": lambda s, t, r: np.ones(len(t)),
    "page faults": lambda s, t, r: np.where(r.random(len(t)) < 1.0 / 300.0, 1.0 + 8.0 * r.random(len(t)), 1.0),
    "1 in 450 x9": lambda s, t, r: np.where(r.random(len(t)) < 1.0 / 450.0, 9.0, 1.0),
    "stragglers": lambda s, t, r: np.where(s % 3 == 1, 0.55 * (1.0 - r.random(len(t))) ** (-1.0 / 2.3), 1.0),
    "uneven tokens": lambda s, t, r: np.where(s % 4 == 0, r.lognormal(-0.1, 0.45, len(t)), 1.0),
    "every 151st x3": lambda s, t, r: np.where(np.arange(len(t)) % 151 == 60, 3.0, 1.0),
    "lazy loading": lambda s, t, r: np.where(_rank(s) == 0, 20.0, 1.0),
    "autotuning": lambda s, t, r: np.where(_rank(s) < 5, 1.0 + 4.0 * r.random(len(t)), 1.0),
    "first 4 % x2": lambda s, t, r: np.where(t < 0.04, 2.0, 1.0),
    "ramp": lambda s, t, r: 1.0 + 0.8 * t**2,
    "sawtooth clocks": lambda s, t, r: 1.0 + 0.3 * np.modf(7.0 * t)[0],
    "neighbours": lambda s, t, r: np.where(_windows(t, r, 9, 0.006), 2.2, 1.0),
    "two speeds": lambda s, t, r: np.where((s % 6 == 2) & (r.random(len(t)) < 0.25), 1.9, 1.0),
}


def _training(random: np.random.Generator, signatures: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps of forward layers, the same backwards, and an optimizer; each 25th is followed by a forward one. Signatures, and
    factors that shapes do not tell: of the layer."""
    layer, back, update = (random.integers(0, signatures, n) for n in (9, 13, 6))
    forward, backward = np.tile(layer, 8), np.tile(back, 8)
    hidden = np.repeat(1.0 + 0.4 * random.random(8), len(layer)), np.repeat(1.0 + 0.4 * random.random(8), len(back))
    step = np.concatenate([forward, backward, update]), np.concatenate([*hidden, np.ones(len(update))])
    parts = [
        both
        for k in range(LAUNCHES // len(step[0]) + 1)
        for both in ([step, (forward, hidden[0])] if k % 25 == 24 else [step])
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _serving(random: np.random.Generator, signatures: int) -> tuple[np.ndarray, np.ndarray]:
    """Requests: a prefill of one of five lengths, then 10 to 70 equal tokens; attention takes ever longer."""
    prefills, token = [random.integers(0, signatures, 30) for _ in range(5)], random.integers(0, signatures, 21)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while sum(len(p[0]) for p in found) < LAUNCHES:
        length = int(random.integers(0, 5))
        found.append((prefills[length], np.ones(30)))
        for k in range(int(random.integers(10, 70))):
            found.append((token, np.where(token % 5 == 0, 1.0 + 0.2 * length + 0.02 * k, 1.0)))
    return np.concatenate([p[0] for p in found]), np.concatenate([p[1] for p in found])


PROGRAMS = {"training": (_training, 60), "serving": (_serving, 90)}


def loops(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, signature of each launch, and typical value of each signature; `PROGRAM/CHANGE`, the same every time.

    Raises:
        ValueError: there is none of this name.
    """
    program, _, change = name.partition("/")
    if program not in PROGRAMS or change not in CHANGES:
        raise ValueError(f"{name}: give one of {', '.join(PROGRAMS)}, then / and one of {', '.join(CHANGES)}")
    random = generator(23, "loops " + name)
    make, signatures = PROGRAMS[program]
    signature, hidden = (part[:LAUNCHES] for part in make(random, signatures))
    base = random.lognormal(2.0, 1.4, 400)
    noise = np.exp(random.lognormal(-4.0, 0.7, 400)[signature] * random.standard_normal(LAUNCHES))
    factors = CHANGES[change](signature, np.arange(LAUNCHES) / LAUNCHES, random)
    return base[signature] * hidden * noise * factors, signature, base
