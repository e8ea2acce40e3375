"""Correction lines of the fast model: one for each kernel name, or shared by kernels whose embeddings are alike?

Predictions are the cycles of one full run, the truth those of another. `--lists NAME=LIST` names the traces of workloads.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from populations import Population
from runs import Experiment, Numbers, mean, share, speedup

from kernelpoint.clustering import threshold_clusters, unit_rows
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import ErrorBudget
from kernelpoint.policies.methods.kernelpoint import CLUSTER_DISTANCE
from kernelpoint.traces import launch_paths, scan_launches


@cache
def shared_lines(trace_list: str, people: Population) -> np.ndarray:
    """The line of each kernel in the policy `kernelpoint`: the cluster in which most of its predicted cycles are."""
    scan = scan_launches(launch_paths(trace_list))
    alike = threshold_clusters(unit_rows(embed_streams(scan)), CLUSTER_DISTANCE)[scan.stream_ids]
    part = np.zeros((people.kernel.max() + 1, alike.max() + 1))
    np.add.at(part, (people.kernel, alike), people.predictions["cycles"])
    return np.unique(part.argmax(axis=1), return_inverse=True)[1].ravel()


def rows(people: Population, eps: float, options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    if people.name not in options.lists:
        return
    shared = shared_lines(options.lists[people.name], people)
    for title, lines in (("kernel names", None), ("alike share one", shared)):
        changed = replace(people, lines=lines)

        def one(seed: int, changed: Population = changed) -> Sequence[float]:
            run = changed.run(ErrorBudget(eps), seed)
            return run.held(), run.spent, len(run.engine.drawn())

        yield (title, (people.kernel if lines is None else lines).max() + 1), map(one, range(options.seeds))


GROUPS = Experiment(rows, {"held": share, "speedup": speedup, "draws": mean}, ("lines", "number"))
