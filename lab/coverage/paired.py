"""Coverage of the bound of `kernelpoint compare` on the ratio of two full runs, and how much tighter it is than two bounds.

    python lab/coverage/paired.py LIST... --gpus v100,rtx --seeds 50 --folder out/paired

`cover` is the share of seeds whose paired interval holds the ratio of the full runs' cycles; `paired` its half-width,
`separate` the half-width of the ratio from both runs' own bounds, both relative to the ratio; `tighter` the median over
seeds of one over the other; `common` the launches drawn in both runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from replayed import Replayed, sampled, say

from kernelpoint.estimation.estimators import Sample
from kernelpoint.estimation.paired import joint_error_probability, paired_totals


def compare(workload: Replayed, first: np.ndarray, second: np.ndarray, budget: float, seed: int) -> list[float]:
    """One seed: whether the interval holds, paired and separate relative half-widths, error, common launches."""
    design = workload.design(budget, seed)
    (a, look_a), (b, look_b) = sampled(design, first, budget), sampled(design, second, budget)
    drawn = np.intersect1d(a.drawn(), b.drawn())
    inside, exact = drawn[design.strata[drawn] >= 0], drawn[design.strata[drawn] < 0]
    totals = np.bincount(design.strata + 1, design.x, len(design.first_sizes) + 1)[1:]
    sample = Sample(design.strata[inside], design.sizes, design.clusters, design.x[inside], totals)
    alpha = joint_error_probability(
        ("sequential", "sequential"), 0.05, (a.pass_state()["kinds"], b.pass_state()["kinds"])
    )
    values = np.column_stack([first, second])
    pair = paired_totals(sample, values[inside], values[exact], "regression", alpha)
    p, q = look_a.estimates["cycles"], look_b.estimates["cycles"]
    high = (q.estimate + q.half_width) / (p.estimate - p.half_width)
    low = (q.estimate - q.half_width) / (p.estimate + p.half_width)
    truth = second.sum() / first.sum()
    held = pair.ratio.contains(truth)
    return [held, pair.ratio.half_width / truth, 0.5 * (high - low) / truth, pair.ratio.value / truth - 1, len(drawn)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--gpus", default="v100,rtx", help="two configurations of the embedded host")
    parser.add_argument("--budgets", default="0.05,0.01")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path("out/paired"), help="where full runs are kept")
    options = parser.parse_args()
    for source in options.lists:
        workload = Replayed.read(source, options.folder)
        first, second = (workload.cycles(gpu) for gpu in options.gpus.split(","))
        for budget in map(float, options.budgets.split(",")):
            rows = np.array([compare(workload, first, second, budget, seed) for seed in range(options.seeds)])
            mean = rows.mean(axis=0)
            say(
                f"{workload.name:<20} {options.gpus} {100 * budget:g} % ratio {second.sum() / first.sum():.4f} "
                f"cover {mean[0]:.3f} paired {100 * mean[1]:.3f} % separate {100 * mean[2]:.3f} % "
                f"tighter {np.median(rows[:, 2] / np.maximum(rows[:, 1], 1e-12)):.1f}x "
                f"error {100 * np.abs(rows[:, 3]).mean():.3f} % common {mean[4]:.0f}"
            )


if __name__ == "__main__":
    main()
