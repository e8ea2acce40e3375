"""Share of recorded runs that take what `kernelpoint plan` forecasts: launches, and speedup, in the 80 % range.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/forecasts.py FOLDER --truth v100 --model rtx --seeds 7

Results are looked up in the full run of one configuration; predictions are those of the other. The last columns: what runs took
over what the rehearsal of a run as predicted takes (as it is, without the margin), 10th, 50th and 90th percentile.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from model import read

from kernelpoint.estimation import Design, ErrorBudget, engine_for, passes
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.session.rehearsal import BUDGETS, ranged, rehearse


def run(
    truth: np.ndarray, predicted: np.ndarray, kernel: np.ndarray, eps: float, seed: int
) -> list[tuple[bool, float]]:
    """Launches and cost of one run: whether each is in its range, and how many times that of the first rehearsal it is."""
    u = permanent_random_numbers(seed, 0, len(truth))
    groups, count = kernel.astype(np.int32), int(kernel.max()) + 1
    design = Design(
        groups, np.ones(count, np.int64), u, predicted, clusters=np.arange(count), predictions={"cycles": predicted}
    )
    budget = ErrorBudget(eps)
    rehearsed = rehearse(design, budget, "regression", predicted, seed)
    engine = engine_for(design, budget)
    for _ in passes(engine, ("cycles",), truth):
        pass
    drawn, found = engine.drawn(), []
    for amount, of_run in (
        (lambda units: float(len(units)), float(len(drawn))),
        (lambda units: float(predicted[units].sum() / predicted.sum()), float(truth[drawn].sum() / truth.sum())),
    ):
        first, second = (amount(units) for units in rehearsed)
        low, high = ranged(first, max(first, second))
        found.append((low <= of_run <= high, of_run / first))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    parser.add_argument("--seeds", type=int, default=7)
    options = parser.parse_args()
    print("| Workload | runs | launches in range | speedup in range | launches | cost |\n|---|---|---|---|---|---|")
    every = []
    for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
        name = path.name.removesuffix(f"-{options.truth}.csv")
        truth, kernel = read(path)
        predicted = read(options.folder / f"{name}-{options.model}.csv")[0]["cycles"]
        runs = [run(truth["cycles"], predicted, kernel, eps, s) for eps in BUDGETS for s in range(options.seeds)]
        every += runs
        print(row(name, runs), flush=True)
    print(row("all", every))


def row(name: str, runs: list[list[tuple[bool, float]]]) -> str:
    table = np.array(runs, dtype=float)
    inside = " | ".join(f"{share:.2f}" for share in table[:, :, 0].mean(axis=0))
    spread = " | ".join(", ".join(f"{q:.2f}" for q in np.quantile(table[:, k, 1], (0.1, 0.5, 0.9))) for k in (0, 1))
    return f"| {name} | {len(runs)} | {inside} | {spread} |"


if __name__ == "__main__":
    main()
