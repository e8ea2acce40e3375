"""Error allowed in the totals of a run, and the words of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

from kernelpoint.arguments import check
from kernelpoint.errors import ConfigError, shown

Bound = Literal["sequential", "none"]
Method = Literal["regression", "ratio", "mean", "separate_ratio"]
Assume = Literal["repetitive", "ordinary", "hostile"]


def check_assume(value: str) -> None:
    """Raise ConfigError if the configuration key `assume` has a value that does not exist."""
    if value not in get_args(Assume):
        raise ConfigError(f"assume: {value!r} is not allowed; give one of {', '.join(get_args(Assume))}")


@dataclass(frozen=True)
class ErrorBudget:
    """Error allowed in one or more totals, called targets: |estimate - truth| <= relative_error |estimate| with probability
    `confidence`.

    One sample serves all targets; a run ends when each target is within its error. The confidence holds for each target alone,
    not for all together.

    Args:
        relative_error: largest half-width / |estimate| of the first target at which a run may stop, above 0 and below 1.
        confidence: confidence level, above 0 and below 1.
        counter: name of the first target: a counter of the simulator, or a ratio of two.
        bound: "sequential": half-widths hold whenever the run stops; "none": no half-width is stated.
        further: relative error of each further target, by the name of its counter or ratio.

    Raises:
        ConfigError: a value is not allowed.

    >>> budget = ErrorBudget(0.01, further={"dram_reads": 0.05})
    >>> budget.confidence, budget.targets
    (0.95, {'cycles': 0.01, 'dram_reads': 0.05})
    """

    relative_error: float
    confidence: float = 0.95
    counter: str = "cycles"
    bound: Bound = "sequential"
    further: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shares = {"relative_error": self.relative_error, "confidence": self.confidence, **self.further}
        for name, value in shares.items():
            check(f"error_budget.{name}", value, float)
            if not 0.0 < value < 1.0:
                raise ConfigError(f"error_budget.{name}: {shown(value)} is not allowed; give a number above 0 and below 1")
        if self.counter in self.further:
            raise ConfigError(f"error_budget.{self.counter}: this target is given twice; give it once")
        if not isinstance(self.bound, str) or self.bound not in get_args(Bound):
            allowed = ", ".join(get_args(Bound))
            raise ConfigError(f"error_budget.bound: {shown(self.bound)} is not allowed; give one of {allowed}")

    @cached_property
    def targets(self) -> dict[str, float]:
        """Largest relative error allowed for each target, by the name of its counter or ratio, in the order of the
        configuration.
        """
        return {self.counter: self.relative_error, **self.further}

    def allowed(self, name: str) -> float:
        """Relative error allowed for a target; for a counter that is no target, the error of the first target."""
        return self.targets.get(name, self.relative_error)

    def each(self) -> list[ErrorBudget]:
        """Budgets with one target each, in the order of `targets`.

        >>> [one.relative_error for one in ErrorBudget(0.01, further={"dram_reads": 0.05}).each()]
        [0.01, 0.05]
        """
        return [replace(self, counter=name, relative_error=e, further={}) for name, e in self.targets.items()]
