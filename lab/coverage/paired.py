"""Coverage of the bound of `kernelpoint compare` on the ratio of two full runs, and how much tighter it is than two bounds.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/NAME-GPU.csv    # once for each workload and GPU
    python lab/coverage/paired.py FOLDER NAME=LIST ... --truth v100 --model rtx --seeds 50

Policy `kernelpoint` without predictions, on both GPUs. Cells: share of seeds whose paired interval holds the ratio of the full
runs' cycles; its half-width, and that of the ratio from both runs' own bounds, relative to the ratio; median over seeds of one
over the other; mean error; launches drawn in both runs.
"""

from __future__ import annotations

import numpy as np
from full_runs import known_from_traces
from populations import Population, with_traces
from runs import arguments, design, full_runs, print_head, print_row, sampled

from kernelpoint.estimation import ErrorBudget
from kernelpoint.estimation.paired import joint_error_probability, paired_totals
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.traces import launch_paths


def compare(people: Population, second: np.ndarray, eps: float, seed: int) -> list[float]:
    """One seed: whether the interval holds, paired and separate relative half-widths, error, common launches."""
    budget, first = ErrorBudget(eps), people.y
    made, case = design(people, budget, seed), sampled(people)
    (a, look_a), (b, look_b) = (case.run(budget, seed, cycles=y) for y in (first, second))
    drawn = np.intersect1d(a.drawn(), b.drawn())
    inside, exact = drawn[made.strata[drawn] >= 0], drawn[made.strata[drawn] < 0]
    totals = np.bincount(made.strata + 1, made.x, len(made.first_sizes) + 1)[1:]
    sample = Sample(made.strata[inside], made.sizes, made.clusters, made.x[inside], totals)
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
    parser = arguments(__doc__, 50, "0.05,0.01")
    parser.add_argument("workloads", nargs="+", help="NAME=LIST")
    options = parser.parse_args()
    lists = dict(workload.split("=", 1) for workload in options.workloads)
    print_head("Workload", "Ratio", "Budget", "Cover", "Paired", "Separate", "Tighter", "Error", "Common launches")
    for run in (run for run in full_runs(options) if run.name in lists):
        people = with_traces(run.name, run.counters["cycles"], known_from_traces(launch_paths(lists[run.name])))
        second = run.predictions["cycles"]
        for eps in options.budgets:
            rows = np.array([compare(people, second, eps, seed) for seed in range(options.seeds)])
            held, paired, separate, error, common = rows.T
            print_row(
                run.name, f"{second.sum() / people.y.sum():.4f}", f"{100 * eps:g} %", f"{held.mean():.3f}",
                f"{100 * paired.mean():.3f} %", f"{100 * separate.mean():.3f} %",
                f"{np.median(separate / np.maximum(paired, 1e-12)):.1f}x", f"{100 * np.abs(error).mean():.3f} %",
                f"{common.mean():.0f}",
            )  # fmt: skip


if __name__ == "__main__":
    main()
