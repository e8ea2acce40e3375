"""Error probability that an interim analysis may use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import Bound

Kind = Literal["first", "learning", "sized"]
SAME = 0.75  # of the error probability goes to pairs of runs that stopped at equal looks


def error_probability(bound: Bound, alpha: float, kinds: Sequence[Kind]) -> float:
    """Error probability alpha_k that the latest interim analysis of a run may use, given the kind of each one so far.

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


def joint_error_probability(bounds: Sequence[Bound], alpha: float, kinds: Sequence[Sequence[Kind]]) -> float:
    """Error probability, out of alpha, of a comparison of two runs that stopped at their analyses j and k.

    Each run decides by its own results when it stops, so which pair of looks is compared is not known beforehand. Shares
    s_k = alpha_k / alpha of a run's looks (bounds.error_probability) add up to 1 at most. A pair of equal looks (j = k), the
    usual one, spends SAME min(s_j, s'_k) alpha, any other (1 - SAME) s_j s'_k alpha: over all pairs no more than alpha, so by
    the union bound the probability that the interval at any pair misses the truth is alpha at most.

    >>> round(joint_error_probability(("sequential", "sequential"), 0.05, (("first", "sized"), ("first", "sized"))), 4)
    0.0146
    """
    shares = [error_probability(bound, alpha, of_run) / alpha for bound, of_run in zip(bounds, kinds, strict=True)]
    if all(bound != "sequential" for bound in bounds):
        return alpha * math.prod(shares)
    same = len(kinds[0]) == len(kinds[1])
    return alpha * (SAME * min(shares) if same else (1.0 - SAME) * math.prod(shares))
