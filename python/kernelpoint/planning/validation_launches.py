"""Validation launches of a run: their number, and the launches of the sample that are chosen for them.

A validation launch is a launch of the sample that is simulated directly after the launches that precede it
(docs/evidence/replay-error.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.config.schema import ReplayConfig
from kernelpoint.estimation import AssistedDesign, Design, Engine, dependence, first_validations
from kernelpoint.randomness import generator

LAUNCHES_PER_VALIDATION = 30  # launches that a list needs for each validation launch
MOST_VALIDATED = 12  # where the configuration leaves their number open
AUTO_VALIDATED = 3  # that the list has to be long enough for, there
READS = "dram_reads"  # counter used as a proxy for dependence on earlier state
DEEPEST = 8  # launches before a validation launch, at most; of a host that restores state by itself, always


def first_number(
    config: ReplayConfig, design: Design | AssistedDesign, targets: Mapping[str, float], confidence: float
) -> int:
    """Number of validation launches at the beginning of a run: as configured, or the fewest that the error budget allows.

    targets: relative error of each, by counter or ratio; that of cycles is of those beyond the launch latency.
    """
    if config.validation != "auto":
        return config.validation
    if isinstance(design, AssistedDesign):
        targets = {name: design.of_uncertain(name, error) for name, error in targets.items()}
    return first_validations(min(targets.values()), confidence, MOST_VALIDATED)


def shortest_list(config: ReplayConfig) -> int:
    """Number of launches that a list must have for validation launches."""
    return LAUNCHES_PER_VALIDATION * (AUTO_VALIDATED if config.validation == "auto" else config.validation)


@dataclass(frozen=True)
class ValidationChain:
    """Consecutive launches that end with a validation launch. `chance` is the probability that this launch is chosen first."""

    launches: range
    chance: float


def choose(
    seed: int, design: Design | AssistedDesign, engine: Engine, most: int, least: int = 1
) -> list[ValidationChain]:
    """Choose validation launches among the launches of the first pass, each with the chain of launches before it.

    One launch is chosen after the other, in proportion to its expected part of the estimate times how far launches like it
    scatter over the root of what it and the launch before it cost (sampling with unequal probabilities, without
    replacement; Sarndal, Swensson, Wretman 1992, section 3.6).
    """
    drawn = engine.wanted()
    last = drawn[drawn >= 1]
    expected = np.ones(len(design.u)) if design.expected is None else np.asarray(design.expected, dtype=float)
    cost = np.maximum(expected, np.finfo(float).tiny)
    predictions = {name: np.asarray(mean, dtype=float)[last] for name, mean in design.means.items()}
    value = engine.expansions(last) * cost[last] * dependence_of(predictions, len(last))
    sizes = value / np.sqrt(cost[last] + cost[last - 1])
    chances = sizes / sizes.sum() if len(sizes) else sizes
    order = successive(chances, generator(seed, "run-ups").random(len(last)))[:most]
    chosen = [(int(last[i]), float(chances[i])) for i in order]
    return [ValidationChain(range(unit - depth(cost, unit, least), unit + 1), chance) for unit, chance in chosen]


def dependence_of(counters: Mapping[str, NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    """How much launches depend on earlier ones, float64 [count] (estimation.dependence); 1 if DRAM reads are unknown.

    Args:
        counters: results or predictions of the launches, by name.
    """
    if READS not in counters or "cycles" not in counters:
        return np.ones(count)
    return dependence(counters[READS], counters["cycles"])


def depth(cost: NDArray[np.float64], unit: int, least: int) -> int:
    """Number of launches before a launch that together cost no more than it does; at least `least`, at most DEEPEST.

    >>> depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 3, 1), depth(np.array([1.0, 1.0, 1.0, 5.0, 9.0]), 1, 1)
    (3, 1)
    """
    before = np.cumsum(cost[max(unit - DEEPEST, 0) : unit][::-1])
    return min(max(int(np.searchsorted(before, cost[unit], side="right")), least), unit)


def successive(chances: NDArray[np.float64], numbers: NDArray[np.float64]) -> list[int]:
    """Order of a draw without replacement in which each position is drawn in proportion to its chance among the remaining.

    Formula: ascending -log(1 - u) / p, the arrivals of exponential clocks; u: numbers from 0 to below 1.

    >>> successive(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.1, 0.5]))
    [1, 0, 2]
    """
    # Without a chance: an infinite time, behind all others
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        return np.argsort(-np.log1p(-numbers) / chances, kind="stable").tolist()
