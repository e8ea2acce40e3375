"""Coverage of the replay error that validation launches state.

    python lab/coverage/validation_launches.py [--seeds 500] [--drawn 16] [--recorded NAME=JOURNAL,OUTPUT ...]

Each seed draws launches of a population with two cycles each, from real and from replayed state, and makes validation launches
of them as a run does, more where the first say so. *held*: the share of seeds in which |b| + v is at least the replay error of
all that were drawn; *of the list*: at least that of the whole list (what single launches add is in the spread of
the sample); *in the bound*: in which the larger of |b| + v and the error budget is, which a run states at least.

Recorded: every launch of a list from replayed state (journal of `policy: random` with a budget that asks for all) against the
output of the full run in the simulator. Synthetic populations know what replay errors may look like.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from runs import Numbers, arguments, mean, median_percent, print_table, share, text_of

from kernelpoint.estimation import (
    EXPECTED_CYCLES,
    Compared,
    dependence,
    enough_validations,
    first_validations,
    replay_error,
)
from kernelpoint.journal import load_run
from kernelpoint.planning.validation_launches import MOST_VALIDATED, successive
from kernelpoint.randomness import generator
from kernelpoint.session.validation import MOST_EXTENSIONS, MOST_GROWTH

CONFIDENCE = 0.95
SHORT = 60  # launches of a list of which the same may be drawn more than once: it stands for one that repeats them


@dataclass(frozen=True)
class Replayed:
    """Cycles of each launch with real and with restored caches, and its reads from DRAM, float64 [N] each."""

    kept: np.ndarray
    replayed: np.ndarray
    reads: np.ndarray

    @classmethod
    def recorded(cls, journal: Path, output: Path) -> Replayed:
        """Read cycles from real and from replayed state: the output of a full run, and the journal of a run of replayed
        launches.
        """
        lines = output.read_text(errors="replace").splitlines()
        full = [float(line.rpartition("=")[2].split()[-1]) for line in lines if line.startswith("gpu_sim_cycle")]
        results = {unit: result.counters for unit, result in load_run(journal).results.items() if unit < len(full)}
        rows = np.array([(full[unit], counters["cycles"], counters["dram_reads"]) for unit, counters in results.items()])
        return cls(*rows.T)


def synthetic(count: int = 300) -> dict[str, Replayed]:
    """Synthetic populations with known errors of restored caches. Three launches of ten read from DRAM."""
    numbers = generator(1, "run-ups coverage")
    cycles = numbers.uniform(5000.0, 9000.0, count)
    busy = np.where(numbers.random(count) < 0.3, numbers.uniform(0.1, 1.0, count), 0.0)
    kernel = numbers.random(count) < 0.05
    errors = {
        "none": np.zeros(count),
        "0.5 % everywhere": np.full(count, 0.005),
        "scatter of 0.2 %": 0.002 * numbers.standard_normal(count),
        "in proportion to reads, 0.5 +- 2 %": busy * numbers.normal(0.005, 0.02, count),
        "in proportion to reads, one sign, mean 2 %": busy * numbers.exponential(0.02, count),
        "10 % on a kernel of 5 %": 0.1 * kernel,
    }
    populations = {name: Replayed(cycles, cycles * (1.0 + error), 3.0 * busy * cycles) for name, error in errors.items()}
    short = np.where(numbers.random(count) < 0.9, 900.0, 90000.0)
    for name, lengths, cycles_off, part in (
        ("+- 30 cycles, nine of ten launches of 900, others of 90,000", short, 30.0, 0.0),
        ("the same, +- 90 cycles", short, 90.0, 0.0),
        ("the same, +- 30 cycles and 0.3 %", short, 30.0, 0.003),
        ("+- 30 cycles, all of 900", np.full(count, 900.0), 30.0, 0.0),
        ("+- 30 cycles and 2 %, all of 900", np.full(count, 900.0), 30.0, 0.02),
    ):
        off = cycles_off * numbers.standard_normal(count) + part * lengths
        populations[name] = Replayed(lengths, lengths + off, np.zeros(count))
    return populations


def one_run(launches: Replayed, count: int, eps: float, seed: int) -> tuple[float, float, int]:
    """True error of restored caches in the drawn launches, the error that the run states for it, and the number of launches
    simulated to measure it.
    """
    numbers = generator(seed, "run-ups coverage", count)
    total = len(launches.kept)
    drawn = numbers.choice(total, count, replace=total < SHORT)
    kept, replayed = launches.kept[drawn], launches.replayed[drawn]
    spread = dependence(launches.reads[drawn], replayed)
    sizes = replayed * spread / np.sqrt(replayed + launches.kept[drawn - 1])
    chances = sizes / sizes.sum()
    order = successive(chances, numbers.random(count))[:MOST_VALIDATED]
    n, mean = first_validations(eps, CONFIDENCE, MOST_VALIDATED), float(np.average(spread, weights=replayed))
    total_variance = count * EXPECTED_CYCLES**2 / float(replayed.sum()) ** 2
    for extension in range(MOST_EXTENSIONS + 1):
        some = np.array(order[:n])
        absolute = np.full(len(some), EXPECTED_CYCLES)
        compared = Compared(kept[some], replayed[some], chances[some], spread[some], mean, count, absolute, total_variance)
        error = replay_error(compared, CONFIDENCE)
        enough = enough_validations(error, n, eps, CONFIDENCE, min(len(order), MOST_GROWTH * n))
        if extension == MOST_EXTENSIONS or enough == n:
            break
        n = enough
    return float((replayed - kept).sum() / kept.sum()), abs(error.estimate) + error.half_width, n


def rows(options: Namespace) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows of the table: each population at each budget."""
    populations = {}
    for text in options.recorded:
        name, _, files = text.partition("=")
        populations[name] = Replayed.recorded(*(Path(file) for file in files.split(",")))
    for name, launches in {**populations, **synthetic()}.items():
        of_list = launches.replayed.sum() / launches.kept.sum() - 1.0
        for eps in options.budgets:
            runs = (one_run(launches, options.drawn, eps, seed) for seed in range(options.seeds))
            yield (
                (name, f"{100 * of_list:+.2f} %", text_of(eps)),
                (
                    (stated >= abs(error), stated >= abs(of_list), max(stated, eps) >= abs(error), count, stated)
                    for error, stated, count in runs
                ),
            )


def main() -> None:
    """Parse the options, measure, and print the table."""
    parser = arguments(__doc__, 500, "0.05,0.02,0.01,0.005")
    parser.add_argument("--drawn", type=int, default=16)
    parser.add_argument("--recorded", nargs="*", default=[])
    columns = {
        "held": share, "of the list": share, "in the bound": share, "validation launches": mean, "stated": median_percent,
    }  # fmt: skip
    print_table(["population", "replay error", "budget"], columns, rows(parser.parse_args()))


if __name__ == "__main__":
    main()
