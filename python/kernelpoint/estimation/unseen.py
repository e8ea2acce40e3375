"""The blind spot: kinds of units that no draw shows, their largest share, and the sentence on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints


def unseen_share(shares: Floats, alpha: float) -> float:
    """Largest share of the total that launches of some kind (such as slow launches) can have if no draw is of that kind. A kind
    with a larger share has at least one draw with probability 1 - alpha.

    Formula: draw h represents the share t_h of the total; a part p_h of t_h is of the kind. No draw is of the kind with
    probability prod(1 - p_h). The largest sum(p_h t_h) for which this product is alpha has 1 - p_h = min(mu / t_h, 1), with mu
    such that the product is alpha. For n draws (sampled launches) with equal shares of everything it is 1 - alpha^(1 / n),
    about 3 / n at 95 %. It holds whenever a run stops, because each sample contains the samples before.

    Args:
        shares: float64 [n], share of the total that each draw represents; 0 for a draw that represents itself only.

    >>> round(unseen_share(np.full(100, 0.01), 0.05), 4), round(unseen_share(np.array([0.5, 0.01, 0.0]), 0.05), 3)
    (0.0295, 0.475)
    """
    t = -np.sort(-shares[shares > 0.0])
    if not len(t):
        return 0.0
    mu = np.exp((math.log(alpha) + np.cumsum(np.log(t))) / np.arange(1, len(t) + 1))
    k = int(np.argmax(mu >= np.append(t[1:], 0.0)))  # the first for which no further draw is above mu
    return float((t[: k + 1] - mu[k]).sum())


def largest_amount(amounts: Floats, shown: float, alpha: float) -> float:
    """Upper confidence limit of a total. Each draw h represents at most the amount t_h of it, and shows a part of t_h.

    Formula: draw h shows t_h z_h, z_h from 0 to 1 with mean p_h; the total is T = sum t_h p_h. exp(-a t z) is convex in z, so
    E exp(-a sum t_h z_h) <= prod (1 - c_h p_h), c_h = 1 - exp(-a t_h). With a probability above alpha, the draws show s or less
    only if this product is at least alpha exp(-a s), for every a (Chernoff 1952). The limit is the largest T for which it is;
    there 1 - c_h p_h = min(max(mu c_h / t_h, 1 - c_h), 1). For s = 0 it is `unseen_share`, about 3 / n at 95 % for equal t_h.

    Args:
        amounts: float64 [n], t_h; shown: s; alpha: error probability.

    >>> [round(largest_amount(np.full(100, 0.01), s, 0.05), 3) for s in (0.0, 0.01, 1.0)]
    [0.03, 0.056, 1.0]
    >>> round(largest_amount(np.array([0.5, 0.01, 0.49]), 0.0, 0.05), 3)
    0.769
    """
    t = amounts[amounts > 0.0]
    whole = float(t.sum())
    if not len(t) or shown >= whole:
        return whole
    t = t / whole
    a = len(t) * np.geomspace(0.02, 50.0, 32)[:, np.newaxis]
    c = -np.expm1(-a * t)
    floor, least = np.maximum(1.0 - c, np.finfo(float).tiny), math.log(alpha) - a[:, 0] * shown / whole
    low, high = np.zeros(len(a)), (t / c).max(axis=1)  # of mu: the product is too small, or large enough
    for _ in range(48):
        middle = (low + high) / 2.0
        is_enough = np.log(np.clip(middle[:, np.newaxis] * c / t, floor, 1.0)).sum(axis=1) >= least
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    p = (1.0 - np.clip(low[:, np.newaxis] * c / t, floor, 1.0)) / c
    return whole * min(float((p @ t).min()), 1.0)


def unseen_slow(N: Ints, n: Ints, size: Floats, alpha: float) -> float:
    """Largest total of undrawn launches that may be slow without any draw having shown it, in the unit of `size`.

    Formula: p sum_h T_h (1 - n_h / N_h), p the largest rate of slow launches at which, with probability alpha, no draw in a
    stratum with two or more draws is slow; 0 if it is below the constant LEAST_RATE. A draw counts as slow by comparison with
    the other draws of its stratum.

    Args:
        N: int64 [H], number of launches N_h in each stratum h.
        n: int64 [H], number of draws (sampled launches) n_h.
        size: float64 [H], total T_h of all launches of the stratum, or its share of the total.
        alpha: error probability.

    >>> N, T = np.full(10, 200), np.full(10, 2.0)
    >>> round(unseen_slow(N, np.full(10, 10), T, 0.05), 4), unseen_slow(N, np.full(10, 120), T, 0.05)
    (0.5607, 0.0)
    """
    rate = 1.0 - alpha ** (1.0 / max(int(n[n > 1].sum()), 1))
    if not rate > constants.LEAST_RATE:
        return 0.0
    return float(rate) * float((size * np.where(n < N, 1.0 - n / np.maximum(N, 1), 0.0)).sum())


@dataclass(frozen=True)
class Draws:
    """Draws (sampled launches) and what each represents, float64 [n] each.

    Attributes:
        values: result of each draw.
        errors: result minus prediction.
        units: number of launches that the draw represents, itself included.
        amounts: sum of the predictions of these launches; 0 if the draw represents itself only.

    >>> draws = Draws(np.array([0.0] * 28 + [5.0] * 6), np.ones(34), np.full(34, 10.0), np.full(34, 7.0))
    >>> round(draws.unseen_counts(0.05), 1), draws.largest
    (28.4, 7.0)
    """

    values: Floats
    errors: Floats
    units: Floats
    amounts: Floats

    @property
    def largest(self) -> float:
        """Largest amount that one sampled launch represents."""
        return float(self.amounts.max(initial=0.0))

    def unseen_counts(self, alpha: float, by_largest: bool = False) -> float:
        """Largest amount of a counter (such as misses) in units of a kind that no draw shows, if some draws have a count of 0.

        Formula: draws with count 0 represent M launches. With error probability alpha, a share p of the M launches has a count
        above 0 (`unseen_share`). The amount is p M times the mean |error| of the draws (sampled launches) with a count above 0.
        It is infinite if fewer than MIN_COUNTS draws have one, because so few do not show how large counts are.

        Args:
            alpha: error probability.
            by_largest: True: use the largest |error| instead of the mean, which is too small for skewed counts.
        """
        nothing = (self.values == 0.0) & (self.units > 1.0)
        hidden = float(self.units[nothing].sum())
        if hidden == 0.0:
            return 0.0
        if np.count_nonzero(self.values) < constants.MIN_COUNTS:
            return math.inf
        errors = np.abs(self.errors[self.values != 0.0])
        return unseen_share(self.units[nothing] / hidden, alpha) * hidden * float(errors.max() if by_largest else errors.mean())


@dataclass(frozen=True)
class OpenUnit:
    """Undrawn launch that would break the error budget with the smallest factor over its expected value.

    Attributes:
        unit: index of the launch.
        times: that factor.
        probability: probability with which the launch is drawn.
    """

    unit: int
    times: float
    probability: float


def breaking(unit: int, expected: float, total: float, relative_error: float, probability: float) -> OpenUnit | None:
    """Undrawn launch that would break the error budget alone, and the factor over its expected value at which it does; None if
    every launch is drawn.

    Formula: a launch that is k times as large as its expected value m adds (k - 1) m to the total T. This exceeds the error eps
    T if k > 1 + eps T / m.

    Args:
        unit: index of the undrawn launch with the largest expected value.
        expected: its expected value m; 0 if every launch is drawn.
        total: estimated total T.
        relative_error: eps.
        probability: probability with which the launch is drawn.

    >>> breaking(7, expected=2.0, total=1000.0, relative_error=0.01, probability=0.25)
    OpenUnit(unit=7, times=6.0, probability=0.25)
    """
    times = 1.0 + relative_error * abs(total) / expected if expected > 0.0 else math.inf
    return OpenUnit(unit, times, probability) if math.isfinite(times) else None


def sentences(shares: Floats, undrawn: int, alpha: float, counter: str) -> list[str]:
    """Sentences for the report on kinds of launches that no draw (sampled launch) shows; empty if every launch is drawn.

    Args:
        shares: float64 [n], share of the total that each draw represents, 0 for a draw that represents itself only.
        undrawn: number of undrawn launches.
        alpha: error probability.
        counter: name of the counter.

    >>> sentences(np.zeros(5), 0, 0.05, "cycles")
    []
    >>> sentences(np.full(100, 0.01), 900, 0.05, "cycles")[0][:82]
    'at 95 % confidence, kinds of units that were never sampled make up at most 3 % of '
    """
    if not undrawn or not bool((shares > 0.0).any()):
        return []
    share = 100.0 * unseen_share(shares, alpha)
    return [
        f"at {100.0 * (1.0 - alpha):.4g} % confidence, kinds of units that were never sampled make up at most "
        f"{share:.2g} % of {counter}; if they took twice the prediction, the total would be {share:.2g} % larger"
    ]
