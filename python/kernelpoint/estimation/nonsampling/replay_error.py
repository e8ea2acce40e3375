"""The error of results that were simulated from replayed state: from validation launches, or from what
predictions say of how far equally likely runs of the same list are apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.quantiles import quantile

# Model: standard deviation of relative replay errors of launches, before any validation launch, without DRAM reads;
# measured as docs/bound.md says, as are the others
EXPECTED_SPREAD = 0.001
# Model: standard deviation of replay errors in cycles, which does not grow with a launch's length: arbiters and queues stand
# otherwise. 1 to 11 over the validation launches of ten runs, 29 in one with launches of 900 cycles
EXPECTED_CYCLES = 15.0
MAX_CYCLES = 30.0  # Model: what validation launches can raise it to; errors beyond count as measured
# Model: standard deviation of the relative error of a total of launches that read nothing from DRAM: 0.00 to 0.16 % in five
# lists (docs/bound.md)
EXPECTED_ERROR = 0.002
PRIOR_DRAWS = 2  # Model: validation launches that this belief counts as
READING = 15.0  # Model: launches that do nothing but read from DRAM scatter by so many times EXPECTED_SPREAD more
FULL_READS = 3.0  # Model: reads from DRAM per cycle of such a launch
SHARE = 0.6  # of what the error leaves of the budget, for its half-width; sqrt(1 - 0.6^2) = 0.8 of it is left for sampling
SURPLUS = 1.2  # further validation launches make the half-width smaller than it has to be by this: their spread may be larger
# Model: standard deviation of full runs' totals over that of the model's replications: 0.46 to 0.36 % (21 full runs) and 0.30
# to 0.23 % (five)
TRAJECTORY_SPREAD = 1.3


@dataclass(frozen=True)
class Compared:
    """Launches that were simulated twice, in the order in which they were chosen: from real and from replayed state.

    kept: float64 [n], a counter of each from the state that the launches before it left, times the launches that it stands for.
    replayed: the same from replayed state.
    chances: of each to be chosen first.
    dependence: `dependence` of each.
    mean: of the dependence of all drawn launches.
    drawn: number of drawn launches.
    absolute: float64 [n], the spread of replay errors of each that does not grow with its length (EXPECTED_CYCLES; 0 of other
        counters than cycles), times the launches that it stands for.
    total_variance: what these spreads of all drawn launches add to the variance of the total's relative error.
    """

    kept: NDArray[np.float64]
    replayed: NDArray[np.float64]
    chances: NDArray[np.float64]
    dependence: NDArray[np.float64]
    mean: float
    drawn: int
    absolute: NDArray[np.float64] | float = 0.0
    total_variance: float = 0.0


def dependence(reads: NDArray[np.float64], cycles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread of a launch's replay error relative to that of a launch which reads nothing from DRAM, float64 [n].

    >>> dependence(np.array([0.0, 600.0, 1e9]), np.array([1000.0, 1000.0, 1000.0])).tolist()
    [1.0, 4.0, 16.0]
    """
    return np.asarray(1.0 + READING * np.minimum(reads / (FULL_READS * np.maximum(cycles, 1.0)), 1.0))


def replay_error(compared: Compared, confidence: float) -> Estimate:
    """Relative replay error of a total by the ratio estimator, from launches chosen one after another.

    Formula: z_i(y) = y_1 + ... + y_{i-1} + y_i (1 - p_1 - ... - p_{i-1}) / p_i, whose mean estimates the sum of y over the
    drawn launches without a bias, uncorrelated (Des Raj 1956; Sarndal, Swensson, Wretman 1992, section 3.7);
    b = sum z(replayed - kept) / sum z(kept); S = sum of the squares of z(replayed - (1 + b) kept) n / sum z(kept), b^2 where
    n is 1;
    v = t sqrt((m s^2 (1 - n / drawn) + S) / (m + n - 1) / n), t two-sided of m + n - 1 degrees of freedom, m PRIOR_DRAWS.

    s = EXPECTED_SPREAD x mean dependence is what is believed of the spread, so few agreeing validation launches do not make v
    0. Where all are equal to the last unit, of one at least that depends on DRAM as the mean does, s is EXPECTED_SPREAD: such a
    launch is equal in 0 of 25 cases where replay does not restore all (Model: footprints beyond the L2).

    Validation launches that are short tell little of long ones. A = r (1 - n / drawn) sum (c_i a_i)^2 / (sum z(kept) / n)^2 is
    the variance of b by the absolute spreads a_i, c_i the weight of launch i in the mean of z. r is the spread that they show
    over the expected one, the latter counting as one launch: (1 + sum ((replayed_i - kept_i) / a_i)^2) / (1 + n), at most
    (MAX_CYCLES / EXPECTED_CYCLES)^2.
    P is the expected square of the total's error: that of EXPECTED_ERROR x mean dependence, and r times `total_variance`, for
    errors of short launches do not cancel in few draws.
    While b^2 is no more than z^2 (A + P), b counts as f b, f = P / (A + P), and v as hypot(f v, z sqrt(f A)): mean, half-width
    of a normal error of variance P, seen with variance A. Where b is larger, or all validation launches agree to
    the last unit, both stay.

    Validation launches are a sample of the sampled launches. The estimate is not corrected: |b| is part of the
    half-width.

    Model: the state that a validation launch continues from is the real one.

    Returns:
        The error as a fraction of the total, with a half-width of 0 where every drawn launch was compared, and of nan where it
        cannot be known: no validation launch, or a counter that is 0 in all of them from real state, and not 0 from
            replayed state.

    >>> ones = np.ones(3)
    >>> error = replay_error(Compared(100.0 * ones, np.array([101.0, 100.0, 99.0]), ones / 12, ones, 1.0, 12), 0.95)
    >>> round(error.estimate, 4), round(error.half_width, 4)
    (0.0011, 0.01)
    """
    kept, replayed, n = compared.kept, compared.replayed, len(compared.kept)
    if n == 0 or (not kept.any() and replayed.any()):
        return Estimate.of(0.0, math.nan)
    if not kept.any():
        return Estimate.of(0.0, 0.0)
    if n == compared.drawn:
        return Estimate.of(float((replayed - kept).sum() / kept.sum()), 0.0)
    total = float(_successive_sums(kept, compared.chances).mean())
    error = float(_successive_sums(replayed - kept, compared.chances).mean()) / total
    residuals = _successive_sums(replayed - (1.0 + error) * kept, compared.chances) / total
    agree = bool((kept == replayed).all() and (compared.dependence >= compared.mean).any())
    believed = EXPECTED_SPREAD * (1.0 if agree else compared.mean) * math.sqrt(1.0 - n / compared.drawn)
    squares = float((residuals**2).sum()) if n > 1 else error**2
    half = _half_width(squares, believed, n, confidence)
    return Estimate.of(error, half) if agree else _pooled(compared, error, half, total, confidence)


def _pooled(compared: Compared, error: float, half: float, total: float, confidence: float) -> Estimate:
    """Mean replay error b and its half-width v, both shrunk to the errors that are expected beforehand."""
    n, chances = len(compared.kept), compared.chances
    c = (n - 1.0 - np.arange(n) + (1.0 - (np.cumsum(chances) - chances)) / chances) / n
    r, z = _seen_spread(compared), quantile(1.0 - confidence, math.inf)
    A = r * (1.0 - n / compared.drawn) * float(((c * compared.absolute) ** 2).sum()) / total**2
    P = (EXPECTED_ERROR * compared.mean) ** 2 + r * compared.total_variance
    if error**2 > z**2 * (A + P):
        return Estimate.of(error, half)
    f = P / (A + P)
    return Estimate.of(f * error, math.hypot(f * half, z * math.sqrt(f * A)))


def _seen_spread(compared: Compared) -> float:
    """Squared spread of the replay errors of the launches, divided by the expected one; 1 if none is expected."""
    if not np.any(compared.absolute):
        return 1.0
    relative = (compared.replayed - compared.kept) / compared.absolute
    return min((1.0 + float((relative**2).sum())) / (1.0 + len(relative)), (MAX_CYCLES / EXPECTED_CYCLES) ** 2)


def _half_width(squares: float, believed: float, n: int, confidence: float) -> float:
    """Half-width of the replay error, from squared deviations of n validation launches and the expected spread."""
    df = PRIOR_DRAWS + n - 1
    return quantile(1.0 - confidence, df) * math.sqrt((PRIOR_DRAWS * believed**2 + squares) / df / n)


def _successive_sums(values: NDArray[np.float64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Successive estimates of the total replay error, float64 [n]: each uses one more validation launch."""
    before = np.cumsum(values) - values
    remaining = 1.0 - (np.cumsum(chances) - chances)
    return np.asarray(before + values * remaining / chances)


def first_validations(relative_error: float, confidence: float, most: int) -> int:
    """Number of validation launches at the beginning: the fewest that leave SHARE of the budget if they agree, and no more than
    `most`.

    >>> [first_validations(eps, 0.95, 12) for eps in (0.05, 0.02, 0.01, 0.005, 0.002)]
    [1, 1, 2, 2, 5]
    """
    allowed = (1.0 - SHARE) * relative_error
    return next((n for n in range(1, most) if _half_width(0.0, EXPECTED_SPREAD, n, confidence) <= allowed), most)


def enough_validations(error: Estimate, n: int, relative_error: float, confidence: float, most: int) -> int:
    """Number of validation launches that should leave enough of the budget to sampling; n if more are not needed or do not
    help.

    Args:
        error: of n validation launches; most: there can be.

    >>> [enough_validations(Estimate.of(0.001, v), 2, 0.01, 0.95, 12) for v in (0.005, 0.007, 0.02)]
    [2, 4, 12]
    >>> enough_validations(Estimate.of(0.02, 0.001), 2, 0.01, 0.95, 12)  # replay is that far off
    2
    """
    bias, half = abs(error.estimate), error.half_width
    remaining = max(relative_error - bias, 0.0)
    if not SHARE * remaining < half < math.inf or bias - half > relative_error:
        return n

    def of(count: int) -> float:
        return quantile(1.0 - confidence, PRIOR_DRAWS + count - 1) / math.sqrt(count)

    allowed = SHARE / SURPLUS * remaining
    return next((k for k in range(n + 1, most) if half * of(k) / of(n) <= allowed), max(most, n))


def state_error(
    cycles: NDArray[np.float64],
    predicted: NDArray[np.float64],
    events: NDArray[np.float64],
    predicted_events: NDArray[np.float64],
    weights: NDArray[np.float64],
    units: int,
    confidence: float,
) -> Estimate:
    """Relative error of a total caused by long-lived state (branch predictors) that replay restores differently.

    State such as that of branch predictors lasts for a whole run. A chain of validation launches begins with it as replay
    restores it, so both launches of a pair have the same error. A model that predicts each launch from the state to be
    restored also predicts events that this state decides. Where a launch has other events, it began in another state, and its
    difference from the prediction counts as replay error in the share of events that differ.

    Formula: r_i = max(|m_i - p_i| - sqrt(M_i), 0) / M_i, M_i = max(m_i, p_i), m_i the events of a launch, p_i those predicted;
    b = sum(z_i) / sum(w_i y_i), z_i = w_i r_i (y_i - x_i), y_i its cycles, x_i those predicted, w_i its weight;
    v = t sqrt(n / (n - 1) (1 - n / N) sum((z_i - mean z)^2)) / sum(w_i y_i), t of n - 1 degrees of freedom.

    Model: from the right state, events scatter as Poisson counts at most, and predictions have no error that goes with r_i.

    Args:
        units: N, in the population; the others: float64 [n], of the drawn launches.

    Returns:
        The error as a fraction of the total, with its half-width.

    >>> ones = np.ones(4)
    >>> error = state_error(900.0 * ones, 1000.0 * ones, 0.0 * ones, 30.0 * ones, ones, 100, 0.95)  # no event, but 30 predicted
    >>> round(error.estimate, 3), error.half_width
    (-0.091, 0.0)
    >>> state_error(900.0 * ones, 1000.0 * ones, 30.0 * ones, 30.0 * ones, ones, 100, 0.95).estimate
    0.0
    """
    n, total = len(cycles), float(weights @ cycles)
    if n < 2 or not total > 0.0:
        return Estimate.of(0.0, 0.0)
    most = np.maximum(events, predicted_events)
    beyond = np.maximum(np.abs(events - predicted_events) - np.sqrt(most), 0.0)
    shares = np.divide(beyond, most, out=np.zeros(n), where=most > 0.0)
    z = weights * shares * (cycles - predicted) / total
    variance = n / (n - 1) * (1.0 - n / units) * float(((z - z.mean()) ** 2).sum())
    return Estimate.of(float(z.sum()), quantile(1.0 - confidence, n - 1) * math.sqrt(variance))


def trajectory_error(
    predicted: NDArray[np.float64],
    spread: NDArray[np.float64],
    replications: int,
    confidence: float,
    of_mean: bool = False,
) -> Estimate:
    """Relative error of a total that differs between full runs, because single cycles early in a run change later launches.

    The full run follows one of many equally likely trajectories. The estimate is of their mean: predictions are means over
    replications, and a result counts by its difference from the prediction in the trajectory that it belongs to. No draws
    reduce the distance of one full run from the mean. Validation launches cannot measure it: single launches differ by several
    per cent between trajectories, so hundreds would be needed.

    Formula: v = hypot(t c sqrt((1 + 1 / R) sum(spread^2)) / sum(predicted), z EXPECTED_SPREAD), t of R - 1 degrees of freedom:
    the prediction interval of one further trajectory (Hahn and Meeker, Statistical Intervals, 1991, section 4.7). Without the
    1 it is the confidence interval of the mean. c = TRAJECTORY_SPREAD. EXPECTED_SPREAD stands for what results from replayed
    state may be off as a whole.

    Args:
        predicted: float64 [N], predicted values of all units, in any unit: means over the replications.
        spread: float64 [N], parts of the units in the standard deviation of the total between replications: their squares add
            up to its variance.
        replications: R, at least 2.
        confidence: of the half-width.
        of_mean: the bound is on the mean of all full runs, in place of one full run.

    Returns:
        An error of 0 as a fraction of the total; a half-width of nan where nothing is predicted.

    >>> error = trajectory_error(np.full(100, 10.0), np.full(100, 0.5), 12, 0.95)
    >>> error.estimate, round(error.half_width, 4)
    (0.0, 0.015)
    >>> round(trajectory_error(np.full(100, 10.0), np.full(100, 0.5), 12, 0.95, of_mean=True).half_width, 4)
    0.0046
    """
    total = float(predicted.sum())
    if not total > 0.0:
        return Estimate.of(0.0, math.nan)
    alpha, further = 1.0 - confidence, 0.0 if of_mean else 1.0
    between = math.sqrt((further + 1.0 / replications) * float((spread**2).sum())) / total
    between *= TRAJECTORY_SPREAD * quantile(alpha, replications - 1)
    return Estimate.of(0.0, math.hypot(between, quantile(alpha, math.inf) * EXPECTED_SPREAD))
