"""Correction lines of the fast model: one for each kernel name, or shared by kernels whose embeddings are alike?

    kernelpoint-host -trace LIST -config GPU -results FOLDER/NAME-GPU.csv    # once for each workload and GPU
    python lab/coverage/groups.py FOLDER NAME=LIST ... --truth v100 --model rtx --seeds 60

Predictions are the cycles of one full run, the truth those of another. Cells: share of runs whose interval holds the total,
cycle speedup, draws.
"""

from __future__ import annotations

import numpy as np
from runs import Case, arguments, full_runs, percents, print_head, print_row

from kernelpoint.clustering import run_features, threshold_clusters
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import ErrorBudget
from kernelpoint.policies.methods.kernelpoint import CLUSTER_DISTANCE
from kernelpoint.traces import launch_paths, scan_launches


def shared_lines(trace_list: str, kernel: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The line of each kernel in the policy `kernelpoint`: the cluster in which most of its predicted cycles are."""
    scan = scan_launches(launch_paths(trace_list))
    alike = threshold_clusters(run_features(embed_streams(scan)), CLUSTER_DISTANCE)[scan.stream_ids]
    share = np.zeros((kernel.max() + 1, alike.max() + 1))
    np.add.at(share, (kernel, alike), x)
    return np.unique(share.argmax(axis=1), return_inverse=True)[1].ravel()


def cell(case: Case, eps: float, seeds: int) -> str:
    """Share held, speedup and mean draws."""
    rows = []
    for seed in range(seeds):
        engine, look = case.run(ErrorBudget(eps), seed)
        drawn = engine.drawn()
        rows.append((look.estimates["cycles"].contains(case.y.sum()), case.y[drawn].sum() / case.y.sum(), len(drawn)))
    held, share, draws = np.mean(np.array(rows, dtype=float), axis=0)
    return f"{held:.2f}, {1.0 / share:.1f}x, {draws:.1f}"


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.01,0.005")
    parser.add_argument("workloads", nargs="+", help="NAME=LIST")
    options = parser.parse_args()
    lists = dict(workload.split("=", 1) for workload in options.workloads)
    print_head("Workload", "Lines", "Number", *percents(options.budgets))
    for run in (run for run in full_runs(options) if run.name in lists):
        line = shared_lines(lists[run.name], run.kernel, run.predictions["cycles"])
        for title, lines in (("kernel names", None), ("alike share one", line)):
            number = (run.kernel if lines is None else lines).max() + 1
            case = run.case(lines=lines)
            print_row(run.name, title, number, *(cell(case, eps, options.seeds) for eps in options.budgets))


if __name__ == "__main__":
    main()
