"""Places of run-ups: which drawn launches are simulated with their real state as well, and behind how many launches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.config import Config
from kernelpoint.randomness import generator
from kernelpoint.session.frame import Frame

DEEPEST = 8  # launches before the compared one, at most
STATE = "dram_reads"  # the predicted counter that tells how much of a launch hangs on what earlier ones left


@dataclass(frozen=True)
class RunUp:
    """Consecutive launches; the last is of the sample, and `chance` the probability with which it was chosen of it."""

    launches: range
    chance: float


def choose(config: Config, frame: Frame, drawn: NDArray[np.int64]) -> list[RunUp]:
    """As many run-ups as the configuration asks for, each ending in a launch of the first pass.

    Launches are chosen in proportion to how much of them hangs on state over the root of what the run-up costs, spread over
    the list (systematic sampling with unequal probabilities, Madow 1949; Sarndal, Swensson, Wretman 1992, section 3.6).
    """
    least = 1 + config.warmup.launches  # a warmed-up launch has the state of its warm-up anyway
    last = drawn[drawn >= least]
    cost = frame.expected_costs(np.arange(frame.population.size))
    chances = inclusion(dependence(frame, last) / np.sqrt(cost[last] + cost[last - 1]), config.replay.check)
    start = float(generator(config.seed, "run-ups").random())
    return [
        RunUp(range(unit - depth(cost, unit, least), unit + 1), chance)
        for unit, chance in ((int(last[i]), float(chances[i])) for i in systematic(chances, start))
    ]


def dependence(frame: Frame, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64 [units]: 1 + predicted reads from DRAM per cycle, over those of the whole list; 1 without predictions."""
    predictions = frame.design.predictions or {}
    if STATE not in predictions or not predictions[STATE].any():
        return np.ones(len(units))
    reads, cycles = (np.asarray(predictions[name], dtype=float) for name in (STATE, "cycles"))
    return np.asarray(1.0 + reads[units] / np.maximum(cycles[units], 1.0) * (cycles.sum() / reads.sum()))


def depth(cost: NDArray[np.float64], unit: int, least: int) -> int:
    """Launches before one that together cost no more than it does; at least `least`, at most DEEPEST or as many as there are.

    >>> depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 3, 1), depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 1, 1)
    (3, 1)
    """
    before = np.cumsum(cost[max(unit - DEEPEST, 0) : unit][::-1])
    return max(int(np.searchsorted(before, cost[unit], side="right")), least)


def inclusion(sizes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Probabilities in proportion to sizes above 0 that add up to `count`, none above 1; all 1 where there are no more units.

    >>> inclusion(np.array([1.0, 1.0, 6.0]), 2).tolist()
    [0.5, 0.5, 1.0]
    """
    certain = np.zeros(len(sizes), dtype=bool)
    while True:
        left = count - int(certain.sum())
        if left <= 0 or left >= int((~certain).sum()):
            return np.where(certain | (left > 0), 1.0, 0.0)
        chances = left * sizes / sizes[~certain].sum()
        if not (above := ~certain & (chances >= 1.0)).any():
            return np.where(certain, 1.0, chances)
        certain |= above


def systematic(chances: NDArray[np.float64], start: float) -> list[int]:
    """Positions at which the running sum of the probabilities passes start, start + 1, ...; each at most once.

    >>> systematic(np.array([0.5, 0.5, 1.0]), 0.7)
    [1, 2]
    """
    ends = np.cumsum(chances)
    points = start + np.arange(round(float(chances.sum())))
    return sorted(set(np.minimum(np.searchsorted(ends, points, side="right"), len(chances) - 1).tolist()))
