"""Targets of the error budget that name ranges: the sample of the run meets them too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, did_you_mean
from kernelpoint.estimation import ErrorBudget, Estimate, RangeTargets, Tree
from kernelpoint.policies.contract import Policy
from kernelpoint.ranges import Ranges, matching
from kernelpoint.ratios import RATIOS


def with_range_targets(
    config: Config, ranges: Ranges | None, budget: ErrorBudget, counts: Sequence[int]
) -> tuple[ErrorBudget, RangeTargets]:
    """Add the targets on ranges (phases, layers, modules of the program) to an error budget. Returns the budget, and the
    launches of each range.

    A target has the name `cycles of decode`. In a run of several processes, each process must meet each target.

    Args:
        config: configuration with the targets.
        ranges: ranges of the program, or None.
        budget: error budget without targets on ranges.
        counts: number of launches of each process.
    """
    errors, places = {}, {}
    if len(counts) > 1:
        tree = process_tree(counts)
        for counter, error in budget.targets.items():
            if counter not in RATIOS:
                for process in range(len(counts)):
                    errors[in_process(counter, process)] = error
                    places[in_process(counter, process)] = counter, tree, process + 1
    if ranges is not None:
        tree = Tree(ranges.parents, ranges.of_launch)
        for path, counter, error in _targets(config, ranges):
            errors[f"{counter} of {path}"] = error
            places[f"{counter} of {path}"] = counter, tree, ranges.paths.index(path)
    return replace(budget, further={**budget.further, **errors}), RangeTargets(places)


def process_tree(counts: Sequence[int]) -> Tree:
    """Tree with the whole run as node 0 and process i as node i + 1, for totals of each process. `counts` has the number of
    launches of each process.

    >>> process_tree([2, 1]).of_unit.tolist()
    [1, 1, 2]
    """
    return Tree(np.array([-1, *[0] * len(counts)]), np.repeat(np.arange(len(counts)) + 1, counts))


def in_process(counter: str, process: int) -> str:
    """Name of a target on a counter in one process."""
    return f"{counter} in process {process}"


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
    """Allowed relative error of each target on ranges, by its name, such as `cycles of decode/*`."""
    named = config.error_budget.ranges.items()
    return {f"{counter} of {pattern}": error for pattern, errors in named for counter, error in errors.items()}


def widths(config: Config, ranges: Mapping[str, Estimate]) -> list[tuple[str, float, float]]:
    """Name, largest relative half-width, and allowed relative error of each target on ranges (phases, layers, modules).

    Args:
        config: configuration with the targets.
        ranges: last estimate of each target, by its name.
    """
    bounds = []
    for name, error in targets_of_ranges(config).items():
        counter, _, pattern = name.partition(" of ")
        estimates = targets_by_path(counter, ranges)
        paths = matching(pattern, list(estimates))
        bounds.append((name, max((estimates[path].relative_half_width for path in paths), default=math.nan), error))
    return bounds


def targets_by_path(counter: str, ranges: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Estimate of a counter in each range that has a target on it, by the path of the range.

    Args:
        counter: name of the counter.
        ranges: estimate of each target, by a name such as `cycles of decode/0`.

    >>> targets_by_path("cycles", {"cycles of decode/0": Estimate.of(4.0)})["decode/0"].estimate
    4.0
    """
    return {path: estimate for name, estimate in ranges.items() for of, _, path in [name.partition(" of ")] if of == counter}


def check_range_targets(config: Config, policy: type[Policy], ranges: Ranges | None) -> None:
    """Raise an error for a target on a range that the program does not have, or for which no bound can be stated.

    Raises:
        ConfigError: the message names the target.
    """
    wanted = config.error_budget
    for pattern, errors in wanted.ranges.items():
        if ranges is None:
            raise ConfigError(
                f"error_budget.ranges: {pattern!r} names a range (named part of the run), but the run has none; set `ranges:` "
                "in the configuration"
            )
        if not matching(pattern, ranges.paths):
            near = did_you_mean(pattern, ranges.paths)
            raise ConfigError(
                f"error_budget.ranges: {pattern!r} matches no range (named part of the run) that `ranges: {config.ranges}` "
                f"gives{near}; `decode/*` means all of decode"
            )
        if config.selection is not None or policy.bound_for(config) == "none":
            raise ConfigError(
                f"error_budget.ranges: {pattern!r} has an error budget, for which this run cannot state an error; choose a "
                "policy with an error bound (kernelpoint, random), and remove `selection:`"
            )
        if ratios := sorted(errors.keys() & RATIOS.keys()):
            raise ConfigError(
                f"error_budget.ranges: {pattern!r}: {ratios[0]!r} is a ratio of counters; name a counter that can be summed "
                "over launches, e.g. cycles"
            )
