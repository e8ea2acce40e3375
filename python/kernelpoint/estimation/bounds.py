"""Error probability that a look may spend: the bounds `sequential`, `two_stage` and `fixed`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.design import Bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kind = Literal["first", "learning", "sized"]

PASSES = 8  # looks of a run at most; the last pass simulates whatever is left
LEAST_RATE = 0.005  # Model: slow units that are rarer than this are what `assume: ordinary` does not promise
SHARES = {"first": 0.25, "learning": 0.1, "sized": 0.65}  # of alpha, over all looks of a kind; tuned


def error_probability(bound: Bound, alpha: float, kinds: Sequence[Kind]) -> float:
    """alpha_k, the error probability of the last of the looks (ends of passes) whose kinds are given.

    "sequential": the kind of a pass is fixed before it begins. A pass is "sized" if it should meet the budget, "learning" if
        it is held back because spreads are still too uncertain to size it. The first look spends 0.25 alpha, the j-th
        learning one 0.1 alpha / 2^j, the first sized one 0.39 alpha and each of six later ones 0.043 alpha. They add
        up to alpha at most, so by the union bound the probability that any look's interval misses the truth is at most alpha,
        whenever the run stops (alpha spending after Lan and DeMets 1983). Nearly all goes to looks that can stop a run:
        what a look before them spends is paid for by larger samples later.
    "two_stage" (Stein 1945): every look uses the variance of the first pass only, so looking again teaches nothing about it.
    "fixed": alpha at every look. Not corrected for looking repeatedly: it covers less often than stated.

    >>> [round(error_probability("sequential", 0.1, ("first", "learning", "sized")[:k]), 4) for k in (1, 2, 3)]
    [0.025, 0.005, 0.039]
    """
    if bound != "sequential":
        return alpha
    kind, number = kinds[-1], list(kinds).count(kinds[-1])
    if kind == "first":
        share = 1.0
    elif kind == "learning":
        share = 0.5**number
    else:
        share = 0.6 if number == 1 else 0.4 / (PASSES - 2)
    return max(alpha * SHARES[kind] * share, 1e-12)  # Numerics: a quantile must exist


def stated(computed: float, estimate: float, relative_error: float, influence: float = 0.0) -> float:
    """The half-width that is stated: max(t SE, eps |that|, influence), 0 where nothing is left to chance.

    A run stops because its estimated variance is small, and of the small ones the too small ones are the ones that stop it.
    So a run claims its budget, +- eps, as in fixed-width sequential estimation (Chow and Robbins 1965), not the smaller
    figure by which it seems to beat it: measured, t SE alone holds the truth too seldom on populations with rare slow
    launches, while the budget holds. t SE follows from `std_error` and `degrees_of_freedom`, which are reported as they are.

    influence: how far the total moves if the draw that stands for most of it is odd (Design.odd): a variance that
    was estimated without that oddity cannot know.

    >>> stated(3.0, 1000.0, 0.01), stated(30.0, 1000.0, 0.01), stated(0.0, 1000.0, 0.01), stated(3.0, 1000.0, 0.01, 25.0)
    (10.0, 30.0, 0.0, 25.0)
    """
    return computed if computed == 0.0 else max(computed, relative_error * abs(estimate), influence)


def relative(half_width: float, estimate: float, relative_error: float) -> float:
    """half_width / |estimate|; infinite where only the latter is 0.

    Numerics: exactly `relative_error` where the half-width is that part of the estimate, whatever the division rounds to.

    >>> relative(0.03 * 7.0, 7.0, 0.03), relative(0.0, 0.0, 0.03), relative(1.0, 0.0, 0.03)
    (0.03, 0.0, inf)
    """
    if estimate == 0.0:
        return half_width and math.copysign(math.inf, half_width)
    return relative_error if half_width == relative_error * abs(estimate) else half_width / abs(estimate)


def unseen_share(shares: Floats, alpha: float) -> float:
    """The largest share of the total that units of a kind may have of which, with a probability above alpha, no draw is.

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
    """Rate of slow units of which, with a probability of alpha, none is among the compared draws, those of strata with two or
    more; 0 where that is so rare (LEAST_RATE) that nothing is promised of it.

    Args:
        n: int64 [H], draws of each stratum.

    >>> round(unseen_rate(np.full(10, 10), 0.05), 4), unseen_rate(np.full(10, 60), 0.05)
    (0.0295, 0.0)
    """
    rate = 1.0 - alpha ** (1.0 / max(int(n[n > 1].sum()), 1))
    return float(rate) if rate > LEAST_RATE else 0.0


def unseen_slow(N: Ints, n: Ints, size: Floats, alpha: float) -> float:
    """Amount of undrawn units that may be slow: unseen_rate of sum_h T_h (1 - n_h / N_h), T_h = size float64 [H].

    >>> round(unseen_slow(np.full(10, 20), np.full(10, 10), np.full(10, 2.0), 0.05), 4)
    0.2951
    """
    return unseen_rate(n, alpha) * float((size * np.where(n < N, 1.0 - n / np.maximum(N, 1), 0.0)).sum())


def unseen(shares: Floats, alpha: float, counter: str) -> str:
    """One sentence on what a sample could miss; see unseen_share.

    >>> unseen(np.full(100, 0.01), 0.05, "cycles")[:80]
    'with a probability of 5 % units that make up 3 % of cycles are of a kind that no'
    """
    share = 100.0 * unseen_share(shares, alpha)
    return (
        f"with a probability of {100.0 * alpha:.2g} % units that make up {share:.2g} % of {counter} are of a kind that no draw "
        f"is of: were they twice as large as predicted, the total would be {share:.2g} % larger, and the bound would not know"
    )
