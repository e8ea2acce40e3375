"""Error probability that a look may spend."""

from __future__ import annotations

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
