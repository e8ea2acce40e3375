"""Systematic errors of results, which all of them share (replay).

    stated half-width = |b| + sqrt(w^2 + v^2),

with w of the sampling design; b and v the estimate of a systematic error and its half-width, both as fractions of the total
that the results have. v is nan where it is not known: then no bound is stated. b does not vanish with more draws and has no
random sign, so it is added as it is; estimates are not corrected by it.

Model: every part of the population (process, kernel, range) has the same fraction of its own total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelpoint.errors import ConfigError
from kernelpoint.estimate import Estimate
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.look import Look

LEAST_BUDGET = 1e-6  # of the error budget: what a sampling design is given at least
MOST_NAMED = 3  # counters that a sentence lists


class SystematicErrors:
    """Systematic errors of a run, such as the replay error. Widens the bounds and says what is left of the budget for
    sampling.

    Args:
        budget: of the run.
        ratios: counters of each ratio, whose relative errors add up, and of each range.

    Attributes:
        by_counter: the error of each counter that has one.

    >>> errors = SystematicErrors(ErrorBudget(0.01), {})
    >>> errors.set({"cycles": Estimate.of(0.002, 0.0048)})
    >>> round(errors.design_budget().relative_error, 5)
    0.0064
    """

    def __init__(self, budget: ErrorBudget, ratios: Mapping[str, tuple[str, ...]]) -> None:
        self.by_counter: dict[str, Estimate] = {}
        self._budget, self._ratios = budget, ratios

    def set(self, by_counter: Mapping[str, Estimate]) -> None:
        """Replace the errors by new ones.

        Raises:
            ConfigError: one is not finite, or its half-width below 0.
        """
        for error in by_counter.values():
            if not math.isfinite(error.estimate) or error.half_width < 0.0:
                raise ConfigError(
                    f"systematic error: got {error.estimate!r} +- {error.half_width!r}; allowed: a finite error, a "
                    "half-width from 0"
                )
        self.by_counter = dict(by_counter)

    def design_budget(self) -> ErrorBudget:
        """Error budget that is left for sampling after these errors."""
        return ErrorBudget.joined([self._left_for_sampling(one) for one in self._budget.each()])

    def beyond_budget(self) -> list[str]:
        """Sentences on targets whose errors alone exceed the budget, so that no sample can meet it.

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

    def _left_for_sampling(self, wanted: ErrorBudget) -> ErrorBudget:
        """The budget of one target without the part of these errors."""
        bias, random = self._part(wanted.counter)
        if not self.by_counter or not bias + random < math.inf or bias + random >= wanted.relative_error:
            return wanted  # nothing to give away, or no sample can meet it
        allowed = wanted.relative_error - bias
        share = random / allowed
        return replace(wanted, relative_error=allowed * math.sqrt(1.0 - share * share))

    def tightened(self, budget: ErrorBudget, look: Look, added: Mapping[str, float]) -> ErrorBudget | None:
        """Smaller budget for a design whose own bound met `budget` while the whole bound did not; None if no design can help.

        Args:
            added: by target, the part of the total that is added to the half-width whatever the design (nonresponse).
        """
        smaller = []
        for left, wanted in zip(budget.each(), self._budget.each(), strict=True):
            if not look.meets(wanted):
                error = self._next_smaller_error(left.relative_error, wanted, added[wanted.counter])
                if error is None:
                    return None
                left = replace(left, relative_error=error)
            smaller.append(left)
        return ErrorBudget.joined(smaller)

    def _next_smaller_error(self, left: float, wanted: ErrorBudget, added: float) -> float | None:
        """A smaller relative error for the design than `left`, for one target; None where that would not help."""
        smaller, most = 0.5 * left, wanted.relative_error - added
        if not self.by_counter and most < left:  # nothing else widens the half-width
            smaller = most
        helps = (
            added < wanted.relative_error
            and sum(self._part(wanted.counter)) < wanted.relative_error
            and smaller >= LEAST_BUDGET * wanted.relative_error
        )
        return smaller if helps else None

    def widened(self, look: Look) -> Look:
        """Interim analysis with these errors added to its half-widths."""
        if not self.by_counter:
            return look
        widened = replace(
            look,
            estimates=self._wider(look.estimates),
            ratios=self._wider(look.ratios),
            ranges=self._wider(look.ranges),
        )
        assumption = (
            f"the systematic error of {_listed(sorted(self.by_counter))} was estimated; processes and kernels have parts "
            "of it in proportion to their totals"
        )
        return replace(widened, assumptions=[*look.assumptions, assumption])

    def _part(self, target: str) -> tuple[float, float]:
        """|b| and v over the total of a target."""
        errors = [e for name in self._ratios.get(target, (target,)) if (e := self.by_counter.get(name)) is not None]
        return sum(abs(e.estimate) for e in errors), sum(e.half_width for e in errors)

    def _wider(self, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
        return {name: self._wider_estimate(estimate) for name, estimate in estimates.items()}

    def _wider_estimate(self, estimate: Estimate) -> Estimate:
        bias, random = (part * abs(estimate.estimate) for part in self._part(estimate.counter))
        half, computed = (
            bias + math.hypot(width, random) for width in (estimate.half_width, estimate.computed_half_width)
        )
        scale = self._budget.allowed(estimate.counter) * abs(estimate.estimate)
        if math.isclose(half, scale, rel_tol=1e-9):
            half = scale  # Numerics: what is left of the budget and what is added make up the budget, but for rounding
        return estimate.moved(estimate.estimate, half, computed_half_width=computed)

    def unmet(self) -> list[str]:
        """Sentence for an interim analysis that would meet the budget without these errors."""
        if not self.by_counter or self._budget.bound == "none":
            return []
        errors = " and ".join(f"{100 * error:g} %" for error in dict.fromkeys(self._budget.targets.values()))
        return [
            f"the error budget of {errors} is not met: {len(self.by_counter)} counters have a systematic error, which a larger "
            "sample does not remove"
        ]


def _listed(names: Sequence[str]) -> str:
    """Up to three names, or how many there are.

    >>> _listed(["cycles", "instructions"]), _listed(["a", "b", "c", "d"])
    ('cycles, instructions', '4 counters')
    """
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} counters"
