"""Populations that only judge, of programs and troubles that no parameter was chosen on: written after all others.

    python lab/coverage/measure.py --out rows.jsonl --methods kernelpoint --populations "fresh: multi-tenant"

Names and shapes are known; times are not. Each program makes its own sequence of launches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelpoint.randomness import generator

LAUNCHES = 7000
Made = tuple[np.ndarray, np.ndarray, np.ndarray]  # signature of each launch, typical value of each signature, factors
Random = np.random.Generator


def _steps(random: Random, kinds: int, layers: int, per_layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Equal steps of a head, equal layers and a tail: signatures, and the step of each launch."""
    head, layer, tail = (random.integers(0, kinds, n) for n in (6, per_layer, 8))
    step = np.concatenate([head, *[layer] * layers, tail])
    count = LAUNCHES // len(step) + 1
    return np.tile(step, count)[:LAUNCHES], np.repeat(np.arange(count), len(step))[:LAUNCHES]


def _throttling(random: Random) -> Made:
    """Clocks fall by a quarter above one temperature and rise again below another."""
    signature, _ = _steps(random, 45, 10, 11)
    base = random.lognormal(2.5, 1.1, 45)
    heat, slow, factors = 0.0, False, np.ones(LAUNCHES)
    rate = 6.0 / base[signature].sum()
    for k, work in enumerate(base[signature]):
        heat += rate * work * ((1.0 if slow else 2.2) - heat)
        slow = heat > 1.25 if slow else heat > 1.7
        factors[k] = 1.33 if slow else 1.0
    return signature, base, factors


def _experts(random: Random) -> Made:
    """Twelve expert kernels a layer, padded to one shape; tokens follow a skewed routing that drifts, a few experts are hot."""
    signature, step = _steps(random, 50, 6, 24)
    base = random.lognormal(2.5, 1.0, 50)
    expert = np.arange(LAUNCHES) % 24 < 12
    popular = np.exp(0.8 * np.cumsum(0.15 * random.standard_normal((int(step.max()) + 1, 24)), axis=0))
    popular *= np.arange(1, 25) ** -0.7 / np.mean(np.arange(1, 25) ** -0.7)
    tokens = random.gamma(12.0, 1.0 / 12.0, LAUNCHES) * popular[step, np.arange(LAUNCHES) % 24]
    return signature, base, np.where(expert, 0.15 + 0.85 * tokens, 1.0)


def _serving(random: Random) -> Made:
    """Chunks of prefill between steps of decode; attention takes as long as contexts of the batch are, which no shape tells."""
    prefill, decode = random.integers(0, 60, 40), random.integers(0, 60, 22)
    base, found, factors = random.lognormal(2.3, 1.2, 60), [], []
    contexts = list(random.integers(50, 2000, 16))
    while sum(map(len, found)) < LAUNCHES:
        if random.random() < 0.12:
            contexts[int(random.integers(16))] = int(random.lognormal(6.0, 1.0))
            found.append(prefill)
            factors.append(np.ones(40))
        contexts = [c + 1 for c in contexts]
        found.append(decode)
        factors.append(np.where(np.arange(22) % 6 == 2, 0.2 + np.mean(contexts) / 900.0, 1.0))
    return np.concatenate(found)[:LAUNCHES], base, np.concatenate(factors)[:LAUNCHES]


def _waits(random: Random) -> Made:
    """Two collectives a step wait for the slowest of eight others: heavy tails on one kernel, all else is quiet."""
    signature, _ = _steps(random, 40, 8, 13)
    base = random.lognormal(2.4, 1.0, 40)
    collective = int(signature[7])
    slowest = random.random((LAUNCHES, 8)).min(axis=1)
    return signature, base, np.where(signature == collective, 0.7 * slowest ** (-1.0 / 3.0), 1.0)


def _tenants(random: Random) -> Made:
    """Others come and go: launches that are bound by memory take 1.2 to 2.5 times as long while they are there."""
    signature, _ = _steps(random, 55, 7, 15)
    base, bound = random.lognormal(2.5, 1.2, 55), random.random(55) < 0.4
    factors, here, level = np.ones(LAUNCHES), False, 1.0
    for k in range(LAUNCHES):
        if random.random() < (1.0 / 150.0 if here else 1.0 / 600.0):
            here, level = not here, 1.2 + 1.3 * random.random()
        factors[k] = level if here else 1.0
    return signature, base, np.where(bound[signature], factors, 1.0)


def _lengths(random: Random) -> Made:
    """Steps of sequences padded to one of four lengths: a shape tells the padded one, some kernels follow the true one."""
    steps, base, found, factors = (
        [random.integers(40 * b, 40 * b + 40, 70) for b in range(4)],
        random.lognormal(2.2, 1.0, 160),
        [],
        [],
    )
    while sum(map(len, found)) < LAUNCHES:
        length = float(np.clip(random.lognormal(0.0, 0.6), 0.2, 3.9))
        padded = int(length)
        found.append(steps[padded])
        factors.append(np.where(np.arange(70) % 4 == 0, length / (padded + 1.0), 1.0))
    return np.concatenate(found)[:LAUNCHES], base, np.concatenate(factors)[:LAUNCHES]


PROGRAMS: dict[str, Callable[[Random], Made]] = {
    "throttling with hysteresis": _throttling,
    "hot experts": _experts,
    "prefill and decode": _serving,
    "waits with heavy tails": _waits,
    "multi-tenant": _tenants,
    "sequence lengths": _lengths,
}


def fresh(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, signature of each launch, and typical value of each signature; the same every time.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in PROGRAMS:
        raise ValueError(f"{name}: give one of {', '.join(PROGRAMS)}")
    random = generator(41, "fresh " + name)
    signature, base, factors = PROGRAMS[name](random)
    noise = np.exp(random.lognormal(-4.2, 0.6, len(base))[signature] * random.standard_normal(LAUNCHES))
    return base[signature] * noise * factors, signature, base
