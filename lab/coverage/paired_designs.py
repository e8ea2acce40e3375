"""Coverage of the bound of `kernelpoint compare` where only few strata react to the changed configuration.

    python lab/coverage/paired_designs.py --seeds 1000

Every design has 40 strata of 60 launches. In all but a few the second configuration changes nothing but 0.1 % of noise; the
few that react get another ratio, launch by launch: `even` around a mean, `two` values, `skewed` with a long tail, `half` of
their launches and the other half not at all. Where both draws of a stratum miss, nothing can tell: at two draws and two such
strata that happens to both of them in one sample of 16, and no interval covers more often than 0.94.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from itertools import product

import numpy as np
from runs import Numbers, median_percent, print_table, share

from kernelpoint.estimation.inference import ratio
from kernelpoint.estimation.strata.estimators import StrataSample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change

STRATA, UNITS = 40, 60
SHAPES = ("even", "two", "skewed", "half")
CLUSTERS = {"own": np.arange(STRATA), "ten": np.arange(STRATA) % 10}


@dataclass(frozen=True)
class Reaction:
    """Change between two configurations: the cycles of `strata` groups of launches change by `change` on average, with a
    standard deviation of the same size.
    """

    strata: int
    shape: str
    change: float

    def factors(self, random: np.random.Generator) -> np.ndarray:
        """Factor by which the cycles of each launch in the changing groups change, float64 [strata, UNITS]."""
        size = (self.strata, UNITS)
        shapes = {
            "even": lambda: random.normal(1.0, 0.5, size),
            "two": lambda: 2.0 * random.permuted(np.tile(np.arange(UNITS) % 2, (self.strata, 1)), axis=1),
            "skewed": lambda: random.exponential(1.0, size),
            "half": lambda: np.where(np.arange(UNITS) % 2, random.normal(2.0, 1.0, size), 0.0),
        }
        return 1.0 + self.change * shapes[self.shape]()


def population(reaction: Reaction, seed: int) -> np.ndarray:
    """Synthetic population: the cycles of every launch under both configurations, float64 [STRATA, UNITS, 2]."""
    random = np.random.default_rng(seed)
    first = random.lognormal(9.0, 1.0, (STRATA, 1)) * random.normal(1.0, 0.02, (STRATA, UNITS))
    second = first * random.normal(1.0, 0.001, first.shape)
    reacts = np.argsort(first.sum(axis=1))[STRATA // 2 :][:: STRATA // 2 // reaction.strata][: reaction.strata]
    second[reacts] *= reaction.factors(random)
    return np.stack([first, second], axis=2)


def covered(values: np.ndarray, draws: int, clusters: np.ndarray, seed: int, alpha: float = 0.05) -> tuple[bool, float]:
    """True if the interval of one sample contains the ratio of the totals of two configurations; and the relative
    half-width.
    """
    random = np.random.default_rng(seed)
    drawn = np.argsort(random.random((STRATA, UNITS)), axis=1)[:, :draws]
    sample = StrataSample(np.repeat(np.arange(STRATA), draws), np.full(STRATA, UNITS), clusters)
    both = np.take_along_axis(values, drawn[:, :, None], 1).reshape(-1, 2)
    estimate = ratio("", PAIR[::-1], errors_of_change(sample, both, np.zeros((0, 2)), "mean", alpha), 1.0 - alpha)
    truth = values[:, :, 1].sum() / values[:, :, 0].sum()
    return estimate.contains(truth), estimate.half_width / truth


def numbers(reaction: Reaction, draws: int, clusters: str, seeds: int) -> Numbers:
    """For each sample: 1 if its 95 % interval contains the true ratio, else 0; and its relative half-width."""
    values = [population(reaction, seed) for seed in range(min(seeds, 20))]
    return (covered(values[seed % len(values)], draws, CLUSTERS[clusters], seed) for seed in range(seeds))


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    print_table(
        [f"react, of {STRATA}", "shape", "change", "draws", "clusters"],
        {"held": share, "half-width": median_percent},
        (
            (
                (strata, shape, f"{change:.0%}", draws, clusters),
                numbers(Reaction(strata, shape, change), draws, clusters, seeds),
            )
            for strata, shape, change, draws, clusters in product((2, 4, 20), SHAPES, (0.1, 0.3), (2, 4), CLUSTERS)
        ),
    )


if __name__ == "__main__":
    main()
