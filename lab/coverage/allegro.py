"""Speedup and error of Allegro by the number of times that a list repeats its kernels.

    python lab/coverage/allegro.py --seeds 20

At least 30 launches of each cluster are simulated, fewer than 50 where the times vary enough. So N launches in L clusters of
about equal time are sped up by at most N / (30 L), and the error is about the variation within clusters over the root of 30 L.
made up    launches of 10 kernels of unequal time, each launch with a factor exp(s z) of its own;
repeated   a shared profile, its launches again and again, each time with a factor exp(s z) of its own.
The list that is judged has other factors than the one planned from in the rows `planned from another run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from methods import harmonic, judged, planned
from populations import Population, population
from runs import Numbers, arguments, mean, percent, print_table

from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.randomness import generator

KERNELS = 10
PROFILE = "v100_resnet50"


def repeated(times: np.ndarray, kernel: np.ndarray, repetitions: int, spread: float, run: int) -> Population:
    """The launches of a list again and again, each with a factor of its own."""
    size = len(times) * repetitions
    factors = np.exp(spread * generator(run, "repeated list", size).standard_normal(size))
    numbers = np.tile(kernel, repetitions)
    return Population(np.tile(times, repetitions) * factors, numbers, numbers, "repeated")


def rows(eps: float, seeds: int) -> Iterator[tuple[Sequence[object], Numbers]]:
    """A row for each list; numbers: speedup, error, launches simulated, clusters."""
    base = generator(0, "kernels of a list").lognormal(9.0, 1.0, KERNELS)
    profile = population(PROFILE)
    lists = {
        "made up": (base, np.arange(KERNELS), (400, 4_000, 40_000)),
        PROFILE: (profile.y, profile.kernel, (1, 5, 50)),
    }
    for name, (times, kernel, repetitions) in lists.items():
        for count in repetitions:
            for spread in (0.02, 0.1):
                own = repeated(times, kernel, count, spread, 1)
                design = planned("allegro", own, eps)
                drawn = Engine(design, ErrorBudget(eps, bound="none"), "mean").wanted()
                for title, people in (("itself", own), ("another run", repeated(times, kernel, count, spread, 2))):
                    speed, error = judged(people, design, seeds)
                    shown = (name, f"{len(own.y):,}", f"{100 * spread:g} %", title)
                    yield shown, [(speed, error, len(drawn), len(design.sizes))]


def main() -> None:
    options = arguments(__doc__, 20, "0.05").parse_args()
    columns = {"speedup": harmonic, "error": percent, "simulated": mean, "clusters": mean}
    print_table(["list", "launches", "spread", "planned from"], columns, rows(options.budgets[0], options.seeds))


if __name__ == "__main__":
    main()
