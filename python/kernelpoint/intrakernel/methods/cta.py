"""CTA-level projection with an error of its own: batch means over waves of CTAs, by the clock of the fast model."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.intrakernel.contract import Model, Projection, StoppingRule, no_model
from kernelpoint.intrakernel.progress_trace import ProgressTrace

LEAST_WAVES = 3  # measured after the first; fewer say too little of how much waves differ
LEAST_PART = 0.6  # of the CTAs, where no model tells whether a launch outgrows a cache later
LEAST_PART_MODELLED = 0.25
MOST_BATCHES = 16  # waves are taken together where they are many: they are short then, and read with an error
PARTS = 8  # of a wave, to see how unevenly it issues
TAIL = 0.5  # standard deviation of a tail over its length beyond one wave
SAME_WAVES = 0.25  # relative difference of S up to which the model's waves stand for the launch's
DISTRUST = 0.5  # standard deviation of a change of rate that the model foretells, over that change


class CtaProjection(StoppingRule):
    """Projects a launch from the rate at which it issues CTAs, once the rate is known well enough.

    The first wave (S CTAs) fills the GPU: launch latency, ramp and cold caches are its own. After it a CTA is issued only when
    another one ends, so whole waves of S issues measure the rate of the GPU. Let y_b be the cycles of the last B =
    floor((k - S) / S) waves before the stop, z_b the cycles in which the fast model issues the same CTAs, and z those for the
    n - k CTAs left: a ratio estimator on the model's clock. Without the model, or if it runs another number of CTAs
    at a time, z counts CTAs. Where there would be 32 or more y_b, two or more waves make one.

        r = sum y_b / sum z_b,    m = B z / sum z_b,
        T = T_k + r z,
        V = s^2 (m + m^2 / B) + (m g)^2 + (p^2 / 6) (1 + (m / B)^2) + (c f r z)^2 + 2 u^2 + 2 (TAIL max(D - w, 0))^2.

    T_k is the end of the stopped launch with its resident CTAs drained, so that latency, ramp and tail are in T as simulated.
    V has the spread s of the residuals e_b = y_b - r z_b and the error of r; the drift g, by which the mean of the last third
    of the e_b differs from their median; the distance p between points, since the moment at which a count was reached is known
    to within +- p / 2; a change f of the rate that the model foretells (cycles for a CTA behind the stop over those before it,
    in whole waves, less 1) and the doubt c of it, 1 where z counts CTAs, else what DISTRUST becomes by the changes that waves
    before the stop have shown (`_doubt`); the unevenness u inside waves (root mean square of the cycles between the issues and
    a straight line, less what the model knows of it), as the launch need not end in the phase in which it was stopped; and how
    much two tails differ, where the tail D = T_k - t is longer than a wave w. The half-width is Student's t with B - 1 degrees
    of freedom times the root of V; for instructions, which follow the CTAs, f, u and the tail play no part. The launch is
    stopped when the half-width, with D as the model has it or D = w, is within `allowance` times T. That is what it then
    claims, or more: of small variances the too small ones are those that stop it (see estimation.bounds.stated).

    Source: batch means of steady-state simulation (Law and Kelton, Simulation Modeling and Analysis, section 9.5); ratio
    estimators (Cochran, Sampling Techniques, chapter 6). Model: the rest of the launch has the ratio to the model that
    was measured since the first wave.
    Without the model six tenths of the CTAs have to be in it, and a launch that changes its rate later is outside of it.
    Model: TAIL, from CTAs with gamma-distributed cycles on 60 slots.

    Args:
        confidence: of the stated error.
        allowance: relative half-width at which a launch is stopped.
        model: gives the trajectory of the whole launch as the fast model simulates it, or None.

    >>> trace, rule = ProgressTrace(), CtaProjection(0.95, 0.05)
    >>> for i in range(400):
    ...     trace.add(1000 + 10 * i, 300 * i, min(8 + i // 2 * 2, 400), i // 2 * 2, 400)
    ...     if rule.stops(trace):
    ...         break
    >>> trace.issued, trace.cycles, rule.project(trace, trace.cycles + 80, 9600.0).cycles
    (240, 3320, 5000.0)
    """

    description = "CTA-level projections"
    bounded = ("cycles", "instructions")
    interval = 25  # a wave lasts hundreds to thousands of cycles, and its CTAs issue in bursts
    assumption = "waves of CTAs behind the stop are as those before it, or differ as the fast model says"

    def __init__(self, confidence: float, allowance: float, model: Model = no_model) -> None:
        self._alpha = 1.0 - confidence
        self._allowance = allowance
        self._model = model
        self._asked_at = 1  # in half waves before the end, from below: never 1

    def stops(self, trace: ProgressTrace) -> bool:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`. Half waves only: that costs little and misses little."""
        if not 0 < trace.resident < trace.total or not trace.issued < trace.total:
            return False
        half_waves = 2 * (trace.issued - trace.total) // trace.resident
        least = max((1 + LEAST_WAVES) * trace.resident + 1, LEAST_PART_MODELLED * trace.total)
        if half_waves == self._asked_at or trace.issued < least:
            return False
        self._asked_at = half_waves
        model = _usable(self._model(), trace)
        if model is None and trace.issued < LEAST_PART * trace.total:
            return False
        waves = _Waves(trace, model)
        error = waves.half_width(self._alpha, 0, waves.other_variance(waves.tail))
        return bool(error <= self._allowance * (trace.cycles + waves.rest[0]))

    def project(self, trace: ProgressTrace, cycles: float, instructions: float) -> Projection:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`."""
        waves = _Waves(trace, _usable(self._model(), trace))
        whole = cycles + float(waves.rest[0])
        error = waves.half_width(self._alpha, 0, waves.other_variance(cycles - trace.cycles))
        claimed = max(error, self._allowance * whole)
        work = instructions + float(waves.rest[1])
        return Projection(whole, work, claimed, waves.half_width(self._alpha, 1, 0.0), trace.total / trace.issued)


class _Waves:
    """Waves of a trace after its first one, counted back from its last point; see CtaProjection for the symbols.

    Row 0 of each array is of cycles, row 1 of instructions.
    """

    def __init__(self, trace: ProgressTrace, model: ProgressTrace | None) -> None:
        waves = (trace.issued - 1) // trace.resident - 1  # the CTA that comes after S issues when one has ended
        length = max(waves // MOST_BATCHES, 1) * trace.resident
        self.count = waves * trace.resident // length
        ends = trace.issued - length * np.arange(self.count, -1, -1, dtype=np.float64)
        amounts = np.diff(trace.at_issue(ends), axis=1)
        self.wave = float(amounts[0].sum() * trace.resident / (ends[-1] - ends[0]))
        clock = np.stack([np.diff(ends)] * 2)
        left = np.full(2, float(trace.total - trace.issued))
        self._change = 0.0 if model is None else _change(model, trace)
        same = model if model is not None and _same_waves(model, trace) else None
        if same is not None:
            clock[0] = np.maximum(np.diff(same.at_issue(ends)[0]), 1.0)
            left[0] = max(float(np.diff(same.at_issue(np.array([ends[-1], float(trace.total)]))[0])[0]), 1.0)
        rate = amounts.sum(axis=1) / clock.sum(axis=1)
        residual = amounts - rate[:, None] * clock
        self.rest = rate * left
        self._left = left / clock.mean(axis=1)
        self._variance = residual.var(axis=1, ddof=1)
        self._drift = residual[:, -max(self.count // 3, 1) :].mean(axis=1) - np.median(residual, axis=1)
        self._resolution = trace.resolution
        self.tail = self.wave  # as it is expected
        uneven = _unevenness(trace, trace)
        if same is not None:
            self._change *= _doubt(self._change, amounts[0], clock[0], self._variance[0])
            self.tail = max(self.wave, rate[0] * (same.cycles - float(same.at_issue(np.array([trace.total]))[0, 0])))
            uneven -= rate[0] * _unevenness(same, trace)
        self._unevenness = float(np.mean(uneven**2))

    def other_variance(self, tail: float) -> float:
        """Variance of the cycles that a change of the rate, phase and tail add."""
        change = (self._change * float(self.rest[0])) ** 2
        return change + 2.0 * self._unevenness + 2.0 * (TAIL * max(tail - self.wave, 0.0)) ** 2

    def half_width(self, alpha: float, amount: int, other_variance: float) -> float:
        """Half-width of the whole launch's cycles (amount 0) or instructions (1)."""
        left = float(self._left[amount])
        within = float(self._variance[amount]) * (left + left**2 / self.count)
        drift = (left * float(self._drift[amount])) ** 2
        read = self._resolution**2 / 6.0 * (1.0 + (left / self.count) ** 2) if amount == 0 else 0.0
        variance = within + drift + read + other_variance
        return two_sided(alpha, self.count - 1.0) * math.sqrt(variance)


def _unevenness(trajectory: ProgressTrace, trace: ProgressTrace) -> np.ndarray:
    """Cycles between the issues inside waves of `trace`, counted back from its last point, and lines from wave to wave."""
    ends = np.arange(trace.issued, trace.resident, -trace.resident, dtype=np.float64)[::-1]
    inside = np.linspace(ends[0], ends[-1], (len(ends) - 1) * PARTS + 1)
    return trajectory.at_issue(inside)[0] - np.interp(inside, ends, trajectory.at_issue(ends)[0])


def _doubt(change: float, cycles: np.ndarray, clock: np.ndarray, variance: float) -> float:
    """Standard deviation of a change of rate that the model foretells, over that change, given those that waves have shown.

    The slope of the cycles in the model's clock is assumed within DISTRUST of their ratio r. Waves whose clocks differ
    measure it. Its mean square distance from r counts, over r squared, and DISTRUST of the part of the change that is
    larger than what the clocks of these waves differ by.
    """
    rate = cycles.sum() / clock.sum()
    centred = clock - clock.mean()
    square = max(float(centred @ centred), 1e-9)
    told, prior = square * rate**2 / max(variance, 1e-9), DISTRUST**-2.0  # precisions of slope / r
    away = told * (float(centred @ cycles) / (rate * square) - 1.0) / (told + prior)
    seen = float(clock.std() / clock.mean()) / max(abs(change), 1e-9)
    return math.sqrt(1.0 / (told + prior) + away**2 + (DISTRUST * max(1.0 - seen, 0.0)) ** 2)


def _same_waves(model: ProgressTrace, trace: ProgressTrace) -> bool:
    return abs(model.resident / trace.resident - 1.0) <= SAME_WAVES


def _usable(model: ProgressTrace | None, trace: ProgressTrace) -> ProgressTrace | None:
    """The model, unless its waves are too large for this launch."""
    if model is None or _same_waves(model, trace):
        return model
    wave = model.resident
    tells = trace.issued - max(wave, trace.resident) >= wave and trace.total - trace.issued >= wave
    return model if tells else None


def _change(model: ProgressTrace, trace: ProgressTrace) -> float:
    """Cycles of the model for a CTA after the stop over those before it, less 1; both from whole waves of the
    model."""
    wave = model.resident
    before = max((trace.issued - 1 - max(wave, trace.resident)) // wave, 1) * wave
    behind = min(max((trace.total - trace.issued) // wave, 1) * wave, trace.total - trace.issued)
    counts = np.array([trace.issued - before, trace.issued, trace.issued + behind], dtype=np.float64)
    begin, stop, end = model.at_issue(counts)[0]
    return float((end - stop) / behind / max((stop - begin) / before, 1e-9) - 1.0)
