"""Calibration of the sentence on what a run could miss, on populations with slow launches that nothing tells.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/unseen.py FOLDER --truth v100 --model rtx --seeds 100

In each run a part of the launches, another part and other launches for every seed, takes three times as long. The sentence is
wrong where no draw is one of them and they make up more of the total than it says. Each cell: share of runs in which it is
wrong, of all runs and at the rate of slow launches at which that is most often; the mean share stated. Without predictions
(`--profiles`): launch metadata only. `--planted`: the same launches are slow in every run; share of runs whose bound holds,
whose bound holds with what the sentence adds to it, and in which the sentence is wrong; share that is slow, mean one stated.
`--single`: the open unit that breaks the budget first. Medians of its multiple and of that of a unit of mean size; its mean
probability of being drawn; share of runs that draw it, or whose interval leaves the total out, if it takes twice the multiple.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from designs import design as shipped
from populations import Population, population
from scaffold import add_full_runs, arguments, full_runs, percents, print_head, print_row

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Engine, ErrorBudget, Look, passes
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.randomness import generator, permanent_random_numbers

RATES = tuple(1.0 / n for n in (5, 10, 20, 30, 40, 60, 80, 120, 200))
SLOW = 3.0
PLANTS = {
    "1 in 97 x3": (97, 3.0),
    "1 in 50 x1.5": (50, 1.5),
    "1 in 200 x3": (200, 3.0),
}  # one launch in so many, by how much
Make = Callable[[int, ErrorBudget], BaseEngine]


def stated_share(look: Look) -> float:
    """Share of the total that may be of a kind that no draw is of, as the sentence says it; 0 where all is drawn."""
    found = [re.search(r"units that make up ([\d.e+-]+) %", line) for line in look.assumptions]
    return max((float(match[1]) / 100.0 for match in found if match), default=0.0)


def wrong(engine: BaseEngine, y: np.ndarray, rate: float, seed: int) -> tuple[bool, float]:
    """True if the sentence at the end of a run is wrong; and the share that it states."""
    slow = generator(seed, f"unseen {rate:.4f}").random(len(y)) < rate
    truth = np.where(slow, SLOW * y, y)
    *_, look = passes(engine, ("cycles",), truth)
    share = stated_share(look)
    return bool(not slow[engine.drawn()].any() and y[slow].sum() / y.sum() > share), share


def planted(make: Make, y: np.ndarray, every: int, factor: float, eps: float, seeds: int) -> str:
    """One cell of `--planted`."""
    slow = np.arange(len(y)) % every == every // 7
    truth, share = np.where(slow, factor * y, y), float(y[slow].sum() / y.sum())
    rows = []
    for seed in range(seeds):
        engine = make(seed, ErrorBudget(eps))
        *_, look = passes(engine, ("cycles",), truth)
        estimate, stated = look.estimates["cycles"], stated_share(look)
        off = abs(estimate.estimate - truth.sum())
        within = off <= estimate.half_width + (factor - 1.0) * stated * estimate.estimate
        missed = share > stated and not slow[engine.drawn()].any()
        rows.append((estimate.contains(float(truth.sum())), within, missed, stated))
    holds, widened, missed, stated = np.mean(np.array(rows, dtype=float), axis=0)
    return f"{holds:.2f}, {widened:.2f}, {missed:.2f}, {100 * share:.1f} of {100 * stated:.1f} %"


def single(make: Make, y: np.ndarray, eps: float, seeds: int) -> str:
    """One cell of `--single`."""
    rows = []
    for seed in range(seeds):
        engine = make(seed, ErrorBudget(eps))
        *_, look = passes(engine, ("cycles",), y)
        if (found := look.open_unit) is None:
            continue
        truth = y.copy()
        truth[found.unit] *= 2.0 * found.times
        again = make(seed, ErrorBudget(eps))
        *_, after = passes(again, ("cycles",), truth)
        breaks = found.unit in again.drawn() or not after.estimates["cycles"].contains(float(truth.sum()))
        rows.append((found.times, 1.0 + eps * len(y), found.probability, breaks))
    if not rows:
        return "all is drawn"
    times, mean, likely, breaks = np.array(rows, dtype=float).T
    return f"{np.median(times):.3g}x, {np.median(mean):.3g}x, {likely.mean():.3f}, {breaks.mean():.2f}"


def populations(options: Namespace) -> Iterator[tuple[str, np.ndarray, Make]]:
    """(name, values, maker of the engine of a seed and a budget) of every population."""
    for name in filter(None, options.profiles.split(",")):
        people = population(name)

        def sampled(seed: int, budget: ErrorBudget, people: Population = people) -> BaseEngine:
            return Engine(shipped(people, budget, seed, "a", options.assume), budget)

        yield name, people.y, sampled
    for run in full_runs(options) if options.folder else ():
        base = AssistedDesign(
            {"cycles": run.predictions["cycles"]}, run.kernel, np.zeros(len(run.kernel)), options.assume
        )

        def assisted(seed: int, budget: ErrorBudget, base: AssistedDesign = base) -> BaseEngine:
            return AssistedEngine(replace(base, u=permanent_random_numbers(seed, 0, base.size)), budget)

        yield run.name, run.counters["cycles"], assisted


def calibrated(make: Make, y: np.ndarray, eps: float, seeds: int) -> str:
    """One cell: share of runs in which the sentence is wrong, at all rates and at the worst; mean share stated."""
    runs = [[wrong(make(seed, ErrorBudget(eps)), y, rate, seed) for seed in range(seeds)] for rate in RATES]
    found = np.array(runs, dtype=float)
    by_rate = found[:, :, 0].mean(axis=1)
    worst = int(by_rate.argmax())
    most = f"{by_rate[worst]:.3f} at 1 in {1 / RATES[worst]:.0f}"
    return f"{by_rate.mean():.3f}, {most}, {100 * found[:, :, 1].mean():.1f} %"


def main() -> None:
    parser = arguments(__doc__, 100, "0.05,0.01")
    add_full_runs(parser, required=False)
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--profiles", default="")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    seeds, heads, cell = options.seeds, percents(options.budgets), single if options.single else calibrated
    cells = [(lambda make, y, eps=eps: cell(make, y, eps, seeds)) for eps in options.budgets]
    if options.planted:
        heads = [f"{plant}, {head}" for plant in PLANTS for head in heads]
        cells = [
            (lambda make, y, plant=plant, eps=eps: planted(make, y, *plant, eps, seeds))
            for plant in PLANTS.values()
            for eps in options.budgets
        ]
    print_head("Population", *heads)
    for name, y, make in populations(options):
        print_row(name, *(one(make, y) for one in cells))


if __name__ == "__main__":
    main()
