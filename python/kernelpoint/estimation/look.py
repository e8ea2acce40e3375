"""Report of a look at the end of a pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """Estimated total (or ratio of totals) of one counter, with its bound.

    counter: its name; estimate: the total; half_width: of the confidence interval at `confidence`, nan where no bound is
    stated; relative_half_width: half_width / |estimate|; std_error: square root of the estimated variance;
    degrees_of_freedom: of that variance; confidence: the stated one; simulated: sum over the simulated units.

    >>> Estimate("cycles", 200.0, 4.0, 0.02, 2.0, 9.0, 0.95, 50.0).contains(203.0)
    True
    """

    counter: str
    estimate: float
    half_width: float
    relative_half_width: float
    std_error: float
    degrees_of_freedom: float
    confidence: float
    simulated: float

    def contains(self, truth: float) -> bool:
        """True if the interval holds a value, allowing for rounding in the sums."""
        return bool(abs(self.estimate - truth) <= self.half_width + 1e-9 * abs(truth))


@dataclass(frozen=True)
class Look:
    """The end of a pass: index 1, 2, ... (0 where results are missing and no error probability was spent), an estimate per
    counter, per cluster and per named ratio, whether the error budget is met, and what the statement rests on.

    clusters: one dict per cluster: cluster, units, simulated, and `estimates` by counter. domains: the same per domain,
    empty where there is one only.
    """

    index: int
    estimates: dict[str, Estimate]
    clusters: list[dict[str, Any]]
    ratios: dict[str, Estimate]
    met: bool
    domains: list[dict[str, Any]] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
