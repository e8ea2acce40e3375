"""Share of recorded runs that take what `kernelpoint plan` forecasts: launches, and speedup, in the 80 % range.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/forecasts.py FOLDER --truth v100 --model rtx --seeds 7

Results are looked up in the full run of one configuration; predictions are those of the other. The last columns: what runs took
over what the rehearsal of a run as predicted takes (as it is, without the margin), 10th, 50th and 90th percentile.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from populations import Population, full_runs
from runs import Numbers, add_folder, arguments, print_table, share

from kernelpoint.estimation import ErrorBudget
from kernelpoint.planning.rehearsals import ranged, rehearse


def one(people: Population, eps: float, seed: int) -> Sequence[float]:
    """Whether launches and cost of a run are in their ranges, and how many times those of the first rehearsal they are."""
    budget, predicted = ErrorBudget(eps), people.predictions["cycles"]
    run = people.run(budget, seed)
    rehearsed = rehearse(people.design(budget, seed), budget, "regression", predicted, seed)
    launches = [float(len(units)) for units in (*rehearsed, run.engine.drawn())]
    cost = [float(predicted[units].sum() / predicted.sum()) for units in rehearsed] + [run.spent]
    found = []
    for first, second, taken in (launches, cost):
        low, high = ranged(first, max(first, second))
        found.append((low <= taken <= high, taken / first))
    (launches_in, launches_times), (cost_in, cost_times) = found
    return launches_in, cost_in, launches_times, cost_times


def rows(options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Each workload, and all together."""
    every: list[Sequence[float]] = []
    for people in full_runs(options):
        people = replace(people, predictions={"cycles": people.predictions["cycles"]})
        numbers = [one(people, eps, seed) for eps in options.budgets for seed in range(options.seeds)]
        every += numbers
        yield (people.name, len(numbers)), numbers
    yield ("all", len(every)), every


def quantiles(values: np.ndarray) -> str:
    return ", ".join(f"{q:.2f}" for q in np.quantile(values, (0.1, 0.5, 0.9)))


def main() -> None:
    parser = arguments(__doc__, 7, "0.05,0.01,0.005")
    add_folder(parser)
    columns = {"launches in range": share, "speedup in range": share, "launches": quantiles, "cost": quantiles}
    print_table(["workload", "runs"], columns, rows(parser.parse_args()))


if __name__ == "__main__":
    main()
