"""Error probability that a look may spend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import Bound

Kind = Literal["first", "learning", "sized"]


def error_probability(bound: Bound, alpha: float, kinds: Sequence[Kind]) -> float:
    """Error probability alpha_k of a run's last interim analysis, given the kinds of all its analyses.

    The kind of a pass is fixed before it begins. A pass is "sized" if it should meet the budget, "learning" if it is held back
    because spreads are still too uncertain to size it. The first look spends 0.25 alpha, the j-th learning one 0.1 alpha / 2^j,
    the first sized one 0.39 alpha and each of six later ones 0.043 alpha. They add up to alpha at most, so by the union bound
    the probability that any look's interval misses the truth is at most alpha, whenever the run stops (alpha spending after
    Lan and DeMets 1983). Nearly all goes to looks that can stop a run: what a look before them spends is paid for by larger
    samples later. A run without a bound spends alpha.

    >>> [round(error_probability("sequential", 0.1, ("first", "learning", "sized")[:k]), 4) for k in (1, 2, 3)]
    [0.025, 0.005, 0.039]
    """
    if bound == "none":
        return alpha
    kind, number = kinds[-1], list(kinds).count(kinds[-1])
    if kind == "first":
        share = 1.0
    elif kind == "learning":
        share = 0.5**number
    else:
        share = 0.6 if number == 1 else 0.4 / (constants.PASSES - 2)
    return max(alpha * constants.SHARES[kind] * share, 1e-12)  # Numerics: a quantile must exist


def stated(computed: float, estimate: float, relative_error: float) -> float:
    """Half-width that the run states: max(t SE, eps |that|); 0 if nothing was left to chance.

    A run stops because its estimated variance is small, and of the small ones the too small ones are the ones that stop it.
    So a run claims its budget, +- eps, as in fixed-width sequential estimation (Chow and Robbins 1965), not the smaller
    figure by which it seems to beat it: measured, t SE alone holds the truth too seldom on populations with rare slow
    launches, while the budget holds. t SE follows from `std_error` and `degrees_of_freedom`, which are reported as they are.

    >>> stated(3.0, 1000.0, 0.01), stated(30.0, 1000.0, 0.01), stated(0.0, 1000.0, 0.01)
    (10.0, 30.0, 0.0)
    """
    return computed if computed == 0.0 else max(computed, relative_error * abs(estimate))


def relative(half_width: float, estimate: float, relative_error: float) -> float:
    """Relative half-width, half_width / |estimate|; infinite if only the estimate is 0.

    Numerics: exactly `relative_error` where the half-width is that part of the estimate, whatever the division rounds to.

    >>> relative(0.03 * 7.0, 7.0, 0.03), relative(0.0, 0.0, 0.03), relative(1.0, 0.0, 0.03)
    (0.03, 0.0, inf)
    """
    if estimate == 0.0:
        return half_width and math.copysign(math.inf, half_width)
    return relative_error if half_width == relative_error * abs(estimate) else half_width / abs(estimate)
