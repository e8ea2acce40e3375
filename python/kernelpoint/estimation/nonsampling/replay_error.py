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
# Model: standard deviation of the relative error of predicted totals. Totals by a model of the cores were off by .1 to 3.5 % in
# thirteen lists, by 18 % in one
PREDICTION_ERROR = 0.05


@dataclass(frozen=True)
class Compared:
    """Validation launches: launches that were simulated twice, first from the state that all earlier launches left, then from a
    state that replay restored without simulating them. They stand in the order in which they were chosen.

    Attributes:
        kept: float64 [n], counter of each launch from the real state, times the number of launches that it represents.
        replayed: the same from the restored state.
        chances: float64 [n], probability with which each launch was chosen first.
        dependence: float64 [n], value of the function `dependence` for each launch.
        mean: mean of that function over all drawn launches.
        drawn: number of drawn launches, from which the validation launches were chosen.
        absolute: float64 [n], for cycles: EXPECTED_CYCLES times the number of launches that each represents; 0 for other
            counters.
        total_variance: variance that errors of EXPECTED_CYCLES in all drawn launches add to the relative error of the total.
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
    """Expected standard deviation of a launch's replay error (error because its simulation starts from a restored state of
    caches and predictors), relative to that of a launch that reads nothing from DRAM, float64 [n].

    Formula: 1 + READING min(reads / (FULL_READS cycles), 1).

    Args:
        reads: float64 [n], number of reads from DRAM in each launch.
        cycles: float64 [n], cycles of each launch.

    >>> dependence(np.array([0.0, 600.0, 1e9]), np.array([1000.0, 1000.0, 1000.0])).tolist()
    [1.0, 4.0, 16.0]
    """
    return np.asarray(1.0 + READING * np.minimum(reads / (FULL_READS * np.maximum(cycles, 1.0)), 1.0))


def replay_error(compared: Compared, confidence: float) -> Estimate:
    """Relative replay error of a total: what it is off because launches were simulated from a restored state, not the real one.
    It is estimated from validation launches, which were simulated from both. They are a sample of the simulated launches.
    Estimates of totals are not corrected by the error; its absolute value is added to their half-width.

    Formula: ratio estimator for launches that are chosen one after another with the first probabilities p_i (Des Raj 1956;
    Sarndal, Swensson, Wretman 1992, section 3.7). n: number of validation launches; N: number of drawn launches.
        z_i(y) = y_1 + ... + y_{i-1} + y_i (1 - p_1 - ... - p_{i-1}) / p_i: n unbiased, uncorrelated estimates of the sum of y
            over the N launches.
        b = sum z(replayed - kept) / sum z(kept): the error.
        S = sum over i of (z_i(replayed - (1 + b) kept) / mean z(kept))^2; b^2 if n = 1.
        v = t sqrt((m s^2 (1 - n / N) + S) / (m + n - 1) / n): its half-width, t the two-sided quantile with m + n - 1 degrees
            of freedom.
        s = EXPECTED_SPREAD x mean dependence: standard deviation expected beforehand, which counts as m = PRIOR_DRAWS launches,
            so that few launches that agree do not make v 0. If all launches agree to the last digit, among them one with at
            least the mean dependence on DRAM, s = EXPECTED_SPREAD.

    Short validation launches tell little of long ones, so b and v are shrunk, unless all launches agree or b^2 > z^2 (A + P):
        A = r (1 - n / N) sum (c_i a_i)^2 / (mean z(kept))^2: variance of b by errors a_i (`absolute`) that do not grow with
            length; c_i is the weight of launch i in mean z.
        r: squared errors of the launches over the expected ones, (1 + sum ((replayed_i - kept_i) / a_i)^2) / (1 + n), at most
            (MAX_CYCLES / EXPECTED_CYCLES)^2.
        P = (EXPECTED_ERROR x mean dependence)^2 + r total_variance: expected square of the error.
        f b and hypot(f v, z sqrt(f A)), f = P / (A + P), replace b and v: mean and half-width of a normal error with variance
        P, observed with variance A; z is the normal quantile.

    Model: a validation launch continues from the real state.

    Returns:
        The error as a fraction of the total. Its half-width is 0 if all N launches were compared, and nan if it cannot be
        known: there is no validation launch, or the counter is 0 in all from the real state but not from the restored one.

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
    if agree:
        return Estimate.of(error, half)
    chances, r = compared.chances, 1.0
    if np.any(compared.absolute):
        relative = (replayed - kept) / compared.absolute
        r = min((1.0 + float((relative**2).sum())) / (1.0 + n), (MAX_CYCLES / EXPECTED_CYCLES) ** 2)
    c = (n - 1.0 - np.arange(n) + (1.0 - (np.cumsum(chances) - chances)) / chances) / n
    A = r * (1.0 - n / compared.drawn) * float(((c * compared.absolute) ** 2).sum()) / total**2
    P, z = (EXPECTED_ERROR * compared.mean) ** 2 + r * compared.total_variance, quantile(1.0 - confidence, math.inf)
    if error**2 > z**2 * (A + P):
        return Estimate.of(error, half)
    f = P / (A + P)
    return Estimate.of(f * error, math.hypot(f * half, z * math.sqrt(f * A)))


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
    """Number of validation launches (simulated from the real and from a restored state) at the start of a run: the fewest that,
    if they agree, leave enough of the error budget to sampling, and at most `most`.

    >>> [first_validations(eps, 0.95, 12) for eps in (0.05, 0.02, 0.01, 0.005, 0.002)]
    [1, 1, 2, 2, 5]
    """
    allowed = (1.0 - SHARE) * relative_error
    return next((n for n in range(1, most) if _half_width(0.0, EXPECTED_SPREAD, n, confidence) <= allowed), most)


def enough_validations(error: Estimate, n: int, relative_error: float, confidence: float, most: int) -> int:
    """Number of validation launches (simulated from the real and from a restored state) that should leave enough of the error
    budget to sampling; n if more are not needed or would not help.

    Args:
        error: relative replay error from the n launches so far.
        n: number of validation launches so far.
        relative_error: error budget.
        confidence: confidence level of the budget.
        most: largest possible number.

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
    """Relative error of a total because replay restores caches or branch predictors wrongly, from counts of events.

    A comparison of validation launches (simulated after real launches and from restored state) cannot show all of this error:
    its chains of launches begin with restored state too. But a model predicts, for each launch and the right state, the number
    of events that the state decides, such as mispredicted branches or misses. A launch with another number began in another
    state: the share of events that differ, times its difference from the predicted cycles, is its error.

    Formula: b = sum(z_i) / sum(w_i y_i), z_i = w_i r_i (y_i - (1 + a) x_i);
    half-width v = hypot(t sqrt(n / (n - 1) (1 - n / N) sum((z_i - mean z)^2)), z e (1 - s) sum(w_i r_i x_i)) / sum(w_i y_i),
    t with n - 1 degrees of freedom, z the normal quantile, e PREDICTION_ERROR.
        y_i, x_i, w_i: cycles of launch i, predicted cycles, weight.
        r_i = max over k of max(|m_ki - p_ki| - sqrt(M_ki), 0) / M_ki: share of events that differ beyond chance, largest of all
            kinds k; M_ki = max(m_ki, p_ki).
        m_ki, p_ki: number of events of kind k, predicted number.
        s, a: share of the launches with r_i = 0 in sum(w_i x_i), and of what they take more than predicted. They began in the
            right state, so they show how far predictions are off; without any, a is 0 and its standard deviation e.

    Model: from the right state, events scatter no more than Poisson counts; errors of predicted cycles do not depend on r_i.

    Args:
        cycles, predicted, weights: float64 [n], of the simulated launches.
        events, predicted_events: float64 [K, n], counts of each kind of event.
        units: number N of launches in the population.
        confidence: confidence level of the half-width.

    Returns:
        The error as a fraction of the total, with its half-width.

    >>> ones = np.ones(4)
    >>> error = state_error(900.0 * ones, 1000.0 * ones, [0.0 * ones], [30.0 * ones], ones, 100, 0.95)  # 30 predicted
    >>> round(error.estimate, 3), round(error.half_width, 3)
    (-0.091, 0.089)
    >>> state_error(900.0 * ones, 1000.0 * ones, [30.0 * ones], [30.0 * ones], ones, 100, 0.95).estimate
    0.0
    """
    n, total = len(cycles), float(weights @ cycles)
    if n < 2 or not total > 0.0:
        return Estimate.of(0.0, 0.0)
    most = np.maximum(events, predicted_events)
    beyond = np.maximum(np.abs(np.subtract(events, predicted_events)) - np.sqrt(most), 0.0)
    shares = np.divide(beyond, most, out=np.zeros_like(most), where=most > 0.0).max(axis=0)
    of_predicted = weights * predicted / float(weights @ predicted)
    agree = shares == 0.0
    excess = float(of_predicted[agree] @ (cycles[agree] / predicted[agree] - 1.0))
    z = weights * shares * (cycles - (1.0 + excess) * predicted) / total
    variance = n / (n - 1) * (1.0 - n / units) * float(((z - z.mean()) ** 2).sum())
    unknown = PREDICTION_ERROR * (1.0 - float(of_predicted[agree].sum())) * float((weights * shares) @ predicted) / total
    alpha = 1.0 - confidence
    half = math.hypot(quantile(alpha, n - 1) * math.sqrt(variance), quantile(alpha, math.inf) * unknown)
    return Estimate.of(float(z.sum()), half)


def trajectory_error(
    predicted: NDArray[np.float64],
    spread: NDArray[np.float64],
    replications: int,
    confidence: float,
    of_mean: bool = False,
) -> Estimate:
    """Relative error of a total because full runs of the same list differ: a single cycle early in a run can change later
    launches.

    Model: the full run follows one of many equally likely trajectories, and the estimate is of their mean. More draws do not
    reduce the distance of one full run from the mean. Validation launches cannot measure it, because single launches differ by
    several per cent between trajectories.

    Formula: v = hypot(t c sqrt((1 + 1 / R) sum(spread^2)) / sum(predicted), z EXPECTED_SPREAD), t with R - 1 degrees of
    freedom, z the normal quantile, c = TRAJECTORY_SPREAD. The first term is the prediction interval of one further trajectory
    (Hahn and Meeker, Statistical Intervals, 1991, section 4.7); without the 1 it is the confidence interval of the mean. The
    second term allows for a common error of results from restored state.

    Args:
        predicted: float64 [N], predicted value of each launch, in any unit: mean over the replications.
        spread: float64 [N], contribution of each launch to the standard deviation of the total between replications: the
            squares add up to the variance.
        replications: number R of simulated trajectories, at least 2.
        confidence: confidence level of the half-width.
        of_mean: True: half-width for the mean of all full runs; False: for one full run.

    Returns:
        An error of 0, with half-width v as a fraction of the total; nan if all predictions are 0.

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
