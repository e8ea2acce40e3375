"""Coverage of the bound of `kernelpoint compare` on the ratio of two full runs, and how much tighter it is than two bounds.

Policy `kernelpoint` without predictions, on both GPUs: share of seeds whose paired interval holds the ratio of the full runs'
cycles; medians of its half-width and of that of the ratio from both runs' own bounds, relative to the ratio, and of one over
the other; mean error; launches drawn in both runs. `--lists NAME=LIST` names the traces of workloads.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np
from populations import Population, known_from_traces, with_traces
from runs import Experiment, Numbers, mean, median_percent, percent, share, times

from kernelpoint.estimation import ErrorBudget
from kernelpoint.estimation.bounds import joint_error_probability
from kernelpoint.estimation.inference import ratio
from kernelpoint.estimation.strata.estimators import Sample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change
from kernelpoint.traces import launch_paths


def one(people: Population, second: np.ndarray, eps: float, seed: int) -> Sequence[float]:
    """Compare two runs of one seed: is the paired interval right, its half-width and that of two separate bounds, their
    ratio, the error, and the number of common launches.
    """
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
    pair = ratio("", PAIR[::-1], errors_of_change(sample, values[inside], values[exact], "regression", alpha), 0.95)
    p, q = (run.look.estimates["cycles"] for run in (a, b))
    high = (q.estimate + q.half_width) / (p.estimate - p.half_width)
    low = (q.estimate - q.half_width) / (p.estimate + p.half_width)
    truth = second.sum() / people.y.sum()
    paired, separate = pair.half_width / truth, 0.5 * (high - low) / truth
    error = abs(pair.estimate / truth - 1.0)
    return pair.contains(truth), paired, separate, separate / max(paired, 1e-12), error, len(drawn)


@cache
def with_list(people: Population, trace_list: str) -> Population:
    """The population without predictions, known by its traces."""
    return with_traces(people.name, people.y, known_from_traces(launch_paths(trace_list)))


def rows(people: Population, eps: float, options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    if people.name in options.lists:
        second = people.predictions["cycles"]
        numbers = map(partial(one, with_list(people, options.lists[people.name]), second, eps), range(options.seeds))
        yield (f"{second.sum() / people.y.sum():.4f}",), numbers


PAIRED = Experiment(
    rows,
    {
        "held": share,
        "paired": median_percent,
        "separate": median_percent,
        "tighter": times,
        "error": percent,
        "common launches": mean,
    },
    ("ratio",),
)
