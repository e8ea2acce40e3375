"""Worth of a profile of another GPU beside the traces: launches simulated and coverage, with it, without, and wrong.

    python lab/coverage/sharpened.py LIST... --gpu v100 --profile rtx --seeds 30

`wrong` gives the policy the same times in another order: it may cost simulation, and must not cost coverage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from replayed import Replayed, sampled, say

from kernelpoint.profiles import Profile
from kernelpoint.profiles.builder import ProfileBuilder


def profile_of(cycles: np.ndarray) -> Profile:
    """Content of the journal of a full run."""
    builder = ProfileBuilder("elsewhere")
    for order, value in enumerate(cycles):
        builder.add("", order=order, counters={"cycles": float(value)})
    return builder.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--profile", default="rtx")
    parser.add_argument("--budgets", default="0.05,0.01,0.005")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=Path("out/paired"), help="where full runs are kept")
    options = parser.parse_args()
    for source in options.lists:
        workload = Replayed.read(source, options.folder)
        y, elsewhere = workload.cycles(options.gpu), workload.cycles(options.profile)
        shuffled = np.random.default_rng(0).permutation(elsewhere)
        known = {"traces": None, "and profile": profile_of(elsewhere), "and wrong": profile_of(shuffled)}
        for budget in map(float, options.budgets.split(",")):
            for name, profile in known.items():
                rows = []
                for seed in range(options.seeds):
                    design = workload.design(budget, seed, profile)
                    engine, look = sampled(design, y, budget)
                    estimate = look.estimates["cycles"]
                    error, share = estimate.estimate / y.sum() - 1, estimate.simulated / y.sum()
                    strata = len(design.first_sizes)
                    rows.append((estimate.contains(y.sum()), share, abs(error), len(engine.drawn()), strata))
                mean = np.mean(np.array(rows, float), axis=0)
                say(
                    f"{workload.name:<20} {100 * budget:g} % {name:<12} cycle speedup {1 / mean[1]:.1f} "
                    f"simulated {mean[3]:.0f} strata {mean[4]:.0f} error {100 * mean[2]:.3f} % cover {mean[0]:.3f}"
                )


if __name__ == "__main__":
    main()
