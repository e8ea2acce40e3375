"""Strata from facts known without simulation: their number, and the first draws of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.strata.allocation import cheapest
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.strata.pruning import Pruned, nested_levels, prune_to_budget, sized_for
from kernelpoint.estimation.unseen import unseen_slow
from kernelpoint.randomness import generator


def least_draws(share: Floats, relative_error: float, allowance: Floats | float) -> Floats:
    """Smallest number of draws that a stratum with this share of the total needs, whatever its spread: allowance share / eps.

    Then no single draw stands for so much of the total that an outlier, unseen by any estimated variance, breaks the
    budget. Summed over all strata these are allowance / eps draws, so it costs little but where strata are few.

    >>> least_draws(np.array([0.5, 0.05]), 0.02, 0.2).round(6).tolist()
    [5.0, 0.5]
    """
    return allowance * share / relative_error


@dataclass(frozen=True)
class Stratification:
    """Strata of a design without a sample: everything that does not depend on a seed.

    pruned: the partition of the units that are not certain; budget: of the run; strata: int32 [N],
    -1 for certain units; x, clusters, allowance, slow_excess: as in Design.
    """

    pruned: Pruned
    budget: ErrorBudget
    strata: NDArray[np.integer]
    x: Floats | None
    clusters: Ints | None
    allowance: float
    slow_excess: float = 0.0

    def first_sizes(self, seed: int) -> Ints:
        """int64 [H]: sizes of the first samples, expected to meet the budget, rounded up or down at random.

        No fewer than least_draws, at least one draw and, with probability SECOND_DRAW_PROBABILITY or more, a second; and so
        many that units which are off by `slow_excess` are drawn, or too few to break the budget (unseen.unseen_slow).

        >>> pruned = Pruned(np.zeros(9, np.int64), np.array([1.0]), np.array([0.1]))
        >>> Stratification(pruned, ErrorBudget(0.05), pruned.strata, None, None, 0.4).first_sizes(0).tolist()
        [8]
        """
        pruned, budget = self.pruned, self.budget
        share = pruned.total / max(float(pruned.total.sum()), 1e-300)
        least = np.ceil(least_draws(share, budget.relative_error, self.allowance))
        wanted = np.maximum(np.maximum(sized_for(pruned, budget), 1.0 + constants.SECOND_DRAW_PROBABILITY), least)
        N = np.bincount(pruned.strata, minlength=len(wanted))
        alpha, allowed = 1.0 - budget.confidence, budget.relative_error / max(self.slow_excess, 1e-300)
        return cheapest(
            wanted,
            N,
            pruned.total / np.maximum(N, 1),
            lambda n: unseen_slow(N, n, share, alpha) <= allowed,
            rounding=generator(seed, "second draws").random(len(wanted)),
        )

    def design(self, u: Floats, seed: int = 0) -> Design:
        """Make the design with permanent random numbers u (float64 [N]) and the second draws of a seed."""
        return Design(
            self.strata,
            self.first_sizes(seed),
            u,
            x=self.x,
            clusters=self.clusters,
            balanced=True,
            allowance=self.allowance,
            slow_excess=self.slow_excess,
        )


def stratify(
    levels: Sequence[NDArray[np.integer]],
    budget: ErrorBudget,
    *,
    spreads: Sequence[float],
    expected: Floats | None = None,
    x: Floats | None = None,
    cluster: NDArray[np.integer] | None = None,
    take_all: NDArray[np.integer] | None = None,
    allowance: float | None = None,
    slow_excess: float = 0.0,
    design_error: float | None = None,
) -> Stratification:
    """Divide launches into strata by labels known without simulating; labels that do not pay are merged (pruning).

    Strata: the cheapest partition expected to meet the budget (prune_to_budget). First sizes: those expected to be needed, at
    least one draw, and with probability SECOND_DRAW_PROBABILITY (at least) a second one. The strata with a second draw are
    thus chosen at random beforehand, and the spread of the others is pooled from them.

    Args:
        levels: labels, int [N] each, coarse to fine: signature of a unit, signature with its neighbours, ...
        budget: the error allowed.
        spreads: expected CoV within a cell of each level.
        expected: float64 [N] > 0, expected value of each unit up to a factor; default x ** (1 / 3) (Model: log-log slope
            of durations on threads, 0.2 to 0.5 on real profiles), or equal.
        x: covariate handed to the design; cluster: int [N], cluster of each unit, constant within the coarsest label.
        take_all: units that are certain; allowance, slow_excess: as in Design.
        design_error: relative error that the strata, but not their sizes, are made for; None: that of `budget`.

    Raises:
        ConfigError: not one spread per level.

    >>> signature = np.arange(600) % 3
    >>> finer = signature + 3 * (np.arange(600) % 599 == 0)  # the first and the last stand between other neighbours
    >>> strata = stratify([signature, finer], ErrorBudget(0.05), spreads=(1.5, 0.05))
    >>> design = strata.design(np.random.default_rng(0).random(600))
    >>> len(design.first_sizes), int(design.sizes.sum())
    (5, 600)
    """
    N = len(levels[0])
    if len(spreads) != len(levels):
        raise ConfigError(f"spreads: {len(spreads)} values for {len(levels)} levels; give one expected CoV per level")
    if expected is None:
        expected = np.ones(N) if x is None else np.cbrt(np.maximum(x, 1e-9 * max(float(np.max(x, initial=0.0)), 1.0)))
    free: NDArray[np.bool_] | slice = slice(None)
    if take_all is not None and len(take_all):
        free = np.ones(N, bool)
        free[take_all] = False
    strata = np.full(N, -1, np.int32)
    aim = replace(budget, relative_error=design_error or budget.relative_error)
    pruned = prune_to_budget(nested_levels([np.asarray(v)[free] for v in levels], expected[free]), spreads, aim)
    strata[free] = pruned.strata
    clusters = None
    if cluster is not None:
        clusters = np.zeros(len(pruned.total), np.int64)
        clusters[pruned.strata] = np.asarray(cluster)[free]
    allowance = constants.OUTLIER_ALLOWANCE if allowance is None else allowance
    return Stratification(pruned, budget, strata, x, clusters, allowance, slow_excess)
