"""Errors of the results themselves: of single ones (projections), and those that all of them share (replay).

The sampling design bounds the error of observing only some units. A result that is not exact adds to it:

    stated half-width = |b| + sqrt(w^2 + H^2 + v^2),

with w of the sampling design; H = sum of I_i h_i over the results that have a half-width h_i of their own, I_i how far the
total moves with one of them (influence.py); b and v the estimate of a systematic error and its half-width. Results of one kind
may all err to the same side, so their half-widths are added, not their squares. b does not vanish with more draws and has no
random sign, so it is added as it is; estimates are not corrected by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import HostError
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.look import Estimate, Look, LookPart
from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.nonsampling.systematic_error import SystematicError
from kernelpoint.estimation.sampling import Reach

OWN_ERROR_SHARE = (
    0.6  # of the error budget, for errors of single results; sqrt(1 - 0.6^2) = 0.8 of it is left for sampling
)
LEAST_BUDGET = 1e-6  # of the error budget: what a sampling design is given at least
MOST_NAMED = 3  # counters that a sentence lists


def check_half_widths(unit: int, half_widths: Mapping[str, float | None]) -> None:
    """Raises HostError where a half-width is below 0."""
    for name, value in half_widths.items():
        if value is not None and value < 0.0:
            raise HostError(f"unit {unit}: half-width of {name}: got {value}; allowed: numbers from 0, or none")


class MeasurementErrors:
    """Errors of results as far as they are known; widens looks and says how much of the budget is left for sampling.

    Args:
        budget: of the run.
        ratios: name -> (counter above, counter below).

    >>> errors = MeasurementErrors(ErrorBudget(0.01), {})
    >>> errors.systematic = {"cycles": SystematicError(0.002, 0.0048)}
    >>> round(errors.design_budget(Reach(np.empty(0), np.empty(0, int), None, False), {"cycles": 1e6}).relative_error, 5)
    0.0064
    """

    def __init__(self, budget: ErrorBudget, ratios: Mapping[str, tuple[str, str]]) -> None:
        self.systematic: dict[str, SystematicError] = {}
        self._budget, self._ratios = budget, ratios
        self._own: dict[int, dict[str, float]] = {}
        self._columns: dict[str, Floats] = {}  # of half-widths, by counter

    @property
    def units(self) -> list[int]:
        """Units whose results have errors of their own, in the order in which they came."""
        return list(self._own)

    @property
    def known(self) -> bool:
        """True if any result is known not to be exact."""
        return bool(self._own or self.systematic)

    def add(self, unit: int, half_widths: Mapping[str, float | None]) -> None:
        """The result of a unit has errors of its own; see Engine.record."""
        self._own[unit] = {name: math.nan if h is None else float(h) for name, h in half_widths.items()}
        self._columns.clear()

    def take_over(self, other: MeasurementErrors) -> None:
        """The errors that another engine knows of the same results."""
        self._own |= other._own
        self._columns.clear()
        self.systematic |= other.systematic

    def design_budget(self, reach: Reach, totals: Mapping[str, float]) -> ErrorBudget:
        """The error budget without what the errors of the present results are expected to take of it.

        Args:
            totals: about what the counters add up to.
        """
        return ErrorBudget.joined([self._left_for_sampling(one, reach, totals) for one in self._budget.each()])

    def _left_for_sampling(self, wanted: ErrorBudget, reach: Reach, totals: Mapping[str, float]) -> ErrorBudget:
        """The budget of one target without the part of these errors."""
        bias, random = self._systematic_part(wanted.counter)
        own = self._own_part(wanted.counter, reach, totals)
        if not self.known or not bias + random + own < math.inf or bias + random >= wanted.relative_error:
            return wanted  # nothing to give away, or no sample can meet it
        allowed = wanted.relative_error - bias
        share = (math.hypot(own, random) if random else own) / allowed
        if self._own and reach.domains is not None:
            share = OWN_ERROR_SHARE  # of each part by itself: known after the look only
        share = min(OWN_ERROR_SHARE, share) if self._own else share
        return replace(wanted, relative_error=allowed * math.sqrt(1.0 - share * share))

    def tightened(
        self,
        budget: ErrorBudget,
        look: Look,
        reach: Reach,
        totals: Mapping[str, float],
        added: Mapping[str, float],
    ) -> ErrorBudget | None:
        """The budget of a design that met `budget` where the whole look did not; None where no design could help.

        Args:
            added: by target, the part of the total that is added to the half-width whatever the design (nonresponse).
        """
        smaller = []
        for left, wanted in zip(budget.each(), self._budget.each(), strict=True):
            if not look.meets(wanted):
                error = self._smaller(left.relative_error, wanted, reach, totals, added[wanted.counter])
                if error is None:
                    return None
                left = replace(left, relative_error=error)
            smaller.append(left)
        return ErrorBudget.joined(smaller)

    def _smaller(
        self, left: float, wanted: ErrorBudget, reach: Reach, totals: Mapping[str, float], added: float
    ) -> float | None:
        """A smaller relative error for the design than `left`, for one target; None where that would not help."""
        smaller, most = 0.5 * left, wanted.relative_error - added
        if not self.known and most < left:  # nothing else widens the half-width
            smaller = most
        helps = (
            added < wanted.relative_error
            and sum(self._systematic_part(wanted.counter)) < wanted.relative_error
            and self._own_part(wanted.counter, reach, totals) < math.inf
            and smaller >= LEAST_BUDGET * wanted.relative_error
        )
        return smaller if helps else None

    def widened(self, look: Look, reach: Reach) -> Look:
        """A look of the sampling design with the errors of the results in what it states."""
        if not self.known:
            return look
        everywhere = np.ones(len(reach.weights), dtype=bool)
        estimates = self._wider(look.estimates, reach, everywhere)
        ratios = {name: self._wider_ratio(e, look.estimates, reach) for name, e in look.ratios.items()}
        clusters = [self._wider_part(part, reach.clusters, reach) for part in look.clusters]
        domains = [self._wider_part(part, reach.domains, reach) for part in look.domains]
        widened = replace(look, estimates=estimates, ratios=ratios, clusters=clusters, domains=domains)
        met = look.met and all(widened.meets(one) for one in self._budget.each())
        warnings = [*look.warnings, *self._warnings(look.met and not met)]
        return replace(widened, met=met, warnings=warnings, assumptions=[*look.assumptions, *self._assumptions()])

    # ---- amounts ----------------------------------------------------------------------------------------------------

    def _counters(self, target: str) -> tuple[str, ...]:
        """Counters that a target is about: one counter, or the two of a ratio, whose relative errors add up."""
        return self._ratios.get(target, (target,))

    def half_widths(self, name: str) -> Floats:
        """Half-widths of the results of `units` in a counter, float64 [units]; nan where one is not known."""
        if name not in self._columns:
            self._columns[name] = np.array([h.get(name, math.nan) for h in self._own.values()])
        return self._columns[name]

    def _own_half_width(self, name: str, reach: Reach, inside: NDArray[np.bool_]) -> float:
        """H of a counter, from the results `inside`; fsum, so that their order does not matter."""
        return math.fsum((reach.weights * self.half_widths(name))[inside].tolist())

    def _own_part(self, target: str, reach: Reach, totals: Mapping[str, float]) -> float:
        """H over the total of a target; nan where an error is not known."""
        everywhere = np.ones(len(reach.weights), dtype=bool)
        known = [name for name in self._counters(target) if totals.get(name)]
        return sum(self._own_half_width(name, reach, everywhere) / totals[name] for name in known)

    def _systematic_part(self, target: str) -> tuple[float, float]:
        """|b| and v over the total of a target."""
        parts = [self._systematic_of(name) for name in self._counters(target)]
        return sum(b for b, _ in parts), sum(v for _, v in parts)

    def _systematic_of(self, name: str) -> tuple[float, float]:
        error = self.systematic.get(name)
        return (0.0, 0.0) if error is None else (abs(error.error), error.half_width)

    # ---- half-widths ------------------------------------------------------------------------------------------------

    def _wider_part(self, part: LookPart, part_of: NDArray[np.integer] | None, reach: Reach) -> LookPart:
        inside = reach.inside(part_of, part.number)
        if not inside.any() and not self.systematic:
            return part
        return replace(part, estimates=self._wider(part.estimates, reach, inside))

    def _wider(
        self,
        estimates: Mapping[str, Estimate],
        reach: Reach,
        inside: NDArray[np.bool_],
    ) -> dict[str, Estimate]:
        """Estimates of a part of the population, whose results with own errors are those `inside`."""
        wider = {}
        for name, estimate in estimates.items():
            bias, random = (fraction * abs(estimate.estimate) for fraction in self._systematic_of(name))
            wider[name] = self._with_half_width(estimate, self._own_half_width(name, reach, inside), bias, random)
        return wider

    def _wider_ratio(self, ratio: Estimate, totals: Mapping[str, Estimate], reach: Reach) -> Estimate:
        """A ratio of totals is off by at most the sum of both relative errors."""
        everywhere = np.ones(len(reach.weights), dtype=bool)
        own = 0.0
        bias, random = self._systematic_part(ratio.counter)
        for name in self._ratios[ratio.counter]:
            total = totals[name].estimate
            if total:
                own += self._own_half_width(name, reach, everywhere) / abs(total)
        size = abs(ratio.estimate)
        return self._with_half_width(ratio, size * own, size * bias, size * random)

    def _with_half_width(self, estimate: Estimate, own: float, bias: float, random: float) -> Estimate:
        added = math.hypot(own, random) if random else own
        half, computed = (
            bias + math.hypot(known, added) for known in (estimate.half_width, estimate.computed_half_width)
        )
        scale = self._budget.allowed(estimate.counter) * abs(estimate.estimate)
        if math.isclose(half, scale, rel_tol=1e-9):
            half = scale  # Numerics: what is left of the budget and what is added make up the budget, but for rounding
        return estimate.moved(estimate.estimate, half, computed_half_width=computed)

    # ---- sentences --------------------------------------------------------------------------------------------------

    def _assumptions(self) -> list[str]:
        found = []
        if self._own:
            found.append(
                f"{len(self._own)} results have errors of their own; these are added up as if all went to the same side"
            )
        if self.systematic:
            found.append(
                f"the systematic error of {_listed(sorted(self.systematic))} was estimated; processes and clusters have parts "
                "of it in proportion to their totals"
            )
        return found

    def _warnings(self, sampled_enough: bool) -> list[str]:
        if not sampled_enough or self._budget.bound == "none":
            return []
        errors = " and ".join(f"{100 * error:g} %" for error in dict.fromkeys(self._budget.targets.values()))
        return [
            f"the error budget of {errors} is not met: the results themselves have errors "
            f"({len(self._own)} results of their own, {len(self.systematic)} counters a systematic one), which a "
            "larger sample does not remove"
        ]


def _listed(names: Sequence[str]) -> str:
    """Up to three names, or how many there are.

    >>> _listed(["cycles", "instructions"]), _listed(["a", "b", "c", "d"])
    ('cycles, instructions', '4 counters')
    """
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} counters"
