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
    """Number of validation launches at the beginning of a run: as configured, or the fewest that the error budget allows.

    Args:
        targets: relative error of each counter or ratio of the budget; the target of cycles excludes the launch latency.
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
    seed: int,
    design: Design | AssistedDesign,
    engine: Engine,
    drawn: NDArray[np.int64],
    most: int,
    shares_left: Callable[[int, int], Floats],
    cost_of_chain: float = MOST_COST,
    surprises: Floats | None = None,
) -> list[ValidationChain]:
    """Choose validation launches among drawn launches, each with the chain of launches before it.

    A chain shows only the state that its launches leave for the last one: older state is replayed in both launches of the pair.
    So a chain has the length that `depth` returns.

    One launch is chosen after the other, in proportion to its size: its expected part of the estimate, times how far launches
    like it scatter, times the share of its lines that the chain leaves, over the root of the chain's cost (sampling with
    unequal probabilities, without replacement; Sarndal, Swensson, Wretman 1992, section 3.6). Where launches have results, half
    of the probability is in proportion to the size times the launch's surprise, because a launch that is not as predicted may
    have been replayed wrongly. The other half bounds the variance where replay is right (defensive mixture: Hesterberg 1995).

    Args:
        drawn: int64 [n], launches to choose from.
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
    value = engine.expansions(last) * cost[last] * dependence_of(predictions, len(last))
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
    """Dependence of launches on earlier ones, float64 [count] (estimation.dependence); 1 if DRAM reads are unknown.

    Args:
        counters: results or predictions of the launches, by name.
    """
    if READS not in counters or "cycles" not in counters:
        return np.ones(count)
    return dependence(counters[READS], counters["cycles"])


def depth(cost: Floats, unit: int, shares: Floats, most_cost: float = math.inf) -> tuple[int, float]:
    """Best number of launches to simulate before a validation launch: the largest share of cache lines left for the
    cost, and for its root where the cost has no limit. There a chain that leaves a tenth of the lines would show little.

    Args:
        shares: float64 [d], shares of the cache lines of `unit` that the last 1, 2, ..., d launches before it leave. Model: at
            least LEAST_SHARE, as launches leave more than lines.
        most_cost: greatest cost of a chain with several launches before its last.

    Returns:
        Number of launches, and the share over the root of the chain's cost.

    >>> [depth(np.ones(12), 11, np.array([0.2, 0.2, 0.2, 0.5, 0.5]), most_cost=cost)[0] for cost in (math.inf, 12.0)]
    [4, 1]
    """
    costs = np.cumsum(cost[unit - len(shares) : unit + 1][::-1])[1:]
    shares = np.maximum(shares, LEAST_SHARE)
    shares[1:][costs[1:] > most_cost] = 0.0
    best = int(np.argmax(shares / (costs if most_cost < math.inf else np.sqrt(costs))))
    return best + 1, float(shares[best] / math.sqrt(costs[best]))


def always_deepest(unit: int, most: int) -> Floats:
    """Default for unknown shares: assumes that DEEPEST_UNKNOWN earlier launches determine the state.

    >>> always_deepest(3, 32), always_deepest(9, 32)
    (array([0., 0., 1.]), array([0., 0., 0., 0., 0., 0., 0., 1.]))
    """
    shares = np.zeros(min(DEEPEST_UNKNOWN, unit))
    shares[-1] = 1.0
    return shares


def successive(chances: Floats, numbers: Floats) -> list[int]:
    """Order of a draw without replacement in which each position is drawn in proportion to its chance among the remaining.

    Formula: ascending -log(1 - u) / p, the arrivals of exponential clocks; u: numbers from 0 to below 1.

    >>> successive(np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.1, 0.5]))
    [1, 0, 2]
    """
    # Without a chance: an infinite time, behind all others
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        return np.argsort(-np.log1p(-numbers) / chances, kind="stable").tolist()
