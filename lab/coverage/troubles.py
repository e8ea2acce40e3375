"""Coverage of both engines on random populations with one kind of trouble each: the worth of each special case of the
engine.

    python lab/coverage/troubles.py --seeds 80

A population has a few groups, predictions that scatter, and values that are off them in one way; each seed has another one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from populations import last_look
from runs import Numbers, arguments, bias, mean, print_table, share, speedup, text_of

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, stratify
from kernelpoint.randomness import generator, permanent_random_numbers

TROUBLES = ("none", "first units", "begin", "tails", "drift", "wrong groups")
KINDS = ("assisted", "stratified")  # with predictions; from names alone


def values(seed: int, units: int, trouble: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups, predictions and values of the launches of a random population with one kind of disturbance."""
    random = generator(seed, "nested")
    group = random.integers(0, int(random.integers(2, 12)), units)
    count = int(group.max()) + 1
    x = random.lognormal(6.0, 1.5, count)[group] * random.lognormal(0.0, random.uniform(0.0, 0.5), units)
    y = x * random.lognormal(0.0, random.choice([0.003, 0.02, 0.1]), units)
    place = np.arange(units) / units
    factor = {
        "none": np.ones(units),
        "first units": np.where(np.isin(np.arange(units), np.unique(group, return_index=True)[1]), 6.0, 1.0),
        "begin": np.where(place < 0.06, 2.5, 1.0),
        "tails": np.where(random.random(units) < 0.02, 4.0, 1.0),
        "drift": 1.0 + place,
        "wrong groups": random.lognormal(0.0, 0.3, count)[group],
    }[trouble]
    return group, x, y * factor


def engine_of(kind: str, group: np.ndarray, x: np.ndarray, seed: int, eps: float, assume: str = "ordinary") -> Engine:
    """The engine of a run with that budget: with predictions, or from names alone."""
    u, budget = permanent_random_numbers(seed, 0, len(x)), ErrorBudget(eps)
    if kind == "assisted":
        return Engine(AssistedDesign({"cycles": x}, group, u, assume), budget)
    neighbour = np.concatenate(([0], group[:-1]))
    levels = [group, group * 100 + neighbour]
    return Engine(
        stratify(levels, budget, spreads=(0.5, 0.05), slow_excess=4.0, allowance=0.5, design_error=0.005).design(u, seed),
        budget,
    )


def numbers(kind: str, eps: float, trouble: str, seeds: int, units: int) -> Numbers:
    """Numbers of each run: 1 if the interval contains the total, else 0; share simulated, sampled launches, rounds of sampling,
    relative error.
    """
    for seed in range(seeds):
        group, x, y = values(seed, units, trouble)
        engine = engine_of(kind, group, x, seed, eps)
        estimate, drawn = last_look(engine, ("cycles",), y).estimates["cycles"], engine.drawn()
        error = estimate.estimate / y.sum() - 1.0
        yield estimate.contains(y.sum()), y[drawn].sum() / y.sum(), len(drawn), engine.looks, error


def main() -> None:
    parser = arguments(__doc__, 80, "0.05,0.01,0.005")
    parser.add_argument("--units", type=int, default=2000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    print_table(
        ["engine", "budget", "trouble"],
        {"held": share, "speedup": speedup, "draws": mean, "passes": mean, "bias": bias},
        (
            ((kind, text_of(eps), trouble), numbers(kind, eps, trouble, options.seeds, options.units))
            for kind, eps, trouble in product(options.kinds.split(","), options.budgets, TROUBLES)
        ),
    )


if __name__ == "__main__":
    main()
