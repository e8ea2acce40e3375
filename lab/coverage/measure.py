"""Coverage and cycle speedup of every method on every population; rows of JSON, which table.py prints.

    python lab/coverage/measure.py --out rows.jsonl --seeds 500
    python lab/coverage/measure.py --out rows.jsonl --populations drift,mixed --knowledge c --minutes 8

Rows that the file has are not measured again, so a long measurement can be split. `within`, `cover`, `ever` and `t SE` count
runs: error inside the budget; stated interval at the stop holds the truth; a wrong statement at any look; what the interval
would have held without being raised to the budget (bounds.stated). Knowledge: (a) traces or launch metadata, (b) the very
times that are then sampled, an oracle, (c) times of the other GPU configuration.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from alternatives import Orders, Outcomes, clt, one_shot, plan
from designs import expected_times
from full_runs import RUNS
from methods import kernelpoint
from populations import PROFILES, SYNTHETIC, TUNING, Population, population, shared_data

from kernelpoint.estimation import ErrorBudget

TIGHTER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01)
SLACK = 1e-9
PILOTS = {"random": 30, "stratified": 2}  # first draws of each stratum
Row = dict[str, object]


def counts(error: np.ndarray, half: np.ndarray, wrong: np.ndarray, simulated: np.ndarray, eps: float) -> Row:
    """Columns of a row on all runs of a cell."""
    return {
        "runs": len(error),
        "within": int((np.abs(error) <= eps + SLACK).sum()),
        "cover": int((np.abs(error) <= half + SLACK).sum()),
        "ever_wrong": int(wrong.sum()),
        "rms_error": float(np.sqrt((error**2).mean())),
        "speedup": float(1.0 / simulated.mean()),
    }


def ours(people: Population, eps: float, confidence: float, knowledge: str, seeds: int) -> Row:
    """The row of the engine on the shipped policy's design."""
    budget = ErrorBudget(eps, confidence)
    runs = [kernelpoint(people, budget, seed, knowledge) for seed in range(seeds)]
    names = ("error", "half_width", "ever_wrong", "simulated", "computed", "passes")
    error, half, wrong, simulated, computed, passes = (np.array([getattr(run, name) for run in runs]) for name in names)
    return {
        **counts(error, half, wrong, simulated, eps),
        "computed": int((np.abs(error) <= computed + SLACK).sum()),
        "passes": float(passes.mean()),
    }


@lru_cache(maxsize=2)
def orders(people: Population, method: str, seeds: int) -> Orders:
    """Random orders for simple random sampling, or within signatures."""
    strata = np.zeros(len(people.y), np.int64) if method == "random" else people.signature
    return Orders.of(people.y, np.unique(strata, return_inverse=True)[1], seeds)


def alternative(
    method: str, people: Population, times: np.ndarray | None, eps: float, level: float, seeds: int
) -> Outcomes:
    """One of the alternatives at an epsilon and a confidence."""
    if method in PILOTS:
        return clt(orders(people, method, seeds), PILOTS[method], eps, level)
    assert times is not None
    return one_shot(method, people.y, plan(method, times, people.kernel, eps, level), eps, seeds)


def with_tightening(
    method: str, people: Population, times: np.ndarray | None, eps: float, level: float, seeds: int
) -> Row:
    """The row at the budget, and the one at the loosest tightened epsilon at which enough runs end inside the budget."""
    first: Row = {}
    for factor in TIGHTER:
        found = alternative(method, people, times, eps * factor, level, seeds)
        row = counts(found.error, found.half_width, found.ever_wrong, found.simulated, eps)
        first = first or row
        if row["within"] >= level * seeds:
            return {**first, "tightened": {**row, "factor": factor}}
    return {**first, "tightened": None}


def plan_times(people: Population, knowledge: str) -> np.ndarray | None:
    """The times that STEM and Allegro plan from."""
    return {"a": expected_times(people), "b": people.y, "c": people.elsewhere}[knowledge]


def cells(options: argparse.Namespace) -> list[tuple[str, float, float, str, str]]:
    """(population, budget, confidence, knowledge, method) of every row that is asked for."""
    found = []
    asked = (options.populations, options.knowledge, options.methods, options.confidences, options.budgets)
    for name, knowledge, method, level, eps in product(*(text.split(",") for text in asked)):
        if knowledge == "c" and name not in RUNS:
            continue
        if knowledge != "a" and method in PILOTS:  # these use no times
            continue
        found.append((name, float(eps), float(level), knowledge, method))
    return found


def measure(cell: tuple[str, float, float, str, str], seeds: int) -> Row:
    """The row of one cell."""
    name, eps, level, knowledge, method = cell
    people = population(name)
    if method == "kernelpoint":
        row = ours(people, eps, level, knowledge, seeds)
    else:
        row = with_tightening(method, people, plan_times(people, knowledge), eps, level, seeds)
    first = np.unique(people.signature, return_index=True)[1]
    total = float(people.y.sum())
    return {
        "population": name,
        "budget": eps,
        "confidence": level,
        "knowledge": knowledge,
        "method": method,
        "tuning": name in TUNING,
        "one_per_stream_speedup": total / float(people.y[first].sum()),
        "beyond_latency": total / (total - people.latency * len(people.y)),
        **row,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    real = (*RUNS, "simpletorch accelsim", *PROFILES) if shared_data() else RUNS
    parser.add_argument("--populations", default=",".join((*real, *SYNTHETIC)))
    parser.add_argument("--budgets", default="0.05,0.01,0.005")
    parser.add_argument("--confidences", default="0.95,0.9")
    parser.add_argument("--knowledge", default="a")
    parser.add_argument("--methods", default="kernelpoint,random,stratified,stem,allegro")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=60.0, help="start no further row after this long")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    keys = ("population", "budget", "confidence", "knowledge", "method")
    have = set()
    if options.out.exists():
        have = {tuple(row[k] for k in keys) for row in map(json.loads, options.out.read_text().splitlines())}
    start = time.monotonic()
    for cell in cells(options):
        if cell in have:
            continue
        if time.monotonic() - start > 60.0 * options.minutes:
            sys.exit(f"stopped after {options.minutes:g} minutes; the same call goes on")
        with options.out.open("a") as file:
            file.write(json.dumps(measure(cell, options.seeds)) + "\n")


if __name__ == "__main__":
    main()
