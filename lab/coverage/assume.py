"""Cost and coverage of `assume: repetitive | ordinary | hostile`, on real profiles and with trouble planted in them.

    python lab/coverage/assume.py --seeds 60 --minutes 10

Each cell: share of runs whose stated interval holds the truth, at 95 %; speedup in time. Without predictions: names and shapes.
"""

from __future__ import annotations

import sys
import time
from typing import get_args

import numpy as np
from methods import kernelpoint
from populations import population
from scaffold import arguments, print_head, print_row
from trouble import ORDINARY, RARE

from kernelpoint.estimation import Assume, ErrorBudget

BASES = ("rtx2080ti_resnet", "v100_resnet50")


def cell(name: str, eps: float, assume: str, seeds: int) -> str:
    """Share held and speedup of one population under one assumption."""
    people, budget = population(name), ErrorBudget(eps)
    runs = [kernelpoint(people, budget, seed, "a", assume) for seed in range(seeds)]
    held = np.mean([abs(run.error) <= run.half_width * (1.0 + run.error) + 1e-9 for run in runs])
    return f"{held:.2f}, {1.0 / np.mean([run.simulated for run in runs]):.1f}x"


def main() -> None:
    parser = arguments(__doc__, 60)
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--minutes", type=float, default=10.0, help="start no further row after this long")
    parser.add_argument("--bases", default=",".join(BASES))
    parser.add_argument("--troubles", default=",".join(("", *ORDINARY, *RARE)))
    options, start = parser.parse_args(), time.monotonic()
    kinds = get_args(Assume)
    print_head("Population", *kinds)
    for trouble in options.troubles.split(","):
        for base in options.bases.split(","):
            if time.monotonic() - start > 60.0 * options.minutes:
                sys.exit(f"stopped after {options.minutes:g} minutes")
            name = f"{base}:{trouble}" if trouble else base
            row = (cell(name, options.eps, assume, options.seeds) for assume in kinds)
            print_row(base + (f", {trouble}" if trouble else ""), *row)


if __name__ == "__main__":
    main()
