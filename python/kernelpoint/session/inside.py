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

    A projection by `cta` has a half-width h_i of its own. It stands for w_i = N_h / n_h launches of its stratum (w_i = 1 for a
    take-all unit), and launches of one kernel may all err to the same side, so half-widths are added, not their squares:

        H = sum of w_i h_i,    stated half-width = sqrt(q^2 Var + H^2),

    with q^2 Var that of the sampling design; the design gets what H leaves of the error budget. Launches are stopped only where
    h_i <= 0.6 eps y_i, so at most 0.6 eps of the budget go to projections and the budget stays within reach. A ratio of two
    projected totals is off by at most the sum of both relative errors. Other counters are scaled with the CTAs and have no
    error of their own: no bound is stated for them once a launch is projected, nor for anything where the method is `pka`.

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
        self.saved_cycles = 0.0

    @property
    def projected(self) -> int:
        """How many results are projections."""
        return len(self._errors)

    # ---- one launch -------------------------------------------------------------------------------------------------

    def follow(self, unit: int) -> int:
        """A launch begins: how many cycles shall lie between its progress calls; 0 for none."""
        if self._make is None:
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
            totals = _weighted(engine)
            added = self._added(engine, self._errors)
            parts = RATIOS.get(wanted.counter, (wanted.counter,))
            share = min(share, sum(added[p] / totals[p] for p in parts if totals[p]) / wanted.relative_error)
        return replace(wanted, relative_error=wanted.relative_error * math.sqrt(1.0 - share * share))

    def widen(self, look: Look, engine: Engine) -> Look:
        """A look with the errors of the projections in what it states."""
        if not self._errors:
            return look
        whole = self._added(engine, self._errors)
        estimates = {name: self._wider(e, whole.get(name, math.nan)) for name, e in look.estimates.items()}
        ratios = {name: self._wider(e, _of_ratio(e, name, look.estimates, whole)) for name, e in look.ratios.items()}
        widened = replace(
            look,
            estimates=estimates,
            ratios=ratios,
            clusters=[self._part(part, engine, "cluster") for part in look.clusters],
            domains=[self._part(part, engine, "domain") for part in look.domains],
            assumptions=[*look.assumptions, *self._assumptions()],
            warnings=[*look.warnings, *self._warnings()],
        )
        return replace(widened, met=look.met and all(self._within(e) for e in self._budgeted(widened)))

    def _part(self, part: dict[str, Any], engine: Engine, kind: str) -> dict[str, Any]:
        of_unit = engine.design.domains if kind == "domain" else np.append(engine.clusters, -1)[engine.design.strata]
        inside = {u: e for u, e in self._errors.items() if of_unit is not None and of_unit[u] == part[kind]}
        if not inside:
            return part
        added = self._added(engine, inside)
        estimates = {name: self._wider(e, added.get(name, math.nan)) for name, e in part["estimates"].items()}
        return {**part, "estimates": estimates}

    def _added(self, engine: Engine, errors: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
        weights = _weights(engine, np.fromiter(errors, dtype=np.int64))
        return {
            name: float(sum(w * e[name] for w, e in zip(weights, errors.values(), strict=True))) for name in BOUNDED
        }

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


def _weights(engine: Engine, units: np.ndarray) -> np.ndarray:
    """N_h / n_h of the stratum of each unit; 1 for take-all units."""
    ratio = engine.design.sizes / np.maximum(engine.sizes, 1)
    return np.append(ratio, 1.0)[np.asarray(engine.design.strata)[units]]


def _weighted(engine: Engine) -> dict[str, float]:
    """Weighted sums of the results so far: the totals, nearly, before there is a look."""
    records = list(engine.records())
    weights = _weights(engine, np.array([unit for unit, _ in records], dtype=np.int64))
    return dict(zip(engine.counters, (weights @ np.array([values for _, values in records])).tolist(), strict=True))


def _of_ratio(ratio: Estimate, name: str, totals: Mapping[str, Estimate], added: Mapping[str, float]) -> float:
    """What the errors of both totals can add to their ratio."""
    parts = RATIOS[name]
    relative = sum(added.get(p, math.nan) / abs(totals[p].estimate) if totals[p].estimate else 0.0 for p in parts)
    return abs(ratio.estimate) * relative
