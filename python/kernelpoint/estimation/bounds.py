"""How much error probability a look may spend: the bounds `sequential`, `two_stage` and `fixed`."""

from __future__ import annotations

from kernelpoint.estimation.design import Bound

SPENDING = (0.2, 0.5, 0.15)  # shares of alpha for the first looks; what is left is halved at every further look


def error_probability(bound: Bound, alpha: float, look: int) -> float:
    """alpha_k, the error probability of look k = 1, 2, ... (the end of pass k).

    "sequential": alpha_k = alpha * (0.2, 0.5, 0.15, 0.075, 0.0375, ...): they add up to alpha, so by the union bound the
        probability that any look's interval misses the truth is at most alpha, whenever the run stops (alpha spending,
        Lan and DeMets 1983, here by look number). Most goes to the second look: the first is a pilot, which stops the run
        only where its half-width is far inside the budget and a wide quantile costs nothing; the second is the first that
        is sized for the budget.
    "two_stage" (Stein 1945): every look uses the variance of the first pass only, so looking again teaches nothing about it.
    "fixed": alpha at every look. Not corrected for looking repeatedly: it covers less often than stated.

    >>> [error_probability("sequential", 0.1, k) for k in (1, 2, 3)]
    [0.020000000000000004, 0.05, 0.015]
    """
    if bound != "sequential":
        return alpha
    if look <= len(SPENDING):
        return alpha * SPENDING[look - 1]
    return alpha * (1.0 - sum(SPENDING)) * 0.5 ** (look - len(SPENDING))


def stated(computed: float, estimate: float, relative_error: float) -> float:
    """The half-width that is stated: max(t SE, eps |that|), 0 where nothing is left to chance.

    A run stops because its estimated variance is small, and of the small ones the too small ones are the ones that stop it.
    So a run claims its budget, +- eps, as in fixed-width sequential estimation (Chow and Robbins 1965), not the smaller
    figure by which it seems to beat it: measured, t SE alone holds the truth too seldom on populations with rare slow
    launches, while the budget holds. t SE follows from `std_error` and `degrees_of_freedom`, which are reported as they are.

    >>> stated(3.0, 1000.0, 0.01), stated(30.0, 1000.0, 0.01), stated(0.0, 1000.0, 0.01)
    (10.0, 30.0, 0.0)
    """
    return computed if computed == 0.0 else max(computed, relative_error * abs(estimate))
