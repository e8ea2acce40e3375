"""The blind spot: kinds of units that no draw shows, their largest share, and the sentence on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from kernelpoint.estimation import constants
from kernelpoint.estimation.moments import Floats, Ints


def unseen_share(shares: Floats, alpha: float) -> float:
    """Largest share of the total that a kind of units may have if, with a probability above alpha, no draw is of this kind.

    Formula: draw h stands for the share t_h. If a part p_h of what it stands for is of that kind, no draw is with the
    probability prod (1 - p_h). The largest sum p_h t_h for which that is alpha has 1 - p_h = min(mu / t_h, 1), wherever the
    units are: sum (t_h - mu) over all t_h > mu, mu so that prod (mu / t_h) over the same is alpha. Of n draws that stand for
    equal shares of all this is 1 - alpha^(1 / n), 3 / n at 95 %. As samples nest and do not depend on results but
    for their size, it holds whenever a run stops: no draw of the larger sample is one of the smaller.

    Args:
        shares: float64 [n], of one draw each, 0 where it stands for itself only.

    >>> round(unseen_share(np.full(100, 0.01), 0.05), 4), round(unseen_share(np.array([0.5, 0.01, 0.0]), 0.05), 3)
    (0.0295, 0.475)
    """
    t = -np.sort(-shares[shares > 0.0])
    if not len(t):
        return 0.0
    mu = np.exp((math.log(alpha) + np.cumsum(np.log(t))) / np.arange(1, len(t) + 1))
    k = int(np.argmax(mu >= np.append(t[1:], 0.0)))  # the first for which no further draw is above mu
    return float((t[: k + 1] - mu[k]).sum())


def unseen_rate(n: Ints, alpha: float) -> float:
    """Largest rate of slow units at which, with probability alpha, no compared draw is slow; 0 if below LEAST_RATE.

    Args:
        n: int64 [H], draws of each stratum.

    >>> round(unseen_rate(np.full(10, 10), 0.05), 4), unseen_rate(np.full(10, 120), 0.05)
    (0.0295, 0.0)
    """
    rate = 1.0 - alpha ** (1.0 / max(int(n[n > 1].sum()), 1))
    return float(rate) if rate > constants.LEAST_RATE else 0.0


def unseen_slow(N: Ints, n: Ints, size: Floats, alpha: float) -> float:
    """Amount of undrawn units that may be slow: unseen_rate of sum_h T_h (1 - n_h / N_h), with T_h = size, float64 [H].

    >>> round(unseen_slow(np.full(10, 20), np.full(10, 10), np.full(10, 2.0), 0.05), 4)
    0.2951
    """
    return unseen_rate(n, alpha) * float((size * np.where(n < N, 1.0 - n / np.maximum(N, 1), 0.0)).sum())


@dataclass(frozen=True)
class Draws:
    """Draws of a sample and what each represents, arrays float64 [n].

    Attributes:
        values: values of the draws.
        errors: differences of the values from their predictions.
        units: units that each draw stands for.
        amounts: sum of the predictions of these units, 0 of one unit.

    >>> draws = Draws(np.array([0.0] * 28 + [5.0] * 6), np.ones(34), np.full(34, 10.0), np.full(34, 7.0))
    >>> round(draws.unseen_counts(0.05), 1), draws.largest
    (28.4, 7.0)
    """

    values: Floats
    errors: Floats
    units: Floats
    amounts: Floats

    @classmethod
    def joined(cls, parts: Sequence[Draws]) -> Draws:
        """Join the draws of several samples."""
        columns = ([getattr(part, each.name) for part in parts] for each in fields(cls))
        return cls(*map(np.concatenate, columns))

    @property
    def largest(self) -> float:
        """Largest amount that one draw represents."""
        return float(self.amounts.max(initial=0.0))

    def unseen_counts(self, alpha: float, by_largest: bool = False) -> float:
        """Amount that a counter, zero in some draws, may have in units of a kind that no draw shows.

        Formula: draws of nothing stand for M units in all. With a probability of alpha a share p of these (unseen_share of the
        units that each stands for) are no zeros, and no draw is of them; each is off by the mean error of the draws that are no
        zeros or, `by_largest`, by their largest error: where counts are skewed, the mean is too small. Infinite where fewer
        than MIN_COUNTS draws are no zeros: too few tell how much one has, and whether predictions do.
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
    """Undrawn unit that would break the error budget with the smallest factor over its expected value.

    Attributes:
        unit: its number.
        times: that multiple of the value that is expected of it.
        probability: probability of being drawn.
    """

    unit: int
    times: float
    probability: float


def breaking(unit: int, expected: float, total: float, relative_error: float, probability: float) -> OpenUnit | None:
    """Undrawn unit with the largest expected value, and how large it must be to break the error budget alone; None if every
    unit is drawn.

    Formula: a unit that is k times as large as the m expected of it adds (k - 1) m to the total T, which is more than the
    budget eps T if k > 1 + eps T / m. The smallest such k is that of the largest m. In a stratum m is T_h / N_h.

    >>> breaking(7, expected=2.0, total=1000.0, relative_error=0.01, probability=0.25)
    OpenUnit(unit=7, times=6.0, probability=0.25)
    """
    times = 1.0 + relative_error * abs(total) / expected if expected > 0.0 else math.inf
    return OpenUnit(unit, times, probability) if math.isfinite(times) else None


def sentences(shares: Floats, undrawn: int, alpha: float, counter: str) -> list[str]:
    """Sentences on kinds of units that no draw shows; none if every unit is drawn.

    Args:
        shares: as of unseen_share; undrawn: units that are not drawn.

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
