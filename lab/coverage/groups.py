"""Correction lines of the fast model: one for each kernel name, or shared by kernels whose embeddings are alike?

    kernelpoint-host -trace LIST -config GPU -results FOLDER/NAME-GPU.csv    # once for each workload and GPU
    python lab/coverage/groups.py FOLDER NAME=LIST ... --truth v100 --model rtx --seeds 60

Predictions are the cycles of one full run, the truth those of another.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from populations import Population, full_runs
from runs import Numbers, add_folder, arguments, mean, print_table, share, speedup, text_of

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


def rows(options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Each workload with a line for each kernel name, and with shared lines."""
    lists = dict(workload.split("=", 1) for workload in options.workloads)
    for people in (people for people in full_runs(options) if people.name in lists):
        shared = shared_lines(lists[people.name], people.kernel, people.predictions["cycles"])
        for title, lines in (("kernel names", None), ("alike share one", shared)):
            number = (people.kernel if lines is None else lines).max() + 1
            for eps in options.budgets:
                numbers = map(partial(one, replace(people, lines=lines), eps), range(options.seeds))
                yield (people.name, title, number, text_of(eps)), numbers


def one(people: Population, eps: float, seed: int) -> Sequence[float]:
    run = people.run(ErrorBudget(eps), seed)
    return run.held(), run.spent, len(run.engine.drawn())


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.01,0.005")
    add_folder(parser)
    parser.add_argument("workloads", nargs="+", help="NAME=LIST")
    columns = {"held": share, "speedup": speedup, "draws": mean}
    print_table(["workload", "lines", "number", "budget"], columns, rows(parser.parse_args()))


if __name__ == "__main__":
    main()
