"""Share of runs in which a looser error budget simulates more than a tighter one on the same list and seed.

    python lab/coverage/budgets.py --seeds 60 --populations "v100_resnet50,program: drift"
    python lab/coverage/budgets.py --seeds 250 --full-runs FOLDER --truth v100 --model rtx      # with predictions

One row for each population: speedup in cycles (time) and mean passes at each budget, and for each pair of neighbouring budgets
the share of seeds. FOLDER as of model.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from designs import design
from model import read
from populations import PROFILES, SYNTHETIC, population, shared_data
from programs import CHANGES, JUDGED

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Engine, ErrorBudget, passes
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.randomness import permanent_random_numbers

Start = Callable[[ErrorBudget, int], BaseEngine]  # of a budget and a seed


def without_predictions(names: list[str]) -> Iterator[tuple[str, np.ndarray, Start]]:
    """Each population with its values and the engine of a run."""
    for name in names:
        people = population(name)
        yield name, people.y, lambda budget, seed, people=people: Engine(design(people, budget, seed), budget)


def with_predictions(folder: Path, truth: str, model: str) -> Iterator[tuple[str, np.ndarray, Start]]:
    """The same for full runs of the embedded host, with the results of another configuration for predictions."""
    for path in sorted(folder.glob(f"*-{truth}.csv")):
        name = path.name.removesuffix(f"-{truth}.csv")
        y, kernel = read(path)
        predictions = {"cycles": read(folder / f"{name}-{model}.csv")[0]["cycles"]}
        trees: dict = {}

        def start(budget: ErrorBudget, seed: int, of=(predictions, kernel, trees)) -> AssistedEngine:
            told, groups, made = of
            u = permanent_random_numbers(seed, 0, len(groups))
            return AssistedEngine(AssistedDesign(told, groups, u, _trees=made), budget)

        yield name, y["cycles"], start


def row(y: np.ndarray, start: Start, budgets: list[float], seeds: int) -> str:
    """Speedup and passes at each budget, and how often a looser one simulated more."""
    spent, looks = np.zeros((len(budgets), seeds)), np.zeros((len(budgets), seeds))
    for k, eps in enumerate(budgets):
        for seed in range(seeds):
            engine = start(ErrorBudget(eps), seed)
            for _ in passes(engine, ("cycles",), y):
                pass
            spent[k, seed], looks[k, seed] = y[engine.drawn()].sum() / y.sum(), engine.looks
    cells = [f"{1.0 / s.mean():.1f}x, {n.mean():.1f}/{n.max():.0f}" for s, n in zip(spent, looks, strict=True)]
    dearer = [f"{(loose > tight * (1.0 + 1e-12)).mean():.3f}" for loose, tight in pairwise(spent)]
    return " | ".join([*cells, ", ".join(dearer)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    programs = [f"program: {name}" for name in CHANGES] + [f"program: judged {name}" for name in JUDGED]
    everything = [*(PROFILES if shared_data() else ()), *SYNTHETIC, *programs]
    parser.add_argument("--populations", default=",".join(everything))
    parser.add_argument("--full-runs", type=Path)
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    parser.add_argument("--budgets", default="0.05,0.02,0.01,0.005")
    parser.add_argument("--seeds", type=int, default=60)
    options = parser.parse_args()
    budgets = [float(text) for text in options.budgets.split(",")]
    found = without_predictions(options.populations.split(","))
    if options.full_runs:
        found = with_predictions(options.full_runs, options.truth, options.model)
    print("| Population | " + " | ".join(f"{100 * eps:g} %" for eps in budgets) + " | looser dearer |")
    print("|---" * (2 + len(budgets)) + "|")
    for name, y, start in found:
        print(f"| {name} | {row(y, start, budgets, options.seeds)} |", flush=True)


if __name__ == "__main__":
    main()
