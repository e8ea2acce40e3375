"""Targets of the error budget that name ranges: each has a sample of its own, and the sample of the run holds all of them.

A range is a population by itself, with the strata (or predictions) and the permanent random numbers that the design has for its
launches, so that launches which one sample draws are likely to be drawn by the other (coordination of samples by permanent
random numbers: Ohlsson 1995). Each result serves every sample that draws its launch.

Samples are sized one by one. Of ranges that do not overlap, that is the joint optimum (Bethel 1989, whose targets then share no
stratum); the sample of the run is as large as without ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, did_you_mean
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, Estimate, Look, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.ranges import Ranges, matching
from kernelpoint.ratios import RATIOS


@dataclass
class RangeSample:
    """Sample for one target on a range, such as `cycles of decode`.

    path: the range.
    counter: the bounded counter.
    units: int64 [n], launches of the range, ascending.
    engine: draws from these launches and estimates their total.
    estimate: result of the last interim analysis.

    >>> design = Design(np.zeros(6, int), np.array([2]), np.linspace(0.0, 0.9, 6))
    >>> engine = Engine(design.within(np.array([2, 3, 5])), ErrorBudget(0.02))
    >>> RangeSample("decode", "cycles", np.array([2, 3, 5]), engine).wanted().tolist()
    [2, 3]
    """

    path: str
    counter: str
    units: NDArray[np.int64]
    engine: Engine
    estimate: Estimate | None = None

    @property
    def name(self) -> str:
        """Name of the target in messages and records: `cycles of decode`."""
        return f"{self.counter} of {self.path}"

    def wanted(self) -> NDArray[np.int64]:
        """Sampled launches without a result."""
        return self.units[self.engine.wanted()]

    def places(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions in `units` of the launches that lie in the range."""
        return np.flatnonzero(np.isin(self.units, units))

    def look(self) -> Look:
        """Estimate the target at the end of a pass."""
        look = self.engine.look()
        self.estimate = replace(look.estimates[self.counter], counter=self.name)
        return look


def range_samples(
    config: Config, ranges: Ranges | None, design: Design | AssistedDesign, budget: ErrorBudget, estimate: Method
) -> list[RangeSample]:
    """Samples for the targets on ranges; budget: the run's."""
    found = []
    for path, counter, error in _targets(config, ranges):
        assert ranges is not None
        units = ranges.launches(path)
        target = replace(budget, relative_error=error, counter=counter, further={})
        engine = Engine(design.within(units), target, estimate, RATIOS)
        found.append(RangeSample(path, counter, units, engine))
    return found


def _targets(config: Config, ranges: Ranges | None) -> Iterator[tuple[str, str, float]]:
    """Path, counter and relative error of each target that names a range; of several patterns the least error counts."""
    least: dict[tuple[str, str], float] = {}
    for pattern, errors in config.error_budget.ranges.items():
        for path in matching(pattern, ranges.paths if ranges is not None else ()):
            for counter, error in errors.items():
                least[path, counter] = min(error, least.get((path, counter), 1.0))
    for (path, counter), error in least.items():
        yield path, counter, error


def targets_of_ranges(config: Config) -> dict[str, float]:
    """Relative error of each target on ranges, by its name: `cycles of decode/*`."""
    named = config.error_budget.ranges.items()
    return {f"{counter} of {pattern}": error for pattern, errors in named for counter, error in errors.items()}


def widths(config: Config, samples: Sequence[RangeSample]) -> list[tuple[str, float, float]]:
    """For each target on ranges its name, the largest relative half-width of its ranges, and its relative error."""
    found = []
    for name, error in targets_of_ranges(config).items():
        counter, _, pattern = name.partition(" of ")
        own = {one.path: one.estimate for one in samples if one.counter == counter and one.estimate}
        paths = matching(pattern, list(own))
        found.append((name, max((own[path].relative_half_width for path in paths), default=math.nan), error))
    return found


def check_range_targets(config: Config, policy: type[Policy], ranges: Ranges | None) -> None:
    """Raise an error for a target on a range that the run does not have, or for which no bound can be stated.

    Raises:
        ConfigError: says which.
    """
    wanted = config.error_budget
    for pattern, errors in wanted.ranges.items():
        where = f"error_budget: got the range {pattern!r}"
        if ranges is None:
            raise ConfigError(f"{where}, but the run has no ranges; name them with `ranges:`")
        if not matching(pattern, ranges.paths):
            near = did_you_mean(pattern, ranges.paths)
            raise ConfigError(
                f"{where}, which `ranges: {config.ranges}` has not{near}; `decode/*` are all ranges in decode"
            )
        if config.selection is not None or policy.bound_for(config) == "none":
            raise ConfigError(f"{where}; allowed without a selection, and with a policy that states a bound")
        if ratios := sorted(errors.keys() & RATIOS.keys()):
            raise ConfigError(f"{where} with {ratios[0]!r}, which is a ratio; allowed: counters that add up")
