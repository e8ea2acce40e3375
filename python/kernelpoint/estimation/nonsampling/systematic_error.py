"""Systematic errors of results, which all of them share (replay).

    stated half-width = |b| + sqrt(w^2 + v^2),

with w of the sampling design; b and v the estimate of a systematic error and its half-width, both as fractions of the total
that the results have. v is nan where it is not known: then no bound is stated. b does not vanish with more draws and has no
random sign, so it is added as it is; estimates are not corrected by it.

Model: every part of the population (process, kernel, range) has the same fraction of its own total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from kernelpoint.errors import ConfigError
from kernelpoint.estimate import Estimate
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.look import Look


class SystematicErrors:
    """Systematic errors of a run: errors that all results share, such as the replay error. They widen half-widths, and reduce
    the part of the budget that is left for sampling.

    Args:
        budget: error budget of the run.
        ratios: name of each ratio and range -> its counters. The relative errors of the counters of a ratio add up.

    Attributes:
        by_counter: relative error of each counter that has one.

    >>> errors = SystematicErrors(ErrorBudget(0.01), {})
    >>> errors.set({"cycles": Estimate.of(0.002, 0.0048)})
    >>> round(errors.left_for_sampling().relative_error, 5)
    0.0064
    """

    def __init__(self, budget: ErrorBudget, ratios: Mapping[str, tuple[str, ...]]) -> None:
        self.by_counter: dict[str, Estimate] = {}
        self._budget, self._ratios = budget, ratios

    def set(self, by_counter: Mapping[str, Estimate]) -> None:
        """Replace the systematic errors.

        Args:
            by_counter: (total of the results - true total) / total of each counter, with its half-width at the confidence of
                the budget.

        Raises:
            ConfigError: an error is not finite, or its half-width is below 0.
        """
        for error in by_counter.values():
            if not math.isfinite(error.estimate) or error.half_width < 0.0:
                raise ConfigError(
                    f"systematic error: got {error.estimate!r} +- {error.half_width!r}; allowed: a finite error, and a "
                    "half-width of 0 or more"
                )
        self.by_counter = dict(by_counter)

    def left_for_sampling(
        self, sampled: Mapping[str, Estimate] | None = None, with_left_out: Mapping[str, Estimate] | None = None
    ) -> ErrorBudget:
        """Part of the error budget that systematic errors and launches without a result leave for the sampling error, relative
        to the sampled estimate.

        Formula: the final half-width, |b| T + sqrt((w + l)^2 + v^2 T^2), has to be eps T. So w = sqrt((eps - |b|)^2 - v^2) T -
        l.
            T: estimated total, with launches that have no result.
            w, l: half-width of the sampling error, and what launches without a result add to it.
            b, v: relative systematic error, and its half-width.
            eps: the budget. It is returned unchanged if nothing is left, because then no sample meets it.

        Args:
            sampled: estimates without the launches that have no result, by name; None: there are none.
            with_left_out: the same with these launches.
        """
        remaining = {}
        for target, error in self._budget.targets.items():
            bias, random = self._part(target)
            squared = (error - bias) ** 2 - random**2 if bias + random < error else 0.0
            rest = math.sqrt(squared)
            if sampled and with_left_out and target in sampled:
                before, after = sampled[target], with_left_out[target]
                total = abs(before.estimate or math.nan)
                rest = rest * (abs(after.estimate) / total) - (after.half_width - before.half_width) / total
            remaining[target] = rest if rest > 0.0 else error
        first, further = self._budget.counter, {name: remaining[name] for name in self._budget.further}
        return replace(self._budget, relative_error=remaining[first], further=further)

    def beyond_budget(self) -> list[str]:
        """Sentences on targets whose systematic error (an error that all results share) alone exceeds the budget, so that no
        sample can meet it.

        >>> errors = SystematicErrors(ErrorBudget(0.01), {})
        >>> errors.set({"cycles": Estimate.of(0.011, 0.004)})
        >>> errors.beyond_budget()
        ['the replay error of cycles, 1.1 % +- 0.4 %, exceeds the error budget of 1 % by itself: no sample meets it']
        """
        return [
            f"the replay error of {target}, {100 * bias:.2g} % +- {100 * random:.2g} %, exceeds the error budget of "
            f"{100 * error:g} % by itself: no sample meets it"
            for target, error in self._budget.targets.items()
            for bias, random in [self._part(target)]
            if bias + random >= error
        ]

    def widened(self, look: Look) -> Look:
        """Copy of an interim analysis (end of a round of sampling) with the systematic errors, which all results share, added
        to its half-widths.
        """
        if not self.by_counter:
            return look
        assumption = (
            "systematic errors were estimated counter by counter; processes and kernels have parts of them in proportion to "
            "their totals"
        )
        return replace(look.changed(self._wider), assumptions=[*look.assumptions, assumption])

    def _part(self, target: str) -> tuple[float, float]:
        """Absolute mean |b| and half-width v of the systematic error of a target, relative to its total."""
        errors = [e for name in self._ratios.get(target, (target,)) if (e := self.by_counter.get(name)) is not None]
        return sum(abs(e.estimate) for e in errors), sum(e.half_width for e in errors)

    def _wider(self, name: str, estimate: Estimate) -> Estimate:
        bias, random = (part * abs(estimate.estimate) for part in self._part(name))
        half, computed = (bias + math.hypot(width, random) for width in (estimate.half_width, estimate.computed_half_width))
        return estimate.moved(estimate.estimate, half, computed_half_width=computed)

    def unmet(self) -> list[str]:
        """Sentence for the case that the budget is missed only because of systematic errors, which all results share."""
        if not self.by_counter or self._budget.bound == "none":
            return []
        errors = " and ".join(f"{100 * error:g} %" for error in dict.fromkeys(self._budget.targets.values()))
        return [
            f"the error budget of {errors} is not met: {len(self.by_counter)} counters have a systematic error, which a larger "
            "sample does not remove"
        ]
