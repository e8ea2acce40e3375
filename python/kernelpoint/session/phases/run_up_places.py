"""Places of run-ups: which drawn launches are simulated with their real state as well, and behind how many launches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.config import Config
from kernelpoint.estimation import BaseEngine, dependence
from kernelpoint.randomness import generator
from kernelpoint.session.frame import Frame
from kernelpoint.session.replays import READS

DEEPEST = 8  # launches before the compared one, at most


@dataclass(frozen=True)
class RunUp:
    """Consecutive launches; the last is of the sample, and `chance` the probability with which it is the first to be chosen."""

    launches: range
    chance: float


def choose(config: Config, frame: Frame, engine: BaseEngine, most: int) -> list[RunUp]:
    """At most as many run-ups as given, in the order in which they are made, each ending in a launch of the first pass.

    One launch is chosen after the other, in proportion to its expected part of the estimate times how far launches like it
    scatter over the root of what it and the launch before it cost (sampling with unequal probabilities, without
    replacement; Sarndal, Swensson, Wretman 1992, section 3.6).
    """
    least = 1 + config.warmup.launches  # a warmed-up launch has the state of its warm-up anyway
    drawn = engine.wanted()
    last = drawn[drawn >= least]
    cost = np.maximum(frame.expected_costs(np.arange(frame.population.size)), np.finfo(float).tiny)
    value = engine.expansions(last) * cost[last] * expected_dependence(frame, last)
    sizes = value / np.sqrt(cost[last] + cost[last - 1])
    chances = sizes / sizes.sum() if len(sizes) else sizes
    order = successive(chances, generator(config.seed, "run-ups").random(len(last)))[:most]
    chosen = [(int(last[i]), float(chances[i])) for i in order]
    return [RunUp(range(unit - depth(cost, unit, least), unit + 1), chance) for unit, chance in chosen]


def expected_dependence(frame: Frame, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64 [units]: estimation.dependence by the predictions; 1 without any."""
    predictions = frame.design.predictions or {}
    if READS not in predictions or "cycles" not in predictions:
        return np.ones(len(units))
    reads, cycles = (np.asarray(predictions[name], dtype=float)[units] for name in (READS, "cycles"))
    return dependence(reads, cycles)


def depth(cost: NDArray[np.float64], unit: int, least: int) -> int:
    """Launches before one that together cost no more than it does; at least `least`, at most DEEPEST or as many as there are.

    >>> depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 3, 1), depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 1, 1)
    (3, 1)
    """
    before = np.cumsum(cost[max(unit - DEEPEST, 0) : unit][::-1])
    return max(int(np.searchsorted(before, cost[unit], side="right")), least)


def successive(chances: NDArray[np.float64], numbers: NDArray[np.float64]) -> list[int]:
    """Positions in the order in which they are drawn one after the other, each in proportion to its chance among those left.

    Formula: ascending -log(1 - u) / p, the arrivals of exponential clocks; u: numbers from 0 to below 1.

    >>> successive(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.1, 0.5]))
    [1, 0, 2]
    """
    return np.argsort(-np.log1p(-numbers) / chances, kind="stable").tolist()
