"""Coverage of the half-widths of ranges, over seeds.

    python lab/coverage/ranges.py [--seeds 200] [--budgets 0.01] [POPULATION ...]
    python lab/coverage/ranges.py --quarters --seeds 20 --budgets 0.05,0.02 [POPULATION ...]

Populations are those of populations.py, and `BASE:TROUBLE` (trouble.py); `model: POPULATION` is predicted by a model made wrong
on purpose. Ranges are those that are detected, and ten phases of ten layers each where nothing repeats; `kernels: POPULATION`
has a range for each kernel and shape instead. Of each population: the mean share of runs in which a range was held, over ranges
and weighted by their totals; the least one, of all and of ranges of more than 5 % of the total; the median relative half-width
of ranges by depth; the share of runs in which all were held at once.

quarters: the error budget is on the run and on each of its quarters. Mean draws, speedup, share of runs in which the run, and a
quarter, were held, and the quarter that was held least.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from populations import Population, last_look, population
from runs import arguments, print_row, speedup, text_of

from kernelpoint.estimation import Engine, ErrorBudget, RangeTargets, Tree, subtotals
from kernelpoint.randomness import generator
from kernelpoint.ranges import Ranges
from kernelpoint.ranges.sources.detected import repeats

POPULATIONS = (
    "h100_owlv2", "v100_df_index", "v100_resnet50", "b200_eager", "rtx2080ti_resnet", "a100_control", "a100_negative_queue",
    "drift", "late_change", "bimodal", "uneven", "mixed",
    "model: h100_owlv2", "model: v100_df_index", "model: v100_resnet50", "model: drift", "model: late_change", "model: mixed",
)  # fmt: skip
KERNELS, MODEL = "kernels: ", "model: "
LARGE = 0.05  # of the total


def wrong_model(people: Population) -> Population:
    """The population with predictions that have an error of level and slope for each kernel and shape, and random errors of 3
    %.
    """
    y, signature, random = people.y, people.signature, generator(0, "wrong model")
    level = random.lognormal(0.0, 0.15, int(signature.max()) + 1)
    smooth = np.bincount(signature, weights=y) / np.maximum(np.bincount(signature), 1)
    x = (0.3 * smooth[signature] + 0.7 * y) * level[signature] * random.lognormal(0.0, 0.03, len(y))
    return replace(people, kernel=signature, predictions={"cycles": x})


@cache
def ranged(name: str) -> tuple[Population, Ranges]:
    """A population by name, and its ranges: detected, or phases and layers of equal numbers where nothing repeats."""
    people = population(name.removeprefix(KERNELS).removeprefix(MODEL))
    people = wrong_model(people) if MODEL in name else people
    if name.startswith(KERNELS):
        return people, Ranges.of([f"kernel.{k}" for k in people.signature.tolist()], "kernels")
    if any(paths := repeats(people.signature)):
        return people, Ranges.of(paths, "detected")
    place = np.arange(len(people.y)) * 100 // len(people.y)
    return people, Ranges.of([f"phase.{p // 10}/layer.{p % 10}" for p in place.tolist()], "made up")


def totals(people: Population, ranges: Ranges, eps: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Estimates and half-widths of the ranges of one run, and the share of the total that it simulated."""
    run = people.run(ErrorBudget(eps), seed)
    engine, count = run.engine, len(people.y)
    results = np.zeros(count, bool)
    results[engine.drawn()] = True
    parts = subtotals(
        Tree(ranges.parents, ranges.of_launch), run.look.estimates["cycles"], engine.predict(np.arange(count))[:, 0],
        results, engine.unit_errors("cycles"), engine.has_bias,
    )  # fmt: skip
    estimates, halves = (np.array([getattr(part, key) for part in parts]) for key in ("estimate", "half_width"))
    return estimates, halves, run.spent


def cells(name: str, eps: float, seeds: int) -> list[str]:
    """Measure one population, and return the cells of its row."""
    people, ranges = ranged(name)
    truths = Tree(ranges.parents, ranges.of_launch).sums(people.y)[: len(ranges.paths)]
    depths = np.array([path.count("/") + (path != "") for path in ranges.paths])
    estimates, halves, spent = map(np.array, zip(*(totals(people, ranges, eps, seed) for seed in range(seeds)), strict=True))
    right = np.abs(estimates - truths) <= halves + 1e-9 * truths
    held, part, inner = right.mean(axis=0), truths / truths[0], depths > 0
    large = inner & (part > LARGE)
    widths = np.median(halves / np.maximum(np.abs(estimates), 1e-300), axis=0)
    shares = held[0], held[inner].mean(), np.average(held[inner], weights=part[inner]), held[inner].min()
    return [
        f"{int(inner.sum())}",
        *(f"{value:.3f}" for value in shares),
        f"{held[large].min():.3f} ({int(large.sum())})" if large.any() else "-",
        ", ".join(f"{100 * np.median(widths[depths == depth]):.1f}" for depth in range(min(4, depths.max() + 1))),
        speedup(spent),
        f"{right.all(axis=1).mean():.3f}",
    ]


def quarters(name: str, eps: float, seeds: int) -> list[str]:
    """Measure one population with each quarter of the run as a further target, and return the cells of its row."""
    people, _ = ranged(name)
    quarter = np.arange(len(people.y)) * 4 // len(people.y)
    tree = Tree(np.array([-1, 0, 0, 0, 0]), quarter + 1)
    names = {f"cycles of quarter {k}": ("cycles", tree, k + 1) for k in range(4)}
    targets = RangeTargets(names)
    budget, truths = ErrorBudget(eps, further=dict.fromkeys(names, eps)), np.bincount(quarter, weights=people.y)
    held, draws, spent = [], [], []
    for seed in range(seeds):
        engine = Engine(people.design(budget, seed), budget, ranges=targets)
        look, drawn = last_look(engine, ("cycles",), people.y), engine.drawn()
        parts = [look.ranges[target].contains(truth) for target, truth in zip(names, truths, strict=True)]
        held.append([look.estimates["cycles"].contains(truths.sum()), *parts])
        draws.append(len(drawn))
        spent.append(people.y[drawn].sum() / people.y.sum())
    right = np.mean(held, axis=0)
    shares = right[0], right[1:].mean(), right[1:].min()
    return [f"{np.mean(draws):.0f}", speedup(np.array(spent)), *(f"{share:.3f}" for share in shares)]


def main() -> None:
    parser = arguments(__doc__, 200, "0.01")
    parser.add_argument("populations", nargs="*", default=POPULATIONS)
    parser.add_argument("--quarters", action="store_true", help="each quarter is a target")
    options = parser.parse_args()
    heads = ("Population", "budget", "draws", "speedup", "run held", "quarters held, mean", "least") if options.quarters else (
        "Population", "budget", "ranges", "run held", "ranges held, mean", "weighted", "least",
        "least of those above 5 % (how many)", "half-width by depth, %", "speedup", "all at once",
    )  # fmt: skip
    print_row(*heads)
    print("|---" * len(heads) + "|")
    for name in options.populations:
        for eps in options.budgets:
            print_row(name, text_of(eps), *(quarters if options.quarters else cells)(name, eps, options.seeds))


if __name__ == "__main__":
    main()
