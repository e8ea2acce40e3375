"""The design of a sample from strata, fixed before the first unit is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelpoint.arguments import check
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import constants

BLOCK = 1 << 20  # units that are summed at a time


@dataclass(frozen=True)
class Design:
    """Design of a stratified sample, made only from facts that are known without simulation. It is fixed before the first draw.

    Launch i of stratum h is drawn if its random number u_i is at most a threshold of the stratum. So the sample of a stratum is
    a simple random sample without replacement, given its size (Sarndal, Swensson, Wretman 1992, sections 3.3 and 3.7). Sizes
    only grow, so each sample contains all earlier ones.

    Args:
        strata: int [N], stratum of each launch, from 0 to H - 1; -1: the launch is always simulated, and represents itself
            only.
        first_sizes: int [H], size of the first sample of each stratum, clamped to 1 ... number of launches.
        u: float64 [N], random numbers in [0, 1) that never change (randomness.permanent_random_numbers).
        x: float64 [N], covariate known beforehand (work); the estimator "ratio" needs it, "regression" uses it; None: there is
            none.
        clusters: int [H], from 0: cluster of each stratum, whose strata share a regression line; None: one cluster.
        chosen: int array, indices of launches that represent their strata. Then nothing is drawn at random, no half-width can
            be stated, and the sample never grows. None: launches are drawn.
        balanced: True: samples are spread evenly over the run (`spread_over_run`), and variances come from successive draws
            (sampled launches).
        allowance: assumed largest relative deviation of one undrawn launch; the sample is large enough that it does not break
            the budget.
        slow_excess: relative excess of slow launches, of which there may be as many as no draw would show with probability
            alpha (`unseen_slow`); 0: there are none.
        latency: constant launch latency of the simulator, in cycles, which is part of the cycles of every launch.

    Raises:
        ConfigError: lengths or values do not fit together.

    >>> Design(np.array([0, 0, 0, -1]), np.array([2]), np.array([0.3, 0.1, 0.9, 0.5])).sizes.tolist()
    [3]
    """

    strata: NDArray[np.integer]
    first_sizes: NDArray[np.integer]
    u: NDArray[np.float64]
    x: NDArray[np.float64] | None = None
    clusters: NDArray[np.integer] | None = None
    chosen: NDArray[np.integer] | None = None
    balanced: bool = False
    allowance: float = field(default_factory=lambda: constants.OUTLIER_ALLOWANCE)
    slow_excess: float = 0.0
    latency: float = 0.0

    @classmethod
    def purposive(cls, strata: NDArray[np.integer], u: NDArray[np.float64], chosen: NDArray[np.integer]) -> Design:
        """Make a design without random choice: one given launch represents each stratum.

        Args:
            strata: int [N], stratum of each launch.
            u: float64 [N], random number of each launch, in [0, 1).
            chosen: int [H], index of the launch that represents each stratum, in any order.

        >>> Design.purposive(np.array([0, 1, 0]), np.array([0.3, 0.1, 0.9]), np.array([2, 1])).chosen.tolist()
        [1, 2]
        """
        ones, numbers = np.ones(len(chosen), dtype=np.int64), np.arange(len(chosen))
        return cls(strata=strata, first_sizes=ones, u=u, clusters=numbers, chosen=np.sort(chosen))

    @classmethod
    def take_all(cls, u: NDArray[np.float64]) -> Design:
        """Make a design in which every launch is simulated.

        Args:
            u: float64 [N], random number of each launch, in [0, 1).

        >>> Design.take_all(np.array([0.3, 0.1, 0.9])).strata.tolist()
        [-1, -1, -1]
        """
        return cls(np.full(len(u), -1, dtype=np.int32), np.empty(0, dtype=np.int64), u)

    def __post_init__(self) -> None:
        for name in ("strata", "first_sizes", "u"):
            check(name, getattr(self, name), np.ndarray)
        for name in ("strata", "first_sizes", "clusters", "chosen"):
            value = getattr(self, name)
            if value is not None and (kind := np.asarray(value).dtype).kind not in "iu":
                raise ConfigError(f"design.{name} is an array of {kind}; expected whole numbers")
        units, strata = len(self.strata), len(self.first_sizes)
        for name, length in {"u": units, "x": units, "clusters": strata}.items():
            value = getattr(self, name)
            if value is not None and len(value) != length:
                raise ConfigError(
                    f"design.{name} has {len(value)} values; expected {length}, for {units} launches in {strata} strata "
                    "(groups of launches)"
                )
        if units and (self.strata.min() < -1 or self.strata.max() >= strata):
            raise ConfigError(
                f"design.strata (numbers of strata, which are groups of launches) has values from {self.strata.min()} to "
                f"{self.strata.max()}; allowed: -1 to {strata - 1}"
            )
        if units and not (self.u.min() >= 0.0 and self.u.max() < 1.0):
            raise ConfigError("design.u must lie in [0, 1)")
        if self.x is not None and not np.isfinite(self.x).all():
            raise ConfigError("design.x must be finite")
        if strata and self.first_sizes.min() < 0:
            raise ConfigError(
                f"design.first_sizes (launches to simulate first, of each stratum) has the value {self.first_sizes.min()}; "
                "allowed: 0 or more"
            )
        if self.clusters is not None and strata and not 0 <= self.clusters.min() <= self.clusters.max() < units:
            raise ConfigError(
                f"design.clusters (cluster of each launch) has values from {self.clusters.min()} to {self.clusters.max()}; "
                f"allowed: 0 to {units - 1}"
            )
        for name in ("allowance", "slow_excess", "latency"):
            if not 0.0 <= (value := getattr(self, name)) < math.inf:
                raise ConfigError(f"design.{name}: {value} is not allowed; give a finite number, 0 or more")
        if self.chosen is not None:
            self._check_chosen()

    @property
    def labels(self) -> NDArray[np.integer]:
        """int [N]: stratum of each launch. An `AssistedDesign` has its groups under this name."""
        return self.strata

    @property
    def label_count(self) -> int:
        """Number H of strata."""
        return len(self.first_sizes)

    @property
    def means(self) -> dict[str, NDArray[np.float64]]:
        """Predicted values of the launches, by counter: none in this kind of design."""
        return {}

    @property
    def computed(self) -> dict[str, NDArray[np.float64]]:
        """Values that a model computes for the launches, by counter: none in this kind of design."""
        return {}

    @property
    def expected(self) -> NDArray[np.float64] | None:
        """float64 [N]: covariate, in proportion to which the cost of each launch is expected; None: there is none."""
        return self.x

    def constant(self, counter: str) -> float:
        """Part of a counter that is the same for every launch: the launch latency for cycles, 0 for any other counter.

        >>> Design(np.zeros(2, int), np.ones(1, int), np.zeros(2), latency=5000.0).constant("cycles")
        5000.0
        """
        return self.latency if counter == "cycles" else 0.0

    def with_latency(self, latency: float) -> Design:
        """Same design for a simulator with this constant launch latency, in cycles. A purposive sample stays as it is: its
        estimator is that of its paper.
        """
        return self if self.chosen is not None else replace(self, latency=latency)

    def as_take_all(self, units: NDArray[np.integer]) -> Design:
        """Same design in which the launches with the given indices belong to no stratum, and are always simulated."""
        strata = np.array(self.strata)
        strata[units] = -1
        return replace(self, strata=strata)

    def _check_chosen(self) -> None:
        chosen = np.asarray(self.chosen)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(self.strata)):
            raise ConfigError(
                f"design.chosen (launches to simulate) has numbers from {chosen.min()} to {chosen.max()}; allowed: 0 to "
                f"{len(self.strata) - 1}"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise ConfigError("design.chosen (launches to simulate) names a launch twice; give each launch once")
        empty = np.flatnonzero(
            (self.sizes > 0) & (np.bincount(self.strata[chosen] + 1, minlength=len(self.sizes) + 1)[1:] == 0)
        )
        if len(empty):
            raise ConfigError(
                f"design.chosen (launches to simulate) has no launch of stratum {empty[0]} ({len(empty)} such strata, or "
                "groups of launches); give at least one of each"
            )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """int64 [H]: number of launches in each stratum."""
        return self._by_stratum(None).astype(np.int64)

    @cached_property
    def covariate_totals(self) -> NDArray[np.float64] | None:
        """float64 [H]: sum of the covariate over the launches of each stratum; None if there is no covariate."""
        return None if self.x is None else self._by_stratum(self.x)

    def _by_stratum(self, values: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Sum of the values of the units in each stratum, or their number if there are no values, float64 [H]."""
        sums = np.zeros(len(self.first_sizes) + 1)
        for start in range(0, len(self.strata), BLOCK):  # in blocks: no full-length temporary
            block = slice(start, start + BLOCK)
            sums += np.bincount(self.strata[block] + 1, None if values is None else values[block], len(sums))
        return sums[1:]
