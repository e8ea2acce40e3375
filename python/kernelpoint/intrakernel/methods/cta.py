"""CTA-level projection with an error of its own: batch means over waves of CTAs."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.intrakernel.contract import Projection, StoppingRule
from kernelpoint.intrakernel.progress_trace import ProgressTrace

LEAST_WAVES = 3  # measured after the first; fewer say too little of how much waves differ
LEAST_PART = 0.5  # of the CTAs; a launch that outgrows a cache shows it by then, or not at all
PARTS = 8  # of a wave, to see how unevenly it issues
TAIL = 0.5  # standard deviation of a tail over its length beyond one wave


class CtaProjection(StoppingRule):
    """Projects a launch from the rate at which it issues CTAs, once the rate is known well enough.

    The first wave (S CTAs) fills the GPU: launch latency, ramp and cold caches are its own. After it a CTA is issued only when
    another one ends, so whole waves of S issues measure the rate of the GPU. Let d_1 ... d_B be the cycles of the last B =
    floor((k - S) / S) whole waves before the stop, dbar and s^2 their mean and variance, and m = (n - k) / S the waves left:

        T = T_k + m dbar,
        V = (s^2 + r^2 / 6) (m + m^2 / B) + (m g)^2 + 2 u^2 + 2 (TAIL max(D - dbar, 0))^2.

    T_k is the end of the stopped launch with its resident CTAs drained, so that latency, ramp and tail are in T as simulated.
    V has the spread of the waves to come and the error of their mean, with r the distance between points, since the moment at
    which a count was reached is known to within +- r / 2; the drift g, by which the mean of the last third of the waves differs
    from their median (a launch whose footprint outgrows a cache changes its rate halfway); the unevenness u inside waves (root
    mean square of the cycles between the issues and a straight line), as the launch need not end in the phase in which it was
    stopped; and how much two tails differ, where the tail D = T_k - t is longer than a wave. The half-width is Student's t
    with B - 1 degrees of freedom times the root of V; for instructions u and the tail play no part.
    The launch is stopped when the half-width, with D = dbar, is within `allowance` times T. That is what it then claims, or
    more: of small variances the too small ones are those that stop it (see estimation.bounds.stated).

    Source: batch means of steady-state simulation (Law and Kelton, Simulation Modeling and Analysis, section 9.5), a wave
    being the batch, with the variance of a prediction. Model: what comes is as what was since the first wave; half of the CTAs
    have to be in it, and a launch that changes its rate later is outside of it. Model: TAIL, from CTAs with gamma-distributed
    cycles on 60 slots.

    Args:
        confidence: of the stated error.
        allowance: relative half-width at which a launch is stopped.

    >>> trace, rule = ProgressTrace(), CtaProjection(0.95, 0.05)
    >>> for i in range(200):
    ...     trace.add(1000 + 10 * i, 300 * i, min(8 + i // 2 * 2, 400), i // 2 * 2, 400)
    ...     if rule.stops(trace):
    ...         break
    >>> trace.issued, trace.cycles, rule.project(trace, trace.cycles + 80, 9600.0).cycles
    (200, 2920, 5000.0)
    """

    description = "CTA-level projections"
    bounded = ("cycles", "instructions")
    assumption = "waves of CTAs behind the stop are as those before it"

    def __init__(self, confidence: float, allowance: float) -> None:
        self._alpha = 1.0 - confidence
        self._allowance = allowance
        self._asked_at = 0

    def stops(self, trace: ProgressTrace) -> bool:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`. Half waves only: that costs little and misses little."""
        if not 0 < trace.resident < trace.total or not trace.issued < trace.total:
            return False
        half_waves = 2 * trace.issued // trace.resident
        least = max((1 + LEAST_WAVES) * trace.resident, LEAST_PART * trace.total)
        if half_waves <= self._asked_at or trace.issued < least:
            return False
        self._asked_at = half_waves
        waves = _Waves(trace)
        error = waves.half_width(self._alpha, 0, waves.other_variance(waves.mean[0]))
        return bool(error <= self._allowance * (trace.cycles + waves.rest[0]))

    def project(self, trace: ProgressTrace, cycles: float, instructions: float) -> Projection:
        """See :class:`~kernelpoint.intrakernel.contract.StoppingRule`."""
        waves = _Waves(trace)
        whole = cycles + float(waves.rest[0])
        error = waves.half_width(self._alpha, 0, waves.other_variance(cycles - trace.cycles))
        claimed = max(error, self._allowance * whole)
        work = instructions + float(waves.rest[1])
        return Projection(whole, work, claimed, waves.half_width(self._alpha, 1, 0.0), trace.total / trace.issued)


class _Waves:
    """The whole waves of a trace behind its first one, counted back from its last point; see CtaProjection for the symbols."""

    def __init__(self, trace: ProgressTrace) -> None:
        self.count = (trace.issued - trace.resident) // trace.resident
        self.left = (trace.total - trace.issued) / trace.resident
        self._resolution = trace.resolution
        ends = trace.issued - trace.resident * np.arange(self.count, -1, -1, dtype=np.float64)
        at_end = trace.at_issue(ends)
        amounts = np.diff(at_end, axis=1)
        self.mean = amounts.mean(axis=1)
        self.rest = self.left * self.mean
        self._variance = amounts.var(axis=1, ddof=1)
        self._drift = amounts[:, -max(self.count // 3, 1) :].mean(axis=1) - np.median(amounts, axis=1)
        inside = np.linspace(ends[0], ends[-1], self.count * PARTS + 1)
        self._unevenness = float(np.mean((trace.at_issue(inside)[0] - np.interp(inside, ends, at_end[0])) ** 2))

    def other_variance(self, tail: float) -> float:
        """Variance of the cycles that phase and tail add."""
        return 2.0 * self._unevenness + 2.0 * (TAIL * max(tail - float(self.mean[0]), 0.0)) ** 2

    def half_width(self, alpha: float, amount: int, other_variance: float) -> float:
        """Of the cycles (amount 0) or the instructions (1) of the whole launch."""
        within = float(self._variance[amount]) + (self._resolution**2 / 6.0 if amount == 0 else 0.0)
        drift = (self.left * float(self._drift[amount])) ** 2
        variance = within * (self.left + self.left**2 / self.count) + drift + other_variance
        return two_sided(alpha, self.count - 1.0) * math.sqrt(variance)
