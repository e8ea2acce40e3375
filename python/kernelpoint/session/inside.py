"""Launches that are stopped inside: when, what enters the sample for them, and what that adds to the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import Engine, ErrorBudget, Estimate, Look
from kernelpoint.projection import Curve, Projection, Stop, load_method
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.ratios import RATIOS

PROGRESS_INTERVAL = 200  # cycles; a wave of CTAs lasts thousands
SHARE = 0.6  # of the error budget, for projections; sqrt(1 - SHARE^2) = 0.8 of it is left for sampling
LEAST_SHARE = 1e-6  # of the error budget that a design is ever given
BOUNDED = ("cycles", "instructions")


def check_inside_kernel(config: Config, host: HostInfo) -> None:
    """Refuse to stop launches inside where the host cannot, or where the error budget is about what has no error then.

    Raises:
        ConfigError: says what does not go together.
    """
    if config.inside_kernel == "off":
        return
    if not host.can_stop or host.concurrent:
        why = "lets kernel launches overlap" if host.concurrent else "cannot stop a launch inside"
        raise ConfigError(f"inside_kernel: got {config.inside_kernel!r}, but this host {why}; allowed: off")
    counter = config.error_budget.counter
    if config.inside_kernel == "cta" and not set(RATIOS.get(counter, (counter,))) <= set(BOUNDED):
        raise ConfigError(
            f"error_budget.counter: got {counter!r}, of which projections by cta know no error; allowed with inside_kernel: "
            f"cta: {', '.join(BOUNDED)}, ipc"
        )


class InsideKernel:
    """The key `inside_kernel` at work: follows launches in flight, stops them, projects them, widens what is stated.

    A projection by `cta` has a half-width h_i of its own. Where it is off by that, the estimated total moves by I_i h_i at most
    (estimation.influence: N_h / n_h with the mean, more through the lines of the other estimators, 1 for a take-all unit), and
    launches of one kernel may all err to the same side, so half-widths are added, not their squares:

        H = sum of I_i h_i,    stated half-width = sqrt(q^2 Var + H^2),

    with q^2 Var that of the sampling design; the design gets what H leaves of the error budget. Launches are stopped only where
    h_i looks like 0.6 eps y_i or less, so H is usually within 0.6 eps. Not always: the tail of a launch is seen only after
    the stop, an estimator may lean on a few launches, and instructions have errors that no launch is stopped by. Where H
    leaves too little, no launch is stopped any more, and the sample grows by launches simulated whole (`smaller`); a run
    that has nothing left to draw ends unmet and says why (`unmet`).
    A ratio of two projected totals is off by at most the sum of both relative errors. Other counters are scaled with the CTAs
    and have no error of their own: no bound is stated for them once a launch is projected, nor for anything where the method is
    `pka`.

    Args:
        method: "off", "pka" or "cta".
        budget: the run's error budget.
    """

    def __init__(self, method: str, budget: ErrorBudget) -> None:
        self.method = method
        self._budget = budget
        self._make = None if method == "off" else load_method(method, budget.confidence, SHARE * budget.relative_error)
        self._followed: dict[int, tuple[Curve, Stop]] = {}
        self._stopped: set[int] = set()
        self._errors: dict[int, dict[str, float]] = {}
        self._simulates_whole = False
        self.saved_cycles = 0.0

    @property
    def projected(self) -> int:
        """How many results are projections."""
        return len(self._errors)

    # ---- one launch -------------------------------------------------------------------------------------------------

    def follow(self, unit: int) -> int:
        """A launch begins: how many cycles shall lie between its progress calls; 0 for none."""
        if self._make is None or self._simulates_whole:
            return 0
        self._followed.setdefault(unit, (Curve(), self._make()))
        return PROGRESS_INTERVAL

    def stops(self, unit: int, *point: int) -> bool:
        """Take a point (cycles, instructions, issued, completed, total); whether the launch is to be stopped now."""
        if unit in self._stopped or unit not in self._followed:
            return unit in self._stopped
        curve, method = self._followed[unit]
        curve.add(*point)
        if method.stops(curve):
            self._stopped.add(unit)
        return unit in self._stopped

    def was_told_to_stop(self, unit: int) -> bool:
        """Whether a stopped result of this launch is what was asked for."""
        return unit in self._stopped

    def forget(self, unit: int) -> None:
        """A launch is no longer in flight."""
        self._followed.pop(unit, None)
        self._stopped.discard(unit)

    def result(
        self, unit: int, stopped: bool, counters: Mapping[str, float]
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """The counters that enter the sample, and what the journal says of the projection ({} where there is none)."""
        taken, record = dict(counters), {}
        if stopped:
            curve, method = self._followed[unit]
            projection = method.project(curve, counters["cycles"], counters["instructions"])
            taken = _projected(counters, projection)
            record = {
                "method": self.method,
                "ctas": curve.issued,
                "of": curve.total,
                "simulated_cycles": counters["cycles"],
                "half_widths": {
                    name: None if math.isnan(h) else h
                    for name, h in zip(BOUNDED, (projection.cycles_error, projection.instructions_error), strict=True)
                },
            }
            self.take(unit, taken["cycles"], record)
        self.forget(unit)
        return taken, record

    def take(self, unit: int, cycles: float, record: Mapping[str, Any]) -> None:
        """A projection of this process, or of the journal, enters the sample."""
        self._errors[unit] = {name: math.nan if h is None else h for name, h in record["half_widths"].items()}
        self.saved_cycles += cycles - record["simulated_cycles"]

    # ---- the bound --------------------------------------------------------------------------------------------------

    def budget_left(self, engine: Engine) -> ErrorBudget:
        """The error budget without what the projections of the present sample take of it."""
        wanted = self._budget
        if not self._errors or self.method == "pka":
            return wanted
        share = SHARE
        if wanted.scope == "workload" and engine.design.domains is None:
            totals = _expanded(engine)
            added = _added(self._weights(engine), self._errors)
            parts = RATIOS.get(wanted.counter, (wanted.counter,))
            share = min(share, sum(added[p] / totals[p] for p in parts if totals[p]) / wanted.relative_error)
        return replace(wanted, relative_error=wanted.relative_error * math.sqrt(1.0 - share * share))

    def smaller(self, budget: ErrorBudget) -> ErrorBudget | None:
        """What the design gets where it met `budget` and the whole did not; None where that would be nothing.

        From then on launches are simulated whole: more projections would take the budget away again.
        """
        left = 0.5 * budget.relative_error
        if self.method != "cta" or not self._errors or left < LEAST_SHARE * self._budget.relative_error:
            return None
        self._simulates_whole = True
        return replace(budget, relative_error=left)

    def unmet(self, look: Look) -> list[str]:
        """The warning of a run that ends with this look, if projections keep it from its error budget."""
        if look.met or self.method != "cta" or not self._errors or self._budget.bound == "none":
            return []
        return [
            f"the error budget of {100 * self._budget.relative_error:g} % is not met: the {self.projected} launches that were "
            "stopped inside leave an error that simulating others does not take away; run again with `inside_kernel: off`"
        ]

    def widen(self, look: Look, engine: Engine) -> Look:
        """A look with the errors of the projections in what it states."""
        if not self._errors:
            return look
        weights = self._weights(engine)
        whole = _added(weights, self._errors)
        estimates = {name: self._wider(e, whole.get(name, math.nan)) for name, e in look.estimates.items()}
        ratios = {name: self._wider(e, _of_ratio(e, name, look.estimates, whole)) for name, e in look.ratios.items()}
        widened = replace(
            look,
            estimates=estimates,
            ratios=ratios,
            clusters=[self._part(part, engine, weights, "cluster") for part in look.clusters],
            domains=[self._part(part, engine, weights, "domain") for part in look.domains],
            assumptions=[*look.assumptions, *self._assumptions()],
            warnings=[*look.warnings, *self._warnings()],
        )
        return replace(widened, met=look.met and all(self._within(e) for e in self._budgeted(widened)))

    def _part(self, part: dict[str, Any], engine: Engine, weights: Mapping[int, float], kind: str) -> dict[str, Any]:
        of_unit = engine.design.domains if kind == "domain" else np.append(engine.clusters, -1)[engine.design.strata]
        shared = (
            engine.method == "ratio"
        )  # one ratio for all: an error anywhere moves every part, by no more than the whole
        inside = {u: e for u, e in self._errors.items() if shared or (of_unit is not None and of_unit[u] == part[kind])}
        if not inside:
            return part
        added = _added(weights, inside)
        estimates = {name: self._wider(e, added.get(name, math.nan)) for name, e in part["estimates"].items()}
        return {**part, "estimates": estimates}

    def _weights(self, engine: Engine) -> dict[int, float]:
        """I_i of every projection."""
        return dict(zip(self._errors, engine.influences(self._errors).tolist(), strict=True))

    def _wider(self, estimate: Estimate, added: float) -> Estimate:
        half = math.hypot(estimate.half_width, added)
        scale = self._budget.relative_error * abs(estimate.estimate)
        if math.isclose(half, scale, rel_tol=1e-9):
            half = scale  # Numerics: what is left of the budget and what is added make up the budget, but for rounding
        relative = half / abs(estimate.estimate) if estimate.estimate else half and math.inf
        return replace(estimate, half_width=half, relative_half_width=relative)

    def _budgeted(self, look: Look) -> Iterator[Estimate]:
        counter = self._budget.counter
        if counter in look.ratios:
            return iter([look.ratios[counter]])
        parts = look.clusters if self._budget.scope == "cluster" else look.domains
        return iter([part["estimates"][counter] for part in parts] or [look.estimates[counter]])

    def _within(self, estimate: Estimate) -> bool:
        return estimate.half_width <= self._budget.relative_error * abs(estimate.estimate) * (1.0 + 1e-9)

    def _assumptions(self) -> list[str]:
        if self.method != "cta":
            return []
        return [
            f"{self.projected} simulated launches were stopped inside: waves of CTAs behind the stop are as those before it; "
            "their errors are added up as if all went to the same side"
        ]

    def _warnings(self) -> list[str]:
        if self.method == "cta":
            return [
                "counters other than cycles and instructions are scaled in projected launches: no bound is stated for them"
            ]
        return [
            f"{self.projected} simulated launches are principal kernel projections, whose error is not known: no bound"
        ]


def _projected(counters: Mapping[str, float], projection: Projection) -> dict[str, float]:
    scaled = {name: value * projection.scale for name, value in counters.items()}
    return {**scaled, "cycles": projection.cycles, "instructions": projection.instructions}


def _added(weights: Mapping[int, float], errors: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """H of each counter whose projections have an error."""
    return {name: sum(weights[unit] * error[name] for unit, error in errors.items()) for name in BOUNDED}


def _expanded(engine: Engine) -> dict[str, float]:
    """Results times N_h / n_h: the totals, nearly, before there is a look."""
    records = list(engine.records())
    ratio = np.append(engine.design.sizes / np.maximum(engine.sizes, 1), 1.0)
    weights = ratio[np.asarray(engine.design.strata)[[unit for unit, _ in records]]]
    return dict(zip(engine.counters, (weights @ np.array([values for _, values in records])).tolist(), strict=True))


def _of_ratio(ratio: Estimate, name: str, totals: Mapping[str, Estimate], added: Mapping[str, float]) -> float:
    """What the errors of both totals can add to their ratio."""
    parts = RATIOS[name]
    relative = sum(added.get(p, math.nan) / abs(totals[p].estimate) if totals[p].estimate else 0.0 for p in parts)
    return abs(ratio.estimate) * relative
