"""Share of recorded runs that take what `kernelpoint plan` forecasts: launches, and speedup, in the 80 % range.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/forecasts.py FOLDER --truth v100 --model rtx --seeds 7

Results are looked up in the full run of one configuration; predictions are those of the other. The last columns: what runs took
over what the rehearsal of a run as predicted takes (as it is, without the margin), 10th, 50th and 90th percentile.
"""

from __future__ import annotations

import numpy as np
from runs import arguments, full_runs, print_head, print_row

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, passes
from kernelpoint.planning.forecasts import ranged, rehearse
from kernelpoint.randomness import permanent_random_numbers


def run(
    truth: np.ndarray, predicted: np.ndarray, kernel: np.ndarray, eps: float, seed: int
) -> list[tuple[bool, float]]:
    """Launches and cost of one run: whether each is in its range, and how many times that of the first rehearsal it is."""
    u = permanent_random_numbers(seed, 0, len(truth))
    design = AssistedDesign({"cycles": predicted}, kernel.astype(np.int32), u)
    budget = ErrorBudget(eps)
    rehearsed = rehearse(design, budget, "regression", predicted, seed)
    engine = Engine(design, budget)
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


def cells(runs: list[list[tuple[bool, float]]]) -> list[str]:
    """Shares in range, and quantiles of what runs took, of launches and of cost."""
    table = np.array(runs, dtype=float)
    spread = (", ".join(f"{q:.2f}" for q in np.quantile(table[:, k, 1], (0.1, 0.5, 0.9))) for k in (0, 1))
    return [*(f"{share:.2f}" for share in table[:, :, 0].mean(axis=0)), *spread]


def main() -> None:
    parser = arguments(__doc__, 7, "0.05,0.01,0.005")
    options = parser.parse_args()
    print_head("Workload", "runs", "launches in range", "speedup in range", "launches", "cost")
    every = []
    for full in full_runs(options):
        truth, predicted = full.counters["cycles"], full.predictions["cycles"]
        runs = [
            run(truth, predicted, full.kernel, eps, seed) for eps in options.budgets for seed in range(options.seeds)
        ]
        every += runs
        print_row(full.name, len(runs), *cells(runs))
    print_row("all", len(every), *cells(every))


if __name__ == "__main__":
    main()
