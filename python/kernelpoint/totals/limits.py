"""Upper limits of counters of which the simulated launches show too little for a useful half-width."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from kernelpoint.estimation import Engine, Estimate, Look
from kernelpoint.estimation.unseen import largest_amount
from kernelpoint.planning.plan import Plan
from kernelpoint.program import COUNTS
from kernelpoint.ratios import RATIOS
from kernelpoint.totals.exact import exact_values
from kernelpoint.totals.identities import IN_TOTAL, parts_of_wholes
from kernelpoint.totals.proportional import EVENTS, REPLAY, WEAK

# Counter -> counter or count of a trace, and how many there may be of it for one of these: 32 threads of a warp may all need
# one bank, in turn
PER_COUNT = {"shared_bank_conflicts": ("shared_accesses", 31.0), "l1_bank_conflicts": ("l1_accesses", 31.0)}


def with_limits(look: Look, engine: Engine, plan: Plan, projected: set[int], targets: Collection[str]) -> Look:
    """State `Estimate.at_most` for counters whose half-width is none, or above WEAK; a counter that no launch can have is
    exactly 0, and one that no simulated launch has is 0 up to its limit. Other estimates do not change; a limit is never below
    the estimate.

    The limit is the least of: what was simulated and the most that all other launches may have (`_Limits.possible`);
    what the draws show (`_Limits._by_draws`); the upper end of the whole that the counter is a part of (`parts_of_wholes`).

    Args:
        projected: units whose results are projections; targets: of the error budget, which stay.
    """
    if not look.index or plan.first_phase is not None or len(engine.results.units) == len(engine.results.rows):
        return look
    limits = _Limits(look, engine, plan, projected, dict(parts_of_wholes(look.estimates, engine)) | _parts_of_energy(engine))
    stays = {*targets, *(counter for name in targets for counter in RATIOS.get(name, ()))}
    weak = [n for n, e in look.estimates.items() if n not in stays and n in engine.counters and not _is_known(e)]
    estimates = {**look.estimates, **{name: _limited(look.estimates[name], limits.of(name)) for name in weak}}
    ratios = {
        name: ratio if name in targets or _is_known(ratio) else _limited(ratio, limits.of_ratio(name, estimates))
        for name, ratio in look.ratios.items()
    }
    return replace(look, estimates=estimates, ratios=ratios)


def _parts_of_energy(engine: Engine) -> dict[str, str]:
    """Counters of energy that are part of the whole in each simulated launch -> "energy"."""
    if "energy" not in engine.counters:
        return {}
    values = dict(zip(engine.counters, engine.results.of(engine.results.units).T, strict=True))
    parts = {name: part for name, part in values.items() if name.startswith("energy_")}
    return {name: "energy" for name, part in parts.items() if bool(((part >= 0.0) & (part <= values["energy"])).all())}


def _is_known(e: Estimate) -> bool:
    return e.half_width == 0.0 or e.relative_half_width <= WEAK


def _limited(e: Estimate, limit: float) -> Estimate:
    if limit == 0.0:
        return e.moved(0.0, 0.0, std_error=0.0, computed_half_width=0.0)
    if e.simulated == 0.0 and math.isfinite(limit) and not math.isfinite(e.half_width):
        e = e.moved(0.0, e.half_width)  # only predictions have any
    limit = max(limit, e.estimate)
    return e if math.isinf(limit) or limit >= e.estimate + e.half_width else replace(e, at_most=limit)


@dataclass
class _Limits:
    """Upper limits of counters; arguments as of `with_limits`. wholes: the whole that a counter is a part of."""

    look: Look
    engine: Engine
    plan: Plan
    projected: set[int]
    wholes: dict[str, str]
    _found: dict[str, float] = field(default_factory=dict)

    def of(self, name: str) -> float:
        """Upper limit of a counter's total; infinite where nothing limits it."""
        if name not in self._found:
            whole, most = self.wholes.get(name), self.possible(name)
            limit = math.inf if most is None else self._by_draws(name, most)
            if whole is not None:
                e = self.look.estimates[whole]
                limit = min(limit, self.of(whole), e.estimate + e.half_width if e.half_width >= 0.0 else math.inf)
            self._found[name] = limit
        return self._found[name]

    def of_ratio(self, name: str, estimates: dict[str, Estimate]) -> float:
        """Limit of the counter above over the least that the counter below may be; infinite where there is none."""
        above, below = (estimates[counter] for counter in RATIOS[name])
        least = below.estimate - below.half_width
        if not (math.isfinite(above.at_most) and least > 0.0):
            return math.inf
        return min(above.at_most / least, 1.0 if self.wholes.get(above.counter) == below.counter else math.inf)

    def possible(self, name: str) -> np.ndarray | None:
        """float64 [N]: the most that each launch may have of a counter; None where nothing tells.

        It is what the launch has of the whole (`parts_of_wholes`): as its trace determines it, or as predicted, times the
        largest ratio of a result to its prediction; of a whole that is itself hardly known, the most that it may be.
        """
        if name in PER_COUNT:
            count, times = PER_COUNT[name]
            counts = self.plan.count_of_unit(count) if count in COUNTS else self._amounts(count)
            return None if counts is None else times * counts
        whole = self.wholes.get(name)
        if whole is None or name in IN_TOTAL:
            return None
        values = self._amounts(whole)
        return self.possible(whole) if values is None else values

    def _amounts(self, name: str) -> np.ndarray | None:
        """float64 [N]: value of a counter in each launch, by its trace or else as predicted; None where nothing tells."""
        if name not in self.engine.counters:
            return None
        values = exact_values(self.plan, self.engine, self.projected, name)
        if values is None and _is_known(self.look.estimates[name]):
            values = self._predicted(name)
        return values

    def _predicted(self, name: str) -> np.ndarray | None:
        """float64 [N]: predictions of a counter, times the largest ratio of a result to its prediction; nan where there is
        none. None where a result is not predicted.
        """
        predictions, labels = self.plan.design.computed, np.asarray(self.plan.design.labels)
        if name not in predictions:
            return None
        x, units = np.where(labels < 0, np.nan, predictions[name]), self.engine.results.units
        results = self.engine.results.of(units)[:, self.engine.counters.index(name)]
        if bool(((results > 0.0) & (x[units] == 0.0)).any()):
            return None
        x *= max(float(np.nanmax(results / np.where(x[units] > 0.0, x[units], np.nan), initial=1.0)), 1.0)
        x[units] = results
        return x

    def _by_draws(self, name: str, most: np.ndarray) -> float:
        """Limit of a total from the most m_i that each launch may have, and from the y_i that simulated launches have.

        Formula: T = sum y_i of launches that represent only themselves, plus the m_i of launches without a result that may have
        more than any draw represents, plus L / sum w_i m_i of the m_i of all others. w_i are the units that draw i represents,
        L = `largest_amount` of the w_i m_i, of which the draws show sum w_i y_i. T counts as T / (1 - |b| - v), b +- v the
        replay error, and as no more than sum y_i plus the m_i of launches without a result.

        Model: launches of a cell that may have more have no larger shares y_i / m_i. Nothing is assumed of shares of
        different cells.
        """
        engine, column, has = self.engine, self.engine.counters.index(name), self.engine.results.rows >= 0
        results = engine.results.of(np.flatnonzero(has))[:, column]
        values = most.copy()
        values[has] = results
        sure = float(values.sum())
        if not (math.isfinite(sure) and ((results >= 0.0) & (results <= most[has])).all()):
            return math.inf
        drawn = engine.drawn()
        weights = engine.sampling.expansions(drawn)
        sampled, weights = drawn[weights > 1.0], weights[weights > 1.0]
        y, m = values[sampled], most[sampled]
        measured = engine.systematic.by_counter.get(name, Estimate.exact(0.0))
        rest = 1.0 - abs(measured.estimate) - measured.half_width
        event = EVENTS.get(name, name)  # of simulators for which it is predicted
        not_restored = event in self.plan.design.computed and math.isinf(REPLAY.get(name, REPLAY.get(event, 0.0)))
        if not_restored or not rest > 0.0 or not m.any():
            return sure
        inside = np.asarray(self.plan.design.labels) >= 0
        inside[np.setdiff1d(drawn, sampled)] = False
        amounts, alpha = weights * m, 1.0 - self.look.estimates[name].confidence
        inside &= has | (most <= amounts.max())
        share = largest_amount(amounts, float(weights @ y), alpha) / float(amounts.sum())
        limit = share * float(most[inside].sum()) + float(values[~inside].sum())
        return min(sure, max(limit, float(results.sum())) / rest)
