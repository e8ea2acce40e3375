"""Coverage of what the main table leaves out: scope `cluster`, budgets on another counter.

    python lab/coverage/variants.py [--seeds 200] [--minutes 8]

One line per population and variant: share of runs within the budget (of clusters, in scope `cluster`), share of intervals that
hold the truth at the stop, cycle speedup, mean and largest number of passes.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from designs import design
from populations import Population, population

from kernelpoint.estimation import Engine, ErrorBudget, Look, passes

POPULATIONS = (
    "cnn-inference v100",
    "transformer-decode rtx",
    "graph-traversal v100",
    "simpletorch v100",
    "mixed",
    "drift",
)
VARIANTS = {  # name: what differs from the defaults
    "fixed": {"bound": "fixed"},
    "cluster": {"scope": "cluster"},
    "dram_reads": {"counter": "dram_reads"},
    "l2_accesses": {"counter": "l2_accesses"},
}


def run(people: Population, budget: ErrorBudget, seed: int) -> tuple[Look, float, int]:
    """Passes to the end: the last look, the share of cycles simulated, the number of passes."""
    engine = Engine(
        design(people, ErrorBudget(budget.relative_error, budget.confidence, counter=budget.counter), seed), budget
    )
    names = ("cycles", budget.counter) if budget.counter != "cycles" else ("cycles",)
    values = np.column_stack([people.counters[name] if name != "cycles" else people.y for name in names])
    *_, look = passes(engine, names, values)
    return look, look.estimates["cycles"].simulated / float(people.y.sum()), engine.looks


def held(people: Population, budget: ErrorBudget, seed: int, look: Look) -> list[tuple[bool, bool]]:
    """(inside the budget, interval holds the truth) of each total that the budget is about."""
    truth = people.y if budget.counter == "cycles" else people.counters[budget.counter]
    if budget.scope == "workload":
        pairs = [(look.estimates[budget.counter], float(truth.sum()))]
    else:
        made = design(people, ErrorBudget(budget.relative_error, budget.confidence, counter=budget.counter), seed)
        totals = np.bincount(np.append(made.clusters, 0)[made.strata], weights=truth * (made.strata >= 0))
        pairs = [(part["estimates"][budget.counter], totals[part["cluster"]]) for part in look.clusters]
    return [(abs(e.estimate - t) <= budget.relative_error * abs(t) * (1 + 1e-6), e.contains(t)) for e, t in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--budgets", default="0.05,0.01")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--populations", default=",".join(POPULATIONS))
    options, start = parser.parse_args(), time.monotonic()
    for variant, change in VARIANTS.items():
        for name in options.populations.split(","):
            people = population(name)
            if "counter" in change and change["counter"] not in people.counters:
                continue
            for eps in map(float, options.budgets.split(",")):
                if time.monotonic() - start > 60 * options.minutes:
                    sys.exit(f"stopped after {options.minutes:g} minutes")
                budget = ErrorBudget(eps, **change)
                runs = [(*run(people, budget, seed), seed) for seed in range(options.seeds)]
                flat = [pair for look, _, _, seed in runs for pair in held(people, budget, seed, look)]
                within, cover = np.mean(flat, axis=0)
                passes = [r[2] for r in runs]
                speedup = 1.0 / np.mean([r[1] for r in runs])
                share = f"within {within:.3f} holds {cover:.3f} x{speedup:.1f}"
                spent = f"passes {np.mean(passes):.1f}, at most {max(passes)}"
                print(f"{variant:<12}{name:<24}{100 * eps:g} %  {share} {spent}", flush=True)


if __name__ == "__main__":
    main()
