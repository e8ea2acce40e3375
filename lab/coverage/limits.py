"""Coverage of `at_most`, the upper limit of a counter of which the sampled launches show too little for a half-width.

    python lab/coverage/limits.py --seeds 60 [--judged]

Made-up programs of 2,000 launches whose L1 accesses are known beforehand; nothing predicts their L1 misses. A row is one rule
by which launches miss. Columns: share of runs that state a limit; of these, share whose limit is at least the total; medians of
the limit and of the total over the L1 accesses. Each seed makes another program. Numbers of kernels and mean shares of misses
differ between the programs that chose the formula and those that `--judged` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from runs import Numbers, arguments, median_percent, print_table, share, text_of

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.randomness import generator, permanent_random_numbers
from kernelpoint.totals.limits import with_limits

N = 2000
CHOSE, JUDGED = ((20, 60), (0.3, 0.1, 0.03)), ((12, 100), (0.2, 0.06, 0.02))  # numbers of kernels, mean shares of misses
Shares = Callable[[np.random.Generator, np.ndarray, np.ndarray, int, float], np.ndarray]


def _rank(values: np.ndarray) -> np.ndarray:
    """Rank from 0, least, to 1, of each value."""
    return np.argsort(np.argsort(values)) / max(len(values) - 1, 1)


# Rule -> share of its accesses that each launch misses, from random numbers, kernel of each launch, accesses, number of
# kernels, and mean share
RULES: dict[str, Shares] = {
    "single launches": lambda r, kernel, accesses, kernels, mean: 1.0 * (r.random(N) < mean),
    "launches of some kernels": lambda r, kernel, accesses, kernels, mean: (
        r.random(N) * (r.random(N) < r.beta(0.3, 0.3 / mean - 0.3, kernels)[kernel])
    ),
    "whole kernels": lambda r, kernel, accesses, kernels, mean: 1.0 * (r.random(kernels) < mean)[kernel],
    "a share of each kernel": lambda r, kernel, accesses, kernels, mean: r.beta(0.5, 0.5 / mean - 0.5, kernels)[kernel],
    "more of kernels with more launches": lambda r, kernel, accesses, kernels, mean: (
        1.0 * (r.random(N) < 2.0 * mean * _rank(np.bincount(kernel, minlength=kernels))[kernel])
    ),
    "more of kernels with more accesses": lambda r, kernel, accesses, kernels, mean: (
        1.0 * (r.random(N) < 2.0 * mean * _rank(np.bincount(kernel, accesses, kernels))[kernel])
    ),
    "more of launches with more accesses": lambda r, kernel, accesses, kernels, mean: (
        1.0 * (r.random(N) < 2.0 * mean * _rank(accesses))
    ),
    "first launches": lambda r, kernel, accesses, kernels, mean: (
        1.0 * np.isin(np.arange(N), np.unique(kernel, return_index=True)[1])
    ),
    "only launches with the most accesses": lambda r, kernel, accesses, kernels, mean: (
        1.0 * (accesses >= np.quantile(accesses, 1.0 - mean / 3.0))
    ),
}


def run(rule: str, seed: int, kernels: int, mean: float, eps: float) -> Sequence[float]:
    """A limit is stated, it holds, limit and total over the accesses; of one run."""
    r = generator(seed, f"limits {kernels} {mean}")
    kernel = r.choice(kernels, N, p=r.dirichlet(np.full(kernels, 0.7)) if seed % 3 else None)
    kernel = np.unique(np.sort(kernel) if seed % 2 else kernel, return_inverse=True)[1]
    kernels = int(kernel.max()) + 1
    cycles = 1000.0 * np.exp(r.normal(0.0, 0.8, kernels))[kernel] * r.lognormal(0.0, 0.03, N)
    spread, inside = r.choice([0.5, 1.5]), r.choice([0.0, 1.0])  # of the accesses, between kernels and inside
    accesses = np.ceil(np.exp(r.normal(4.0, spread, kernels))[kernel] * r.lognormal(0.0, inside, N))
    misses = np.round(RULES[rule](r, kernel, accesses, kernels, mean) * accesses)
    predictions = {"cycles": cycles * r.lognormal(0.0, 0.03, N), "l1_accesses": accesses}
    design = AssistedDesign(predictions, kernel, permanent_random_numbers(seed, 0, N))
    engine = Engine(design, ErrorBudget(eps))
    *_, look = passes(engine, ("cycles", "l1_accesses", "l1_misses"), np.stack([cycles, accesses, misses], axis=1))
    stated = with_limits(look, engine, Plan(Program((N,)), design, {}), set(), ("cycles",)).estimates["l1_misses"]
    limit, whole, total = stated.at_most, accesses.sum(), misses.sum()
    return float(limit == limit), float(limit >= total) if limit == limit else np.nan, limit / whole, total / whole


def rows(seeds: int, budgets: Sequence[float], is_judged: bool) -> Iterator[tuple[Sequence[object], Numbers]]:
    kinds = JUDGED if is_judged else CHOSE
    for rule, eps in product(RULES, budgets):
        first = 1000 * is_judged
        runs = (run(rule, seed, *kind, eps) for seed in range(first, first + seeds) for kind in product(*kinds))
        yield (rule, text_of(eps)), runs


if __name__ == "__main__":
    parser = arguments(__doc__, 20, "0.05,0.01")
    parser.add_argument("--judged", action="store_true", help="the programs that chose nothing")
    options = parser.parse_args()
    columns = {"limited": share, "limit holds": share, "limit of accesses": median_percent, "total of accesses": median_percent}
    print_table(("misses", "budget"), columns, rows(options.seeds, options.budgets, options.judged))
