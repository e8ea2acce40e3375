"""Coverage of the bound of `kernelpoint compare` on the ratio of two full runs, and how much tighter it is than two bounds.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/NAME-GPU.csv    # once for each workload and GPU
    python lab/coverage/paired.py FOLDER NAME=LIST ... --truth v100 --model rtx --seeds 50

Policy `kernelpoint` without predictions, on both GPUs: share of seeds whose paired interval holds the ratio of the full runs'
cycles; its half-width, and that of the ratio from both runs' own bounds, relative to the ratio; median over seeds of one over
the other; mean error; launches drawn in both runs.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from full_runs import known_from_traces
from populations import Population, full_runs, with_traces
from runs import Numbers, add_folder, arguments, mean, percent, print_table, share, text_of, times

from kernelpoint.estimation import ErrorBudget
from kernelpoint.estimation.paired import joint_error_probability, paired_totals
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.traces import launch_paths


def one(people: Population, second: np.ndarray, eps: float, seed: int) -> Sequence[float]:
    """Whether the interval holds, paired and separate relative half-widths, one over the other, error, common launches."""
    budget = ErrorBudget(eps)
    made = people.design(budget, seed)
    a, b = (people.run(budget, seed, cycles=y) for y in (people.y, second))
    drawn = np.intersect1d(a.engine.drawn(), b.engine.drawn())
    inside, exact = drawn[made.strata[drawn] >= 0], drawn[made.strata[drawn] < 0]
    totals = np.bincount(made.strata + 1, made.x, len(made.first_sizes) + 1)[1:]
    sample = Sample(made.strata[inside], made.sizes, made.clusters, made.x[inside], totals)
    kinds = tuple(run.engine.pass_state()["kinds"] for run in (a, b))
    alpha = joint_error_probability(("sequential", "sequential"), 0.05, kinds)
    values = np.column_stack([people.y, second])
    pair = paired_totals(sample, values[inside], values[exact], "regression", alpha)
    p, q = (run.look.estimates["cycles"] for run in (a, b))
    high = (q.estimate + q.half_width) / (p.estimate - p.half_width)
    low = (q.estimate - q.half_width) / (p.estimate + p.half_width)
    truth = second.sum() / people.y.sum()
    paired, separate = pair.ratio.half_width / truth, 0.5 * (high - low) / truth
    error = abs(pair.ratio.value / truth - 1.0)
    return pair.ratio.contains(truth), paired, separate, separate / max(paired, 1e-12), error, len(drawn)


def rows(options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Each workload that has a list, at each budget."""
    lists = dict(workload.split("=", 1) for workload in options.workloads)
    for run in (run for run in full_runs(options) if run.name in lists):
        people = with_traces(run.name, run.y, known_from_traces(launch_paths(lists[run.name])))
        second = run.predictions["cycles"]
        for eps in options.budgets:
            numbers = map(partial(one, people, second, eps), range(options.seeds))
            yield (run.name, f"{second.sum() / run.y.sum():.4f}", text_of(eps)), numbers


def main() -> None:
    parser = arguments(__doc__, 50, "0.05,0.01")
    add_folder(parser)
    parser.add_argument("workloads", nargs="+", help="NAME=LIST")
    columns = {
        "held": share, "paired": percent, "separate": percent, "tighter": times, "error": percent, "common launches": mean,
    }  # fmt: skip
    print_table(["workload", "ratio", "budget"], columns, rows(parser.parse_args()))


if __name__ == "__main__":
    main()
