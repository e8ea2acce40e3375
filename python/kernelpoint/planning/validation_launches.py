"""Validation launches of a run: their number, and the launches of the sample that are chosen for them.

A validation launch is a launch of the sample that is simulated directly after the launches that precede it
(docs/evidence/replay-error.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
DEEPEST = 32  # launches before a validation launch, at most
DEEPEST_UNKNOWN = 8  # the same where the host restores state by itself, always
LEAST_SHARE = 0.1  # see depth
# Of the expected cost of the first pass, for one validation launch with those before it, where SMs keep nothing between
# launches: all that they find is in the L2
MOST_COST = 0.4
Floats = NDArray[np.float64]


def first_number(config: ReplayConfig, design: Design | AssistedDesign, targets: Mapping[str, float], confidence: float) -> int:
    """Number of validation launches (launches simulated twice to measure the error of restored caches) at the beginning of a
    run: as configured, or else the fewest that the error budget allows.

    Args:
        config: section `replay` of the configuration.
        design: sampling design of the run.
        targets: allowed relative error of each counter or ratio; for cycles, that without the constant launch latency.
        confidence: confidence level of the bound.
    """
    if config.validation != "auto":
        return config.validation
    if isinstance(design, AssistedDesign):
        targets = {name: design.of_uncertain(name, error) for name, error in targets.items()}
    return first_validations(min(targets.values()), confidence, MOST_VALIDATED)


def shortest_list(config: ReplayConfig) -> int:
    """Least number of launches of a list for which the error of restored caches can be measured."""
    return LAUNCHES_PER_VALIDATION * (AUTO_VALIDATED if config.validation == "auto" else config.validation)


@dataclass(frozen=True)
class ValidationChain:
    """Consecutive launches, simulated one after another. The result of the last one is compared with its result from restored
    caches, to measure the error of restoring. `chance` is the probability with which the first random
    choice of a launch to validate takes this last launch.
    """

    launches: range
    chance: float


def choose(
    seed: int,
    design: Design | AssistedDesign,
    engine: Engine,
    drawn: NDArray[np.int64],
    most: int,
    shares_left: Callable[[int, int], Floats],
    cost_of_chain: float = MOST_COST,
    surprises: Floats | None = None,
) -> list[ValidationChain]:
    """Choose drawn launches whose results from restored caches are checked, each with a chain of launches to simulate before
    it.

    A chain shows only the cache state that its own launches leave; its first launch begins with restored caches. `depth` sets
    its length.

    Launches are chosen one after another without replacement, with unequal probabilities (Sarndal, Swensson, Wretman 1992,
    section 3.6). The probability is proportional to

        expected part of the estimate x scatter of similar launches x share of cache lines that the chain leaves / sqrt(cost of
        the chain).

    If there are results, half of the probability is also proportional to the surprise (the difference between result and
    prediction), because such a launch may have had wrong caches. The other half limits the variance if the caches were right
    (defensive mixture: Hesterberg 1995).

    Args:
        seed: the user's seed.
        design: sampling design.
        engine: engine that drew the launches.
        drawn: int64 [n], indices of the launches to choose from.
        most: largest number of chains.
        shares_left: function of a launch and a number d; returns the shares of the launch's cache lines that the last 1, 2,
            ..., d launches before it leave.
        cost_of_chain: greatest cost of a chain, as a multiple of the cost of all drawn launches.
        surprises: float64 [n], relative difference of each result from its prediction; None if there are no results yet.
    """
    begins = drawn >= 1
    last = drawn[begins]
    expected = np.ones(len(design.u)) if design.expected is None else np.asarray(design.expected, dtype=float)
    cost = np.maximum(expected, np.finfo(float).tiny)
    predictions = {name: np.asarray(mean, dtype=float)[last] for name, mean in design.means.items()}
    value = engine.sampling.expansions(last) * cost[last] * dependence_of(predictions, len(last))
    most_cost = cost_of_chain * float(cost[drawn].sum())
    reached = [depth(cost, unit, shares_left(unit, DEEPEST), most_cost) for unit in last.tolist()]
    sizes = value * np.array([shown for _, shown in reached])
    if surprises is not None and (mixed := sizes * surprises[begins]).any():
        sizes = sizes / sizes.sum() + mixed / mixed.sum()
    chances = sizes / sizes.sum() if len(sizes) else sizes
    order = successive(chances, generator(seed, "run-ups").random(len(last)))[:most]
    chosen = [(int(last[i]), reached[i][0], float(chances[i])) for i in order]
    return [ValidationChain(range(unit - launches, unit + 1), chance) for unit, launches, chance in chosen]


def dependence_of(counters: Mapping[str, Floats], count: int) -> Floats:
    """Share of each launch's cost that depends on the caches that earlier launches leave, float64 [count]
    (estimation.dependence); 1 if DRAM reads are unknown.

    Args:
        counters: results or predictions of the launches, by counter.
        count: number of launches.
    """
    if READS not in counters or "cycles" not in counters:
        return np.ones(count)
    return dependence(counters[READS], counters["cycles"])


def depth(cost: Floats, unit: int, shares: Floats, most_cost: float = math.inf) -> tuple[int, float]:
    """Best number of launches to simulate before a launch whose restored caches are checked.

    It maximises the share of the launch's cache lines that these launches leave, divided by the cost, or by the square root of
    the cost if the cost has no limit.

    Args:
        cost: float64 [N], expected cost of each launch.
        unit: index of the launch that is checked.
        shares: float64 [d], shares of the launch's cache lines that the last 1, 2, ..., d launches before it leave. Model: at
            least LEAST_SHARE, as launches leave more than lines.
        most_cost: greatest cost of a chain with several launches before its last.

    Returns:
        Number of launches, and the share divided by the square root of the chain's cost.

    >>> [depth(np.ones(12), 11, np.array([0.2, 0.2, 0.2, 0.5, 0.5]), most_cost=cost)[0] for cost in (math.inf, 12.0)]
    [4, 1]
    """
    costs = np.cumsum(cost[unit - len(shares) : unit + 1][::-1])[1:]
    shares = np.maximum(shares, LEAST_SHARE)
    shares[1:][costs[1:] > most_cost] = 0.0
    best = int(np.argmax(shares / (costs if most_cost < math.inf else np.sqrt(costs))))
    return best + 1, float(shares[best] / math.sqrt(costs[best]))


def always_deepest(unit: int, most: int) -> Floats:
    """Shares of cache lines left by earlier launches, if they are unknown: only DEEPEST_UNKNOWN launches together leave all.

    Args:
        unit: index of the launch, and so the number of launches before it.
        most: largest number of shares.

    >>> always_deepest(3, 32), always_deepest(9, 32)
    (array([0., 0., 1.]), array([0., 0., 0., 0., 0., 0., 0., 1.]))
    """
    shares = np.zeros(min(DEEPEST_UNKNOWN, unit))
    shares[-1] = 1.0
    return shares


def successive(chances: Floats, numbers: Floats) -> list[int]:
    """Order of a draw without replacement: each next position is drawn with probability proportional to its chance.

    Formula: ascending -log(1 - u) / p, with p the chances and u the random numbers, which lie in [0, 1). These are the arrival
    times of exponential clocks with rates p.

    Args:
        chances: float64 [n], p.
        numbers: float64 [n], u.

    >>> successive(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.1, 0.5]))
    [1, 0, 2]
    """
    # Without a chance: an infinite time, behind all others
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        return np.argsort(-np.log1p(-numbers) / chances, kind="stable").tolist()
