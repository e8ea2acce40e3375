"""Made-up populations: programs that launch kernels in loops, with disturbances that names and shapes do not show.

Parameters of the estimator were chosen with SYNTHETIC and CHANGES in sight. JUDGED, programs of other sizes with other forms of
the same trouble, and FRESH, other programs with other trouble, only judge. Each population is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from trouble import Launches

from kernelpoint.program import Labels, Program
from kernelpoint.randomness import generator
from kernelpoint.repeated import Texts

Random = np.random.Generator


Change = Callable[[Launches, Random], np.ndarray]  # factors of the values


def metadata(signature: np.ndarray, grid: np.ndarray, kernel: np.ndarray, kernels: int, block: np.ndarray | int = 1) -> Program:
    """Make a program (table of launches) of which only names and shapes are known.

    Args:
        grid: number of CTAs of each launch.
        kernel: number of the kernel name of each launch.
        signature: number of the signature (kernel and shape), stored as the number of registers.
    """
    ones = np.ones(len(signature), dtype=np.int64)
    names = Texts(tuple(f"kernel{k}" for k in range(kernels)), kernel.astype(np.int32))
    shape = (grid.astype(np.int64), ones, ones, block * ones, ones, ones, signature.astype(np.int64), 0 * ones)
    labels, label = Labels.of(names, np.stack(shape, axis=1))
    return Program(
        (len(signature),),
        labels=labels,
        label=label,
        stream=0 * ones,
        source="synthetic",
    )


def _seven_kernels(signature: np.ndarray, base: np.ndarray) -> Program:
    """Seven kernels; a signature is a grid, of about as many blocks as its launches take time."""
    return metadata(signature, np.ceil(100.0 * base[signature]), signature % 7, 7)


SYNTHETIC = ("drift", "late_change", "outliers", "bimodal", "tiny_and_huge", "mixed", "uneven", "violates")
BEYOND_ASSUMPTIONS = ("outliers", "violates")  # rare large values that a small sample does not hold


def _loop(random: Random, launches: int, kernels: int, body: int) -> np.ndarray:
    """A launch sequence: one loop body of `body` launches over `kernels` signatures, repeated."""
    loop = random.integers(0, kernels, body)
    loop[:kernels] = np.arange(kernels)
    return np.tile(loop, launches // body + 1)[:launches]


def synthetic(name: str) -> tuple[np.ndarray, Program]:
    """Synthetic population by name: values and names of 6,000 launches with 20 different shapes, in loops of 60, unless the
    name says otherwise.
    """
    random = generator(0, "coverage population " + name)
    N = 6000
    signature = _loop(random, N, 20, 60)
    base = random.lognormal(3.0, 1.0, 400)
    noise = random.lognormal(0.0, 0.02, N)
    place = np.arange(N) / N
    if name == "drift":
        noise = noise * (1.0 + place)
    elif name == "late_change":
        noise = noise * np.where(place > 0.9, 1.6, 1.0)
    elif name == "outliers":
        noise = noise * np.where(random.random(N) < 0.005, 5.0, 1.0)
    elif name == "bimodal":
        noise = noise * np.where(random.random(N) < 0.5, 1.0, 3.0)
    elif name == "tiny_and_huge":
        signature = np.concatenate((np.repeat(np.arange(3), 1900), np.arange(300) // 2 + 3))
        random.shuffle(signature)
    elif name == "mixed":
        signature = _loop(random, N, 80, 300)
        spread = random.lognormal(-3.5, 1.0, 400)
        noise = np.exp(spread[signature] * random.standard_normal(N))
        noise *= 1.0 + 0.1 * np.sin(np.roll(signature, 1) * 1.7)  # the launch before matters
    elif name == "uneven":  # most signatures are quiet, every fifth is not
        signature = _loop(random, N, 80, 300)
        noise = random.lognormal(0.0, np.where(np.arange(400) % 5 == 0, 0.6, 0.01)[signature])
    else:
        noise = noise * np.where((signature == 3) & (random.random(N) < 0.01), 200.0, 1.0)
    return base[signature] * noise, _seven_kernels(signature, base)


KERNELS = 18  # of a program


def _heavy(p: Launches, r: np.random.Generator, count: int, share: float) -> np.ndarray:
    """Factors that give each of `count` random launches an additional `share` of the total."""
    return 1.0 + np.where(np.isin(np.arange(len(p.y)), r.choice(len(p.y), count)), share * p.y.sum() / p.y, 0.0)


CHANGES: dict[str, tuple[dict[str, float], Change]] = {
    "quiet": ({}, lambda p, r: np.ones(len(p.y))),
    "slow early phase": ({}, lambda p, r: np.where(p.place < 0.03, 2.5, 1.0)),
    "autotuning": ({}, lambda p, r: np.where(p.first(4), 1.0 + 6.0 * r.random(len(p.y)), 1.0)),
    "imbalance": ({}, lambda p, r: np.where(p.signature % 3 == 0, 0.5 + r.gamma(2.0, 0.25, len(p.y)), 1.0)),
    "periodic": ({}, lambda p, r: np.where(p.every(64, 7), 2.5, 1.0)),
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
    "periodic": ({"launches": 10000}, lambda p, r: np.where(p.every(83, 0), 4.0, 1.0)),
    "lazy loading": ({}, lambda p, r: np.where(p.first(1), 8.0, 1.0)),
    "heavy single launches": ({"launches": 8000}, lambda p, r: _heavy(p, r, 1, 0.05)),
    "drift": ({}, lambda p, r: 1.0 + 0.5 * np.sin(6.28 * p.place)),
    "bimodal": ({}, lambda p, r: np.where((p.signature % 5 == 1) & (r.random(len(p.y)) < 0.15), 3.0, 1.0)),
    "lognormal tails": ({"signatures": 50}, lambda p, r: r.lognormal(0.0, np.where(p.signature % 3 == 0, 0.8, 0.05))),
    "context": ({}, lambda p, r: np.where((p.before(2) % 3 == 0) & (p.signature % 2 == 0), 1.5, 1.0)),
}


def program(
    random: np.random.Generator,
    launches: int = 6000,
    signatures: int = 70,
    layers: int = 12,
    spread: float = -4.0,
    kernels: int = KERNELS,
) -> tuple[Launches, Program]:
    """Random synthetic program with its names and shapes. exp(spread) is the typical coefficient of variation among launches of
    one shape.
    """
    layer, head, tail = (random.integers(0, signatures, n) for n in (14, 9, 5))
    step = np.concatenate([head, *[layer] * layers, tail])
    steps = [random.integers(0, signatures, 60), *[step] * (launches // len(step) + 1)]
    signature = np.unique(np.concatenate(steps)[:launches], return_inverse=True)[1]
    S = int(signature.max()) + 1
    kernel, size = random.integers(0, kernels, S), random.lognormal(2.5, 1.3, S)
    grid = np.ceil(4.0 * np.maximum(1.0, size**1.5 * random.lognormal(0.0, 0.8, S))).astype(np.int64) + np.arange(S)
    deviation = np.exp(spread + 0.6 * random.standard_normal(S))
    y = size[signature] * np.exp(deviation[signature] * random.standard_normal(launches))
    block = random.choice([64, 128, 256], S)
    profile = metadata(signature, grid[signature], kernel[signature], kernels, block[signature])
    return Launches(y, kernel[signature], signature), profile


LAUNCHES = 7000
Made = tuple[np.ndarray, np.ndarray, np.ndarray]  # signature of each launch, typical value of each signature, factors


def _steps(random: Random, kinds: int, layers: int, per_layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Signatures of a program of equal steps (a head, equal layers, a tail), and the step that each launch is in."""
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
    base, signatures, factors = random.lognormal(2.3, 1.2, 60), [], []
    contexts = list(random.integers(50, 2000, 16))
    while sum(map(len, signatures)) < LAUNCHES:
        if random.random() < 0.12:
            contexts[int(random.integers(16))] = int(random.lognormal(6.0, 1.0))
            signatures.append(prefill)
            factors.append(np.ones(40))
        contexts = [c + 1 for c in contexts]
        signatures.append(decode)
        factors.append(np.where(np.arange(22) % 6 == 2, 0.2 + np.mean(contexts) / 900.0, 1.0))
    return np.concatenate(signatures)[:LAUNCHES], base, np.concatenate(factors)[:LAUNCHES]


def _waits(random: Random) -> Made:
    """Two collectives a step wait for the slowest of eight others: heavy tails on one kernel, all else is quiet."""
    signature, _ = _steps(random, 40, 8, 13)
    base = random.lognormal(2.4, 1.0, 40)
    collective = int(signature[7])
    slowest = random.random((LAUNCHES, 8)).min(axis=1)
    return signature, base, np.where(signature == collective, 0.7 * slowest ** (-1.0 / 3.0), 1.0)


def _tenants(random: Random) -> Made:
    """Other tenants of the GPU come and go: memory-bound launches take 1.2 to 2.5 times as long while one is present."""
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
    steps, base, signatures, factors = (
        [random.integers(40 * b, 40 * b + 40, 70) for b in range(4)],
        random.lognormal(2.2, 1.0, 160),
        [],
        [],
    )
    while sum(map(len, signatures)) < LAUNCHES:
        length = float(np.clip(random.lognormal(0.0, 0.6), 0.2, 3.9))
        padded = int(length)
        signatures.append(steps[padded])
        factors.append(np.where(np.arange(70) % 4 == 0, length / (padded + 1.0), 1.0))
    return np.concatenate(signatures)[:LAUNCHES], base, np.concatenate(factors)[:LAUNCHES]


FRESH: dict[str, Callable[[Random], Made]] = {
    "throttling with hysteresis": _throttling,
    "hot experts": _experts,
    "prefill and decode": _serving,
    "waits with heavy tails": _waits,
    "multi-tenant": _tenants,
    "sequence lengths": _lengths,
}


def _program(name: str) -> tuple[np.ndarray, Program]:
    sizes, change = JUDGED[name.removeprefix("judged ")] if name.startswith("judged ") else CHANGES[name]
    random = generator(11, "program " + name)
    people, profile = program(random, **sizes)
    return people.y * change(people, random), profile


def _fresh(name: str) -> tuple[np.ndarray, Program]:
    random = generator(41, "fresh " + name)
    signature, base, factors = FRESH[name](random)
    noise = np.exp(random.lognormal(-4.2, 0.6, len(base))[signature] * random.standard_normal(LAUNCHES))
    return base[signature] * noise * factors, _seven_kernels(signature, base)


MADE_UP: dict[str, Callable[[], tuple[np.ndarray, Program]]] = {
    **{name: partial(synthetic, name) for name in SYNTHETIC},
    **{f"program: {name}": partial(_program, name) for name in (*CHANGES, *(f"judged {key}" for key in JUDGED))},
    **{f"fresh: {name}": partial(_fresh, name) for name in FRESH},
}  # values, names and shapes of the launches, by the population's name
