"""Sampled runs of the embedded host, with the shipped defaults, against its full run.

    python lab/coverage/host_runs.py [--seeds 3] [--workloads NAME,...]

Synthesised workloads of 3,000 launches (full_runs.py), on both packaged GPUs: the error of each seed; the largest non-sampling
error, of the simulated launches against the same launches of the full run; the widest bound; share of runs whose stated
interval holds the full run's total; speedup.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from full_runs import GPUS, full_run, list_of
from runs import Numbers, arguments, largest, print_table, share, speedup, text_of

import kernelpoint as kp


def one(workload: str, gpu: str, eps: float, fast_model: str, seed: int) -> Sequence[float]:
    """Error, non-sampling error, relative half-width, whether the interval holds, share simulated."""
    full = full_run(f"{workload} {gpu}")[1]["cycles"]
    with tempfile.TemporaryDirectory() as folder:
        keys = {"error_budget": {"relative_error": eps}, "seed": seed, "fast_model": fast_model}
        run = kp.simulate(list_of(workload), Path(folder) / "run.kpjournal", gpu, **keys)
        end, cycles = run.ended(), {unit: result.counters["cycles"] for unit, result in run.results.items()}
    rest = sum(cycles.values()) / full[list(cycles)].sum() - 1
    held = abs(end.estimate - full.sum()) <= end.half_width
    return end.estimate / full.sum() - 1, rest, end.half_width / end.estimate, held, 1 / end.cycle_speedup


def rows(options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Every workload on both GPUs at every budget."""
    for workload, gpu, eps in product(options.workloads.split(","), GPUS, options.budgets):
        yield (
            (workload, gpu, text_of(eps)),
            map(partial(one, workload, gpu, eps, options.fast_model), range(options.seeds)),
        )


def each(values: np.ndarray) -> str:
    return ", ".join(f"{100 * value:+.3f} %" for value in values)


def main() -> None:
    parser = arguments(__doc__, 3, "0.05,0.01,0.005")
    parser.add_argument("--workloads", default="transformer-decode,cnn-inference,iterative-solver")
    parser.add_argument("--fast-model", default="auto", help="auto (the default of a run) or off")
    options = parser.parse_args()
    columns = {"errors": each, "non-sampling": largest, "widest bound": largest, "held": share, "speedup": speedup}
    print_table(["workload", "GPU", "budget"], columns, rows(options))


if __name__ == "__main__":
    main()
