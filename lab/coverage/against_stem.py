"""STEM planned from the fast model's predictions, beside the model-assisted engine on the same predictions.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/against_stem.py FOLDER --truth v100 --model rtx --seeds 100

Each cell: share of runs whose error is inside the budget, speedup in cycles; STEM's plan promises its budget at 95 %.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from alternatives import one_shot, plan
from model import outcomes, read

from kernelpoint.estimation import AssistedDesign


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    parser.add_argument("--budgets", default="0.05,0.01,0.005")
    parser.add_argument("--seeds", type=int, default=100)
    options = parser.parse_args()
    budgets = [float(text) for text in options.budgets.split(",")]
    heads = [f"{who}, {100 * eps:g} %" for eps in budgets for who in ("STEM", "kernelpoint")]
    print("| Workload | " + " | ".join(heads) + " |\n" + "|---" * (1 + len(heads)) + "|")
    speeds: dict[str, list[float]] = {head: [] for head in heads}
    for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
        name = path.name.removesuffix(f"-{options.truth}.csv")
        truth, kernel = read(path)
        predicted = read(options.folder / f"{name}-{options.model}.csv")[0]["cycles"]
        y = truth["cycles"]
        design = AssistedDesign({"cycles": predicted}, kernel, np.zeros(len(kernel)))
        row = []
        for eps in budgets:
            stem = one_shot("stem", y, plan("stem", predicted, kernel, eps, 0.95), eps, options.seeds)
            error, _, spent, _ = outcomes(design, y, "cycles", eps, options.seeds, y)
            for who, off, share in (("STEM", stem.error, stem.simulated), ("kernelpoint", error, spent)):
                speed = 1.0 / float(share.mean())
                speeds[f"{who}, {100 * eps:g} %"].append(speed)
                row.append(f"{float((np.abs(off) <= eps).mean()):.2f}, {speed:.1f}x")
        print(f"| {name} | " + " | ".join(row) + " |")
        sys.stdout.flush()
    print("| geometric mean | " + " | ".join(f"{geometric(v):.1f}x" for v in speeds.values()) + " |")


if __name__ == "__main__":
    main()
