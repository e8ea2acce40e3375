"""Coverage of every counter that a run states, not that of its budget alone: with predictions and without.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/counters.py FOLDER --truth v100 --model rtx --seeds 60
    python lab/coverage/counters.py FOLDER --truth v100 --without --seeds 60
    python lab/coverage/counters.py FOLDER --budgets 0.01 --further dram_reads=0.05,l2_accesses=0.05

The budget is on cycles, and on further targets where some are given. Each row is a counter of a full run at a budget: share of
runs whose interval holds its total; the same of runs that state one no wider than WEAK, which is printed under the simulator's
own name; share of these runs; median half-width.
"""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from populations import RUNS, population
from scaffold import add_full_runs, arguments, full_runs, print_head, print_row

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Engine, ErrorBudget, passes
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.randomness import permanent_random_numbers

WEAK = 0.25  # as report/sentences.py
Make = Callable[[int, ErrorBudget], BaseEngine]


def assisted(options: Namespace) -> Iterator[tuple[str, dict[str, np.ndarray], Make]]:
    """(name, counters, maker of the engine) of every full run, with the predictions of another configuration."""
    for run in full_runs(options):
        base = AssistedDesign(run.predictions, run.kernel, np.zeros(len(run.kernel)), options.assume)

        def make(seed: int, budget: ErrorBudget, base: AssistedDesign = base) -> BaseEngine:
            u = permanent_random_numbers(seed, 0, base.size)
            design = AssistedDesign(base.predictions, base.groups, u, base.assume, base._trees)
            return AssistedEngine(design, budget)

        yield run.name, run.counters, make


def unassisted(names: list[str]) -> Iterator[tuple[str, dict[str, np.ndarray], Make]]:
    """The same of recorded full runs (full_runs.py) with traces, without predictions."""
    from designs import design

    for name in names:
        people = population(name)

        def make(seed: int, budget: ErrorBudget, people=people) -> BaseEngine:
            return Engine(design(people, budget, seed), budget)

        yield name, people.counters, make


def outcomes(
    make: Make, counters: dict[str, np.ndarray], budget: ErrorBudget, seeds: int
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean draws; of each counter float64 [seeds, 4]: held, relative half-width (nan: none), relative error, draws that are no
    zeros.
    """
    names = tuple(counters)
    values = np.stack([counters[name] for name in names], axis=1)
    totals = values.sum(axis=0)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    draws = []
    for seed in range(seeds):
        engine = make(seed, budget)
        *_, look = passes(engine, names, values)
        drawn = engine.drawn()
        draws.append(len(drawn))
        for column, name in enumerate(names):
            e = look.estimates[name]
            held = np.isnan(e.half_width) or e.contains(float(totals[column]))
            error = (e.estimate - totals[column]) / max(totals[column], 1e-300)
            found[name].append((held, e.relative_half_width, error, float((values[drawn, column] != 0).sum())))
    return float(np.mean(draws)), {name: np.array(rows, dtype=float) for name, rows in found.items()}


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.01,0.005")
    add_full_runs(parser, required=False)
    parser.add_argument("--without", action="store_true", help="recorded full runs with traces, without predictions")
    parser.add_argument("--workloads", default=",".join(RUNS))
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--further", default="", help="further targets: dram_reads=0.05,l2_accesses=0.05")
    parser.add_argument("--rows", type=Path, help="a CSV of all cells")
    options = parser.parse_args()
    found = unassisted(options.workloads.split(",")) if options.without else assisted(options)
    parts = (text.partition("=") for text in options.further.split(",") if text)
    further = {name: float(error) for name, _, error in parts}
    rows = []
    print_head("Workload", "budget", "draws", "counter", "held", "of those known", "known", "half-width", "no zeros")
    for name, counters, make in found:
        for eps in options.budgets:
            draws, columns = outcomes(make, counters, ErrorBudget(eps, further=further), options.seeds)
            for counter, runs in columns.items():
                known = runs[:, 1] <= WEAK
                inside = f"{runs[known, 0].mean():.2f}" if known.any() else "-"
                half = np.nanmedian(runs[:, 1]) if np.isfinite(runs[:, 1]).any() else np.nan
                held, share, nonzero = runs[:, 0].mean(), known.mean(), runs[:, 3].mean()
                rows.append((name, eps, counter, held, inside, share, half, nonzero))
                cells = (f"{held:.2f}", inside, f"{share:.2f}", f"{100 * half:.3g} %", f"{nonzero:.1f}")
                print_row(name, f"{100 * eps:g} %", f"{draws:.1f}", counter, *cells)
    if options.rows:
        with options.rows.open("w", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
