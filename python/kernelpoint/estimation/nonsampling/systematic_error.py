"""Systematic errors of results, which all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelpoint.errors import ConfigError


@dataclass(frozen=True)
class SystematicError:
    """An error that the total of a counter has because all results have it, as it was estimated.

    Args:
        error: estimate of (total as results have it) - (true total), as a fraction of the total.
        half_width: of that estimate, at the run's confidence; nan where it is not known: then no bound is stated.

    Model: every part of the population (cluster, domain, range) has the same fraction of its own total.

    Raises:
        ConfigError: the error is not finite, or the half-width below 0.

    >>> SystematicError(-0.002, 0.001)
    SystematicError(error=-0.002, half_width=0.001)
    """

    error: float
    half_width: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.error) or self.half_width < 0.0:
            raise ConfigError(
                f"systematic error: got {self.error!r} +- {self.half_width!r}; allowed: a finite error, a half-width from 0"
            )
