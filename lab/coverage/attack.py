"""Coverage on 24 populations that one seed makes: 12 kinds of trouble, twice each; odd numbers may choose, even ones judge.

    python lab/coverage/attack.py --numbers 2,4,6 --given names,model,wrong,times --seeds 40

Launches are known by names and shapes; by predictions of a model that does not see the trouble (off by 5 % for each kernel and
3 % for each shape); by those of a wrong model (by kernel, by time, or by size); or by the times of a second run of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from made_up import program
from measure import EXPERIMENTS, over_populations
from populations import Population, with_metadata
from runs import arguments, print_table, text_of
from trouble import Launches

from kernelpoint.randomness import generator

Random = np.random.Generator


def _jumps(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    cuts = np.sort(run.random(fixed.integers(2, 8)))
    levels = np.exp(0.25 * run.standard_normal(len(cuts) + 1))
    return (1.0 + fixed.uniform(-0.3, 0.8) * p.place) * levels[np.searchsorted(cuts, p.place)]


def _bursts(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    starts = run.random(len(p.y)) < 1.0 / fixed.integers(300, 3000)
    is_slow = np.convolve(starts, np.ones(fixed.integers(5, 30)))[: len(p.y)] > 0
    return np.where(is_slow, fixed.uniform(1.5, 4.0), 1.0)


def _two_gpus(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    """The second GPU changes the cycles of each kernel by another factor; blocks of launches go to either."""
    second = np.exp(0.4 * fixed.standard_normal(int(p.kernel.max()) + 1))[p.kernel]
    block = np.arange(len(p.y)) // fixed.integers(20, 400)
    return np.where((run.random(block[-1] + 1) < fixed.uniform(0.2, 0.8))[block], second, 1.0)


def _correlated(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    rho, z = fixed.uniform(0.9, 0.995), run.standard_normal(len(p.y))
    for k in range(1, len(z)):  # autoregressive, of variance 1
        z[k] = rho * z[k - 1] + np.sqrt(1.0 - rho**2) * z[k]
    return np.exp(fixed.uniform(0.1, 0.4) * z)


def _pareto(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    index = fixed.uniform(1.5, 3.0)
    return np.where(p.kernel % 2 == 0, (1.0 - run.random(len(p.y))) ** (-1.0 / index) * (index - 1.0) / index, 1.0)


def _scatter(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    return np.exp(fixed.uniform(0.02, 0.3) * run.standard_normal(len(p.y)))


def _periodic(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    period = 2 ** int(fixed.integers(3, 8))
    return np.where(p.every(period, int(fixed.integers(period))), fixed.uniform(1.5, 4.0), 1.0)


def _streams(p: Launches, fixed: Random, run: Random) -> np.ndarray:
    """Two streams in turns of random length; half of the signatures take longer in the second."""
    second = np.cumsum(run.random(len(p.y)) < fixed.uniform(0.02, 0.3)) % 2 == 1
    return np.where(second & (p.signature % 2 == 0), fixed.uniform(1.1, 1.6), 1.0)


# factors of the cycles, from random numbers of the program and of one run of it
KINDS: dict[str, Callable[[Launches, Random, Random], np.ndarray]] = {
    "drift with jumps": _jumps,
    "time depends on data": lambda p, fixed, run: np.where(
        p.kernel % 3 == 0, np.exp(fixed.uniform(0.2, 0.8) * fixed.standard_normal(len(p.y))), 1.0
    ),
    "bursts of slow launches": _bursts,
    "two GPUs": _two_gpus,
    "correlated order": _correlated,
    "Pareto tails": _pareto,
    "near constant latency": _scatter,
    "20 to 200 launches": _scatter,
    "500 names": _scatter,
    "slow first launches": lambda p, fixed, run: np.where(
        p.first(1, fixed.choice(["kernel", "signature"])), run.uniform(10.0, 50.0, len(p.y)), 1.0
    ),
    "periodic": _periodic,
    "two streams": _streams,
}
RANGES = {"launches": (400, 2400), "signatures": (10, 120), "layers": (2, 20)}  # of the numbers of a program
RANGES_OF = {
    "20 to 200 launches": {"launches": (20, 200), "signatures": (3, 12)},
    "500 names": {"launches": (2400, 2401), "signatures": (700, 800), "kernels": (500, 501)},
}


def attack(number: int, given: str, seed: int) -> Population:
    """Made-up program number 1 to 24. `given` is known of it before sampling: names, model, wrong or times."""
    kind = list(KINDS)[(number - 1) // 2]
    fixed = generator(seed, "attack", number)
    sizes = {name: int(fixed.integers(*ends)) for name, ends in (RANGES | RANGES_OF.get(kind, {})).items()}
    base, light = program(fixed, **sizes, spread=-40.0)
    S, K = int(base.signature.max()) + 1, int(base.kernel.max()) + 1
    deviation = np.exp(fixed.uniform(-5.0, -3.0) + 0.6 * fixed.standard_normal(S))[base.signature]
    latency = round(base.y.mean() * fixed.uniform(3.0, 30.0)) if kind == "near constant latency" else 0.0
    effects = np.exp(0.5 * fixed.standard_normal(K))[base.kernel]

    def recorded(run: str) -> np.ndarray:
        of_run = generator(seed, f"attack {run}", number)
        noise = np.exp(deviation * of_run.standard_normal(len(base.y)))
        return latency + base.y * noise * KINDS[kind](base, generator(seed, "attack trouble", number), of_run)

    x = base.y * effects**0.1 * np.exp(0.03 * fixed.standard_normal(S))[base.signature]
    wrong = x * effects, x * np.linspace(1.0, 2.0, len(x)), x * (x / x.mean()) ** -0.3
    predicted = {"model": x, "wrong": wrong[int(fixed.integers(3))]}
    people = replace(with_metadata(f"{number} {kind}", recorded("run"), light), latency=latency)
    if given == "names":
        return people
    if given == "times":
        return replace(people.with_times(recorded("profile")), latency=0.0)
    return replace(people, predictions={"cycles": latency + predicted[given]})


def main() -> None:
    parser = arguments(__doc__, 40, "0.05,0.01")
    parser.add_argument("--numbers", default="2,4,6,8,10,12,14,16,18,20,22,24", help="of the populations")
    parser.add_argument("--given", default="names,model,wrong,times")
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--seed", type=int, default=1, help="of the populations")
    parser.set_defaults(counter="cycles")
    options, held = parser.parse_args(), EXPERIMENTS["held"]
    for given in options.given.split(","):
        people = [attack(int(number), given, options.seed) for number in options.numbers.split(",")]
        rows = (
            ((one.name, text_of(eps)), numbers)
            for one in (replace(one, assume=options.assume) for one in people)
            for eps in options.budgets
            for _, numbers in held.rows(one, eps, options)
        )
        print(f"\n{given}\n")
        over_populations(print_table(["population", "budget"], held.columns, rows))


if __name__ == "__main__":
    main()
