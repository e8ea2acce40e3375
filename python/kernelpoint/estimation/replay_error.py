"""The error of results that were simulated from replayed state: from run-ups that were simulated both ways, or from what
predictions say of how far equally likely runs of the same list are apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import HostError
from kernelpoint.estimation.assisted import quantile
from kernelpoint.estimation.systematic_error import SystematicError

# Model: standard deviation of relative replay errors of launches that is believed before any run-up; measured in Accel-Sim
# (accelsim_patch/README.md)
EXPECTED_SPREAD = 0.001


def replay_error(
    kept: NDArray[np.float64], replayed: NDArray[np.float64], drawn: int, confidence: float
) -> SystematicError:
    """Ratio estimator of the relative error of a total, one pair of values for each run-up.

    Formula: b = sum(replayed - kept) / sum(kept); v = max(t s / mean(kept), z EXPECTED_SPREAD) sqrt((1 - n / drawn) / n),
    with s^2 the variance of replayed - (1 + b) kept, t of n - 1 degrees of freedom and z of infinitely many (Sarndal,
    Swensson, Wretman 1992, section 5.6). Few run-ups that all happen to agree do not make v 0.

    What is estimated is how far the sample's results move the estimate, so run-ups are a sample of the drawn launches. t and z
    are one-sided: the estimate is not corrected and |b| is part of the half-width, which is too small only where |b| is
    too small by more than v.

    Model: the state that a run-up carries on with is the real one.

    Args:
        kept: float64 [n], of each run-up the counter of a launch that began with the real state, times the launches that it
            stands for.
        replayed: float64 [n], the same launches from replayed state.
        drawn: launches of the sample, n of which were compared.
        confidence: of the half-width.

    Returns:
        The error as a fraction of the total; a half-width of nan where it cannot be known: fewer than two run-ups, or a counter
        that is 0 in all of them from real state and not from replayed state.

    Raises:
        HostError: the arrays differ in length.

    >>> error = replay_error(np.array([100.0, 100.0, 100.0]), np.array([101.0, 100.0, 99.0]), 12, 0.95)
    >>> round(error.error, 6), round(error.half_width, 4)
    (0.0, 0.0146)
    """
    if kept.shape != replayed.shape:
        raise HostError(f"run-ups: got {len(kept)} from real state, {len(replayed)} from replayed state")
    n, total = len(kept), float(kept.sum())
    if n < 2 or (total == 0.0 and replayed.any()):
        return SystematicError(0.0, math.nan)
    if total == 0.0:
        return SystematicError(0.0, 0.0)
    error = float((replayed - kept).sum()) / total
    left = replayed - (1.0 + error) * kept
    spread = math.sqrt(float((left**2).sum()) / (n - 1) / n)
    one_sided = 2.0 * (1.0 - confidence)
    seen = quantile(one_sided, n - 1) * spread / (total / n)
    expected = quantile(one_sided, math.inf) * EXPECTED_SPREAD / math.sqrt(n)
    return SystematicError(error, max(seen, expected) * math.sqrt(max(1.0 - n / drawn, 0.0)))


def error_of_courses(
    predicted: NDArray[np.float64], spread: NDArray[np.float64], courses: int, confidence: float
) -> SystematicError:
    """The relative error of a total that is another in every run which differs in single cycles.

    The full run is one of many equally likely courses. What is estimated is their mean: predictions are means of several
    courses, and results count by what they differ from the prediction in the course that they belong to. How far one course
    is off has no sign that could be known, and no draws take it away. Run-ups cannot measure it: single launches differ by
    several per cent, so hundreds would be needed, and the full run's own course is not theirs.

    Formula: v = hypot(t sqrt((1 + 1 / courses) sum(spread^2)) / sum(predicted), z EXPECTED_SPREAD), t of courses - 1 degrees of
    freedom: the prediction interval of one further course (Hahn and Meeker, Statistical Intervals, 1991, section 4.7), and what
    results from replayed state may be off as a whole.

    Args:
        predicted: float64 [N], predicted values of all units, in any unit: means of the courses; spread: float64 [N], parts of
            the units in the standard deviation of the total from course to course: their squares add up to its variance.
        courses: number of them, at least 2; confidence: of the half-width.

    Returns:
        An error of 0 as a fraction of the total; a half-width of nan where nothing is predicted.

    >>> error = error_of_courses(np.full(100, 10.0), np.full(100, 0.5), 12, 0.95)
    >>> error.error, round(error.half_width, 4)
    (0.0, 0.0116)
    """
    total = float(predicted.sum())
    if not total > 0.0:
        return SystematicError(0.0, math.nan)
    alpha = 1.0 - confidence
    between = quantile(alpha, courses - 1) * math.sqrt((1.0 + 1.0 / courses) * float((spread**2).sum())) / total
    return SystematicError(0.0, math.hypot(between, quantile(alpha, math.inf) * EXPECTED_SPREAD))
