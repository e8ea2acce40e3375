"""Tables of coverage: share of runs whose interval contains the truth, cost of runs, and launches that they could miss.

    python lab/coverage/measure.py --populations "v100_resnet50,program: drift,rtx2080ti_resnet:periodic" --assume hostile
    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/measure.py FOLDER --truth v100 --model rtx [--wrong | --trouble judged] --seeds 500

Without FOLDER launches are known by traces, or names and shapes (populations.py). With it results are looked up in the full
run of one configuration, and predictions are those of the other. `--show` names what a cell tells:

    held      share of runs whose interval holds the total, speedup in cycles (time), bias, mean and most passes; last the
              share of seeds in which a looser budget simulates more than the next tighter one
    stem      share of runs of STEM, planned from the same predictions, whose error is inside the budget, speedup (FOLDER)
    counters  a row for each counter: draws, share of runs whose interval holds, the same of runs that state one no wider than
              WEAK (printed under the simulator's own name), share of these, median half-width, draws that are no zeros.
              `--further dram_reads=0.05` adds targets to the budget
    unseen    the sentence on what a run could miss, where a part of the launches, another one for every seed, takes three
              times as long: share of runs in which it is wrong (no draw is slow, and slow ones make up more than it says) at
              all rates, and at the worst; mean share stated
    planted   the same launches slow in every run: share of runs whose bound holds, whose bound holds with what the sentence
              adds to it, and in which it is wrong; share that is slow, mean one stated
    single    the open unit that breaks the budget first: medians of its multiple and of that of a unit of mean size; mean
              probability of being drawn; share of runs that draw it, or whose interval leaves the total out, where it takes
              twice the multiple
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from full_runs import RUNS
from made_up import MADE_UP
from populations import PROFILES, population, shared_data
from runs import Case, arguments, full_runs, percents, print_head, print_row, sampled
from stem import stem
from trouble import GROUPS, Launches, troubled

from kernelpoint.estimation import ErrorBudget, Look
from kernelpoint.randomness import generator

WEAK = 0.25  # as report/sentences.py
RATES = tuple(1.0 / n for n in (5, 10, 20, 30, 40, 60, 80, 120, 200))
SLOW = 3.0
PLANTS = {"1 in 97 x3": (97, 3.0), "1 in 50 x1.5": (50, 1.5), "1 in 200 x3": (200, 3.0)}  # one in so many, by how much


def wrong_models(x: np.ndarray, kernel: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Predictions made wrong on purpose, by name."""
    random = generator(0, "wrong models")
    share = np.bincount(kernel, weights=x) / x.sum()
    big, middling = int(np.argmax(share)), int(np.argmin(np.abs(share - 0.05)))
    within = x.copy()
    within[kernel == big] = random.permutation(x[kernel == big])
    yield "shuffled", random.permutation(x)
    yield "constant", np.full(len(x), x.mean())
    yield "30 % noise", x * np.exp(0.3 * random.standard_normal(len(x)))
    yield "drifting to twice", x * np.linspace(1.0, 2.0, len(x))
    yield "largest kernel x3", np.where(kernel == big, 3.0 * x, x)
    yield "a 5 % kernel x0.3", np.where(kernel == middling, 0.3 * x, x)
    yield "largest kernel shuffled", within


def cases(options: Namespace) -> Iterator[Case]:
    """Every row."""
    if options.folder is None:
        yield from (sampled(population(name), options.assume) for name in options.populations.split(","))
        return
    for run in full_runs(options):
        if options.wrong:
            for name, x in wrong_models(run.predictions[options.counter], run.kernel):
                changed = replace(run, name=f"{run.name}, {name}", predictions={options.counter: x})
                yield changed.case(options.assume)
        for trouble in GROUPS.get(options.trouble, filter(None, options.trouble.split(","))):
            base = Launches(run.counters["cycles"], run.kernel, run.kernel)
            y = troubled(base, trouble, f"{trouble} {run.name}")
            yield replace(run, name=f"{run.name}, {trouble}", counters={"cycles": y}).case(options.assume)
        if not (options.wrong or options.trouble):
            yield run.case(options.assume)


def held(case: Case, options: Namespace) -> list[str]:
    """Cells of a row, one for each budget and one on looser budgets."""
    counter, cost = options.counter, case.y / case.y.sum()
    total, cells, spent = float(case.values[counter].sum()), [], []
    for eps in options.budgets:
        rows = []
        for seed in range(options.seeds):
            engine, look = case.run(ErrorBudget(eps, counter=counter), seed, (counter,))
            estimate = look.estimates[counter]
            error = estimate.estimate / total - 1.0
            rows.append((error, estimate.contains(total), cost[engine.drawn()].sum(), engine.looks))
        error, holds, share, passes = np.array(rows, dtype=float).T
        spent.append(share)
        bias = f"{100 * error.mean():+.3f} %"
        cells.append(f"{holds.mean():.3f}, {1 / share.mean():.1f}x, {bias}, {passes.mean():.1f}/{passes.max():.0f}")
    dearer = (f"{(loose > tight * (1.0 + 1e-12)).mean():.3f}" for loose, tight in pairwise(spent))
    return [*cells, ", ".join(dearer)]


def counters(case: Case, options: Namespace) -> None:
    """Print the rows of a case."""
    names = tuple(case.values)
    parts = (text.partition("=") for text in options.further.split(",") if text)
    further = {name: float(error) for name, _, error in parts}
    for eps in options.budgets:
        found: list[list[tuple[float, ...]]] = [[] for _ in names]
        draws = []
        for seed in range(options.seeds):
            engine, look = case.run(ErrorBudget(eps, further=further), seed, names)
            drawn = engine.drawn()
            draws.append(len(drawn))
            for rows, name in zip(found, names, strict=True):
                estimate, values = look.estimates[name], case.values[name]
                holds = np.isnan(estimate.half_width) or estimate.contains(float(values.sum()))
                rows.append((holds, estimate.relative_half_width, float((values[drawn] != 0).sum())))
        for name, rows in zip(names, found, strict=True):
            holds, width, nonzero = np.array(rows, dtype=float).T
            known = width <= WEAK
            inside = f"{holds[known].mean():.2f}" if known.any() else "-"
            half = np.nanmedian(width) if np.isfinite(width).any() else np.nan
            cells = (
                f"{holds.mean():.2f}",
                inside,
                f"{known.mean():.2f}",
                f"{100 * half:.3g} %",
                f"{nonzero.mean():.1f}",
            )
            print_row(case.name, f"{100 * eps:g} %", f"{np.mean(draws):.1f}", name, *cells)


def stated_share(look: Look) -> float:
    """Share of the total that kinds of launches without a draw make up at most, as the look says; 0 where all is drawn."""
    found = (re.search(r"never sampled make up at most ([\d.e+-]+) %", line) for line in look.assumptions)
    return max((float(match[1]) / 100.0 for match in found if match), default=0.0)


def unseen(case: Case, eps: float, seeds: int) -> str:
    """One cell of `--show unseen`."""
    y, found = case.y, []
    for rate in RATES:
        rows = []
        for seed in range(seeds):
            slow = generator(seed, f"unseen {rate:.4f}").random(len(y)) < rate
            engine, look = case.run(ErrorBudget(eps), seed, cycles=np.where(slow, SLOW * y, y))
            share = stated_share(look)
            rows.append((not slow[engine.drawn()].any() and y[slow].sum() / y.sum() > share, share))
        found.append(rows)
    wrong, share = np.moveaxis(np.array(found, dtype=float), 2, 0)
    worst = int(wrong.mean(axis=1).argmax())
    most = f"{wrong[worst].mean():.3f} at 1 in {1 / RATES[worst]:.0f}"
    return f"{wrong.mean():.3f}, {most}, {100 * share.mean():.1f} %"


def planted(case: Case, eps: float, seeds: int, every: int, factor: float) -> str:
    """One cell of `--show planted`."""
    y, rows = case.y, []
    slow = np.arange(len(y)) % every == every // 7
    truth, share = np.where(slow, factor * y, y), float(y[slow].sum() / y.sum())
    for seed in range(seeds):
        engine, look = case.run(ErrorBudget(eps), seed, cycles=truth)
        estimate, stated = look.estimates["cycles"], stated_share(look)
        off = abs(estimate.estimate - truth.sum())
        within = off <= estimate.half_width + (factor - 1.0) * stated * estimate.estimate
        missed = share > stated and not slow[engine.drawn()].any()
        rows.append((estimate.contains(float(truth.sum())), within, missed, stated))
    holds, widened, missed, stated = np.mean(np.array(rows, dtype=float), axis=0)
    return f"{holds:.2f}, {widened:.2f}, {missed:.2f}, {100 * share:.1f} of {100 * stated:.1f} %"


def single(case: Case, eps: float, seeds: int) -> str:
    """One cell of `--show single`."""
    y, rows = case.y, []
    for seed in range(seeds):
        if (found := case.run(ErrorBudget(eps), seed)[1].open_unit) is None:
            continue
        truth = y.copy()
        truth[found.unit] *= 2.0 * found.times
        engine, look = case.run(ErrorBudget(eps), seed, cycles=truth)
        breaks = found.unit in engine.drawn() or not look.estimates["cycles"].contains(float(truth.sum()))
        rows.append((found.times, 1.0 + eps * len(y), found.probability, breaks))
    if not rows:
        return "all is drawn"
    times, mean, likely, breaks = np.array(rows, dtype=float).T
    return f"{np.median(times):.3g}x, {np.median(mean):.3g}x, {likely.mean():.3f}, {breaks.mean():.2f}"


Cell = Callable[[Case, float, int], str]


def columns(options: Namespace) -> dict[str, tuple[Cell, float]]:
    """Headings, and what each column tells at a budget."""
    heads, budgets = percents(options.budgets), options.budgets
    if options.show != "planted":
        cell = {"unseen": unseen, "single": single}[options.show]
        return {head: (cell, eps) for head, eps in zip(heads, budgets, strict=True)}
    return {
        f"{plant}, {head}": (lambda case, eps, seeds, of=of: planted(case, eps, seeds, *of), eps)
        for plant, of in PLANTS.items()
        for head, eps in zip(heads, budgets, strict=True)
    }


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.01,0.005")
    real = (*RUNS, "simpletorch accelsim", *PROFILES) if shared_data() else RUNS
    parser.add_argument("--populations", default=",".join((*real, *MADE_UP)))
    parser.add_argument("--show", choices=("held", "stem", "counters", "unseen", "planted", "single"), default="held")
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--counter", default="cycles", help="of the budget")
    parser.add_argument("--further", default="", help="further targets: dram_reads=0.05,l2_accesses=0.05")
    parser.add_argument("--wrong", action="store_true", help="models made wrong on purpose instead of the model")
    parser.add_argument("--trouble", default="", help=f"names of trouble.py, or one of {', '.join(GROUPS)}")
    options = parser.parse_args()
    if options.show == "counters":
        print_head(
            "Workload", "budget", "draws", "counter", "held", "of those known", "known", "half-width", "no zeros"
        )
        for case in cases(options):
            counters(case, options)
    elif options.show == "stem":
        print_head("Workload", *percents(options.budgets))
        for run in full_runs(options):
            print_row(run.name, *(stem(run, eps, options.seeds) for eps in options.budgets))
    elif options.show == "held":
        print_head("Population", *percents(options.budgets), "looser dearer")
        for case in cases(options):
            print_row(case.name, *held(case, options))
    else:
        shown = columns(options)
        print_head("Population", *shown)
        for case in cases(options):
            print_row(case.name, *(cell(case, eps, options.seeds) for cell, eps in shown.values()))


if __name__ == "__main__":
    main()
