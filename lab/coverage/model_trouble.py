"""Trouble that predictions do not tell, planted in full runs: share of intervals that hold, speedup, mean passes.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/model_trouble.py FOLDER --truth v100 --model rtx --seeds 60
    python lab/coverage/model_trouble.py FOLDER --truth v100 --model rtx --seeds 60 --judged

Parameters were chosen on the first kinds of trouble; the judged ones were only looked at.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from model import outcomes
from scaffold import add_full_runs, arguments, full_runs, print_head, print_row
from trouble import first_of

from kernelpoint.estimation import AssistedDesign
from kernelpoint.randomness import generator

Change = Callable[
    [np.ndarray, np.ndarray, np.random.Generator], np.ndarray
]  # (kernel, place in the run, random) -> factors
TROUBLE: dict[str, Change] = {
    "none": lambda k, t, r: np.ones(len(t)),
    "first 5 % x3": lambda k, t, r: np.where(t < 0.05, 3.0, 1.0),
    "first 5 % x1.5": lambda k, t, r: np.where(t < 0.05, 1.5, 1.0),
    "first of each kernel x10": lambda k, t, r: np.where(first_of(k, 1), 10.0, 1.0),
    "1 in 97 x3": lambda k, t, r: np.where(np.arange(len(t)) % 97 == 13, 3.0, 1.0),
    "1 in 50 x1.5": lambda k, t, r: np.where(np.arange(len(t)) % 50 == 13, 1.5, 1.0),
    "1 in 200 x3": lambda k, t, r: np.where(r.random(len(t)) < 0.005, 3.0, 1.0),
    "drift to twice": lambda k, t, r: 1.0 + t,
    "imbalance": lambda k, t, r: 0.6 * (1.0 - r.random(len(t))) ** (-1.0 / 2.5),
}
JUDGED: dict[str, Change] = {
    "1 + 2 exp(-t / 3 %)": lambda k, t, r: 1.0 + 2.0 * np.exp(-t / 0.03),
    "first 2 % x4": lambda k, t, r: np.where(t < 0.02, 4.0, 1.0),
    "first 10 % x1.3": lambda k, t, r: np.where(t < 0.1, 1.3, 1.0),
    "half of the first ones x6": lambda k, t, r: np.where(first_of(k, 1) & (r.random(len(t)) < 0.5), 6.0, 1.0),
    "first ones x(1 + lognormal)": lambda k, t, r: np.where(
        first_of(k, 1), 1.0 + np.exp(1.5 + r.standard_normal(len(t))), 1.0
    ),
    "first five of each kernel x3": lambda k, t, r: np.where(first_of(k, 5), 3.0, 1.0),
}


def main() -> None:
    parser = arguments(__doc__, 60)
    add_full_runs(parser)
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--workloads", default="", help="names, separated by commas; default: all in the folder")
    parser.add_argument("--judged", action="store_true")
    options = parser.parse_args()
    asked = options.workloads.split(",")
    runs = [run for run in full_runs(options) if not options.workloads or run.name in asked]
    print_head("Trouble", *(run.name for run in runs))
    for trouble, change in (JUDGED if options.judged else TROUBLE).items():
        row = []
        for run in runs:
            x = run.predictions["cycles"]
            random, place = generator(0, f"trouble {trouble} {run.name}"), np.arange(len(x)) / len(x)
            y = run.counters["cycles"] * change(run.kernel, place, random)
            design = AssistedDesign({"cycles": x}, run.kernel, np.zeros(len(x)), options.assume)
            _, held, spent, passes = outcomes(design, y, "cycles", options.eps, options.seeds, y)
            row.append(f"{held.mean():.2f}, {1.0 / spent.mean():.0f}x, {passes.mean():.1f}")
        print_row(trouble, *row)


if __name__ == "__main__":
    main()
