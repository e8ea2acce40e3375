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
    """Error probability alpha_k that the latest interim analysis of a run may use. All analyses of a run use at most alpha
    together, so that their intervals all contain the truth with probability 1 - alpha or more, whenever the run stops (union
    bound; alpha spending after Lan and DeMets 1983).

    | Kind of pass (round of sampling) | Share of alpha |
    |---|---|
    | "first" | 0.25 |
    | "learning", the j-th: too small to meet the budget, because spreads are still uncertain | 0.1 / 2^j |
    | "sized", the first: large enough to meet the budget if its estimated spread is right | 0.39 |
    | "sized", each of six later ones | 0.043 |

    Args:
        bound: "sequential"; "none": the run states no bound, and the analysis may use alpha.
        alpha: error probability of the run, 1 - confidence.
        kinds: kind of each pass so far, the latest last. The kind of a pass is fixed before the pass begins.

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
        share = 0.6 if number == 1 else 0.4 / (constants.MOST_LOOKS - 2)
    return max(alpha * constants.SHARES[kind] * share, 1e-12)  # Numerics: a quantile must exist


def joint_error_probability(bounds: Sequence[Bound], alpha: float, kinds: Sequence[Sequence[Kind]]) -> float:
    """Error probability of the comparison of two runs. Each run stopped after a round of sampling that depends on its results.

    Formula: let s_j and s'_k be the shares of alpha that `error_probability` gives to the last analyses, j and k, of the two
    runs. The comparison uses 0.75 min(s_j, s'_k) alpha if j = k, else 0.25 s_j s'_k alpha. The sum over all pairs (j, k) is at
    most alpha, so by the union bound the interval misses the truth with probability alpha or less.

    Args:
        bounds: kind of bound of each run, "sequential" or "none".
        alpha: error probability of all comparisons together.
        kinds: for each run, the kinds of its passes so far, as in `error_probability`.

    >>> round(joint_error_probability(("sequential", "sequential"), 0.05, (("first", "sized"), ("first", "sized"))), 4)
    0.0146
    """
    shares = [error_probability(bound, alpha, of_run) / alpha for bound, of_run in zip(bounds, kinds, strict=True)]
    if all(bound != "sequential" for bound in bounds):
        return alpha * math.prod(shares)
    same = len(kinds[0]) == len(kinds[1])
    return alpha * (SAME * min(shares) if same else (1.0 - SAME) * math.prod(shares))
