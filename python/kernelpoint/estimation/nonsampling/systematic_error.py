"""Systematic errors of results, which all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelpoint.errors import ConfigError


@dataclass(frozen=True)
class SystematicError:
    """An error that the total of a counter has because all results have it, as it was estimated.

    Args:
        error: estimate of (total as results have it) - (true total).
        half_width: of that estimate, at the run's confidence; nan where it is not known: then no bound is stated.
        relative: whether both are fractions of the total; otherwise they are amounts over the whole population.

    Model: parts of the population (clusters, domains) and ratios share it in proportion to their totals.

    Raises:
        ConfigError: the error is not finite, or the half-width below 0.

    >>> SystematicError(-2.0, 1.0, relative=False).of_total(1000.0)
    (0.002, 0.001)
    """

    error: float
    half_width: float
    relative: bool = True

    def __post_init__(self) -> None:
        if not math.isfinite(self.error) or self.half_width < 0.0:
            raise ConfigError(
                f"systematic error: got {self.error!r} +- {self.half_width!r}; allowed: a finite error, a half-width from 0"
            )

    def of_part(self, share: float) -> SystematicError:
        """The error of a part that has so large a share of the total.

        >>> SystematicError(-2.0, 1.0, relative=False).of_part(0.25).error, SystematicError(0.01, 0.0).of_part(0.25).error
        (-0.5, 0.01)
        """
        if self.relative:
            return self
        return SystematicError(share * self.error, share * self.half_width, relative=False)

    def of_total(self, total: float) -> tuple[float, float]:
        """|b| and v as fractions of the estimated total; nan where an amount has no total to be compared with."""
        if self.relative:
            return abs(self.error), self.half_width
        return (abs(self.error / total), self.half_width / abs(total)) if total else (math.nan, math.nan)
