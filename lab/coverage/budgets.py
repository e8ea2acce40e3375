"""Share of runs in which a looser error budget simulates more than a tighter one on the same list and seed.

    python lab/coverage/budgets.py --seeds 60 --populations "v100_resnet50,program: drift"
    python lab/coverage/budgets.py FOLDER --seeds 250 --truth v100 --model rtx      # with predictions

One row for each population: speedup in cycles (time) and mean passes at each budget, and for each pair of neighbouring budgets
the share of seeds. FOLDER as of model.py.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from designs import design
from populations import PROFILES, SYNTHETIC, population, shared_data
from programs import CHANGES, JUDGED
from scaffold import add_full_runs, arguments, full_runs, percents, print_head, print_row

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Engine, ErrorBudget, passes
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.randomness import permanent_random_numbers

Start = Callable[[ErrorBudget, int], BaseEngine]  # of a budget and a seed


def without_predictions(names: list[str]) -> Iterator[tuple[str, np.ndarray, Start]]:
    """Each population with its values and the engine of a run."""
    for name in names:
        people = population(name)
        yield name, people.y, lambda budget, seed, people=people: Engine(design(people, budget, seed), budget)


def with_predictions(options: Namespace) -> Iterator[tuple[str, np.ndarray, Start]]:
    """The same for full runs of the embedded host, with the results of another configuration for predictions."""
    for run in full_runs(options):
        predictions, trees = {"cycles": run.predictions["cycles"]}, {}

        def start(budget: ErrorBudget, seed: int, of=(predictions, run.kernel, trees)) -> AssistedEngine:
            told, groups, made = of
            u = permanent_random_numbers(seed, 0, len(groups))
            return AssistedEngine(AssistedDesign(told, groups, u, _trees=made), budget)

        yield run.name, run.counters["cycles"], start


def row(y: np.ndarray, start: Start, budgets: list[float], seeds: int) -> list[str]:
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
    return [*cells, ", ".join(dearer)]


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.02,0.01,0.005")
    add_full_runs(parser, required=False)
    programs = [f"program: {name}" for name in CHANGES] + [f"program: judged {name}" for name in JUDGED]
    everything = [*(PROFILES if shared_data() else ()), *SYNTHETIC, *programs]
    parser.add_argument("--populations", default=",".join(everything))
    options = parser.parse_args()
    found = with_predictions(options) if options.folder else without_predictions(options.populations.split(","))
    print_head("Population", *percents(options.budgets), "looser dearer")
    for name, y, start in found:
        print_row(name, *row(y, start, options.budgets, options.seeds))


if __name__ == "__main__":
    main()
