"""STEM planned from the fast model's predictions, beside the model-assisted engine on the same predictions.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/against_stem.py FOLDER --truth v100 --model rtx --seeds 100

Each cell: share of runs whose error is inside the budget, speedup in cycles; STEM's plan promises its budget at 95 %.
"""

from __future__ import annotations

import numpy as np
from alternatives import one_shot, plan
from model import outcomes
from scaffold import add_full_runs, arguments, full_runs, percents, print_head, print_row

from kernelpoint.estimation import AssistedDesign


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def main() -> None:
    parser = arguments(__doc__, 100, "0.05,0.01,0.005")
    add_full_runs(parser)
    options = parser.parse_args()
    heads = [f"{who}, {budget}" for budget in percents(options.budgets) for who in ("STEM", "kernelpoint")]
    print_head("Workload", *heads)
    speeds: list[list[float]] = []
    for run in full_runs(options):
        y, predicted = run.counters["cycles"], run.predictions["cycles"]
        design = AssistedDesign({"cycles": predicted}, run.kernel, np.zeros(len(run.kernel)))
        row = []
        for eps in options.budgets:
            stem = one_shot("stem", y, plan("stem", predicted, run.kernel, eps, 0.95), eps, options.seeds)
            error, _, spent, _ = outcomes(design, y, "cycles", eps, options.seeds, y)
            for off, share in ((stem.error, stem.simulated), (error, spent)):
                row.append((float((np.abs(off) <= eps).mean()), 1.0 / float(share.mean())))
        speeds.append([speed for _, speed in row])
        print_row(run.name, *(f"{inside:.2f}, {speed:.1f}x" for inside, speed in row))
    print_row("geometric mean", *(f"{geometric(column):.1f}x" for column in zip(*speeds, strict=True)))


if __name__ == "__main__":
    main()
