"""Estimates that agree with each other: parts add up to wholes, hits are no more than accesses, totals no less than samples."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelpoint.estimation import Engine, Estimate, Look
from kernelpoint.ratios import ACTIVE_CYCLES, RATIOS

Terms = Mapping[str, float]  # weight of each counter in a sum

ROUNDING = 1e-4  # relative: simulators print six digits

ROUNDS = 200  # of projections
NOTHING = 1e-18  # squared, in half-widths

# Sums that are 0 in every launch of a simulator that counts so; which are, its simulated launches tell. Whether a read that
# joins a miss on its way is a miss itself depends on the configuration of the cache.
_L1_MISSES = {"l1_misses": -1.0, "l1_accesses": 1.0, "l1_global_read_hits": -1.0, "l1_global_write_hits": -1.0}
IDENTITIES: tuple[Terms, ...] = (
    {"l1_accesses": -1.0, "l1_global_reads": 1.0, "l1_global_writes": 1.0},
    {"l2_accesses": -1.0, "l2_global_reads": 1.0, "l2_global_writes": 1.0},
    {"l2_global_writes": -1.0, "l1_global_writes": 1.0},
    _L1_MISSES,
    {**_L1_MISSES, "l1_global_reads_merged": -1.0},
    {"dram_requests": -1.0, "dram_reads": 1.0, "dram_writes": 1.0},
)
# part, whole
AT_MOST = (
    ("l1_misses", "l1_accesses"),
    ("l1_global_reads", "l1_accesses"),
    ("l1_global_writes", "l1_accesses"),
    ("l1_global_read_hits", "l1_global_reads"),
    ("l1_global_reads_merged", "l1_global_reads"),
    ("l1_global_write_hits", "l1_global_writes"),
    ("l2_misses", "l2_accesses"),
    ("l2_global_reads", "l2_accesses"),
    ("l2_global_writes", "l2_accesses"),
    ("l2_global_read_hits", "l2_global_reads"),
    ("l2_global_write_hits", "l2_global_writes"),
    ("llc_misses", "llc_accesses"),
    ("dram_reads", "l2_misses"),
    ("dram_writes", "l2_accesses"),
)
IN_TOTAL = ("dram_writes",)  # parts of their whole in the total, not in each launch: lines that earlier launches wrote


def with_active_cycles(look: Look, latency: int, targets: Collection[str]) -> Look:
    """Make the totals of cycles and of active cycles (without the constant launch latency) agree in an interim analysis (end of
    a round of sampling). The total of one is that of the other plus or minus all latencies.

    The total that is a target of the error budget keeps its value and half-width. The other gets the same half-width, unless it
    is a target, too.

    Args:
        look: interim analysis.
        latency: sum of the constant launch latencies of all launches, in cycles.
        targets: names of the budget's targets.

    >>> def of(name, total, half):
    ...     return Estimate(name, total, half, half / total, 1.0, 9.0, 0.95, 0.0)
    >>> totals = {"cycles": of("cycles", 5100.0, 300.0), "active_cycles": of("active_cycles", 101.0, 5.0)}
    >>> found = with_active_cycles(Look(1, totals, {}, True), 5000, ["active_cycles"]).estimates["cycles"]
    >>> found.estimate, found.half_width
    (5101.0, 5.0)
    """
    estimates = look.estimates
    if not latency or not {"cycles", ACTIVE_CYCLES} <= estimates.keys():
        return look
    first, other = ("cycles", ACTIVE_CYCLES) if "cycles" in targets else (ACTIVE_CYCLES, "cycles")
    total = estimates[first].estimate + (latency if other == "cycles" else -latency)
    derived, given = estimates[other], estimates[first]
    if other not in targets:
        derived = replace(
            derived,
            half_width=given.half_width,
            std_error=given.std_error,
            computed_half_width=given.computed_half_width,
        )
    derived = replace(
        derived,
        estimate=total,
        relative_half_width=derived.half_width / total if total else derived.relative_half_width,
    )
    return replace(look, estimates={**estimates, other: derived})


def with_identities(look: Look, engine: Engine, fixed: Collection[str]) -> Look:
    """Make the totals of an interim analysis (end of a round of sampling) fulfil identities between counters, such as accesses
    = reads + writes.

    Model: an identity that holds in each simulated launch holds in all launches.

    Args:
        look: interim analysis.
        engine: engine with the results.
        fixed: targets of the budget, whose estimates do not change.
    """
    stays = {counter for name in fixed for counter in RATIOS.get(name, (name,))}
    finite = {name: e for name, e in look.estimates.items() if math.isfinite(e.estimate)}
    half_widths = {name: e.half_width if not math.isnan(e.half_width) else math.inf for name, e in finite.items()}
    balance = Balance(
        {name: e.estimate for name, e in finite.items()},
        half_widths | dict.fromkeys(stays & set(finite), 0.0),
        {name: e.simulated for name, e in finite.items() if math.isfinite(e.simulated)},
        {name: 0.0 for name in finite if name.startswith("energy")},
    )
    parts = {name: 1.0 for name in sorted(finite) if name.startswith("energy_")}
    energy: tuple[Terms, ...] = ({"energy": -1.0, **parts},) if parts else ()
    results, holding = engine.results.of(engine.results.units), []
    for identity in (*IDENTITIES, *energy):
        if identity.keys() <= finite.keys() & {*engine.counters}:
            terms = results[:, [engine.counters.index(name) for name in identity]] * np.array(list(identity.values()))
            if len(terms) and (np.abs(terms.sum(axis=1)) <= ROUNDING * np.abs(terms).max(axis=1)).all():
                holding.append(identity)
    for identity in (*holding, *holding):
        balance.derive(identity)
    balance.project(holding, [{part: 1.0, whole: -1.0} for part, whole in parts_of_wholes(finite, engine)])
    estimates = dict(look.estimates)
    for name, e in finite.items():
        if name not in stays:
            value, half = balance.values[name], math.nan if math.isnan(e.half_width) else balance.half_widths[name]
            wider = e.computed_half_width + abs(value - e.estimate)
            estimates[name] = e.moved(value, half, computed_half_width=min(wider, half) if math.isfinite(wider) else half)
    ratios = {name: ratio if name in fixed else _ratio(name, ratio, estimates) for name, ratio in look.ratios.items()}
    return replace(look, estimates=estimates, ratios=ratios)


def parts_of_wholes(counters: Iterable[str], engine: Engine) -> list[tuple[str, str]]:
    """Pairs (part, whole) of counters in AT_MOST for which each simulated launch has 0 <= part <= whole. A pair that a launch
    breaks is left out, since the simulator counts in another way.
    """
    values = dict(zip(engine.counters, engine.results.of(engine.results.units).T, strict=True))
    return [
        (part, whole)
        for part, whole in AT_MOST
        if {part, whole} <= values.keys() & set(counters)
        and bool((values[part] >= 0.0).all() and (part in IN_TOTAL or (values[part] <= values[whole]).all()))
    ]


def _ratio(name: str, ratio: Estimate, estimates: Mapping[str, Estimate]) -> Estimate:
    """Ratio of two totals, with a half-width from theirs."""
    above, below = (estimates[counter] for counter in RATIOS[name])
    if not (math.isfinite(above.estimate) and below.estimate > 0.0):
        return ratio
    quotient = above / below
    shift = abs(quotient.estimate - ratio.estimate)
    half = min(ratio.half_width + shift, quotient.half_width)
    return ratio.moved(quotient.estimate, half, computed_half_width=min(ratio.computed_half_width + shift, half))


# ---- least squares ---------------------------------------------------------------------------------------------------


@dataclass
class Balance:
    """Estimated totals that are made consistent with each other, in place.

    Attributes:
        values: total of each counter.
        half_widths: half-width of each counter.
        least: lower limit of a counter, where one is known.
        unit: smallest amount of a counter that matters; 1 by default.

    >>> balance = Balance({"reads": 60.0, "writes": 50.0, "all": 100.0}, {"reads": 9.0, "writes": 9.0, "all": 0.0}, {}, {})
    >>> balance.project([{"reads": 1.0, "writes": 1.0, "all": -1.0}], [])
    >>> balance.values["reads"], balance.half_widths["reads"]
    (55.0, 14.0)
    """

    values: dict[str, float]
    half_widths: dict[str, float]
    least: Mapping[str, float]
    unit: Mapping[str, float]

    def derive(self, identity: Terms) -> None:
        """Compute each counter of an identity from the others, if the half-width is then smaller than that of its own estimate.

        Args:
            identity: weight of each counter in a sum that is 0.
        """
        for name, weight in identity.items():
            others = {other: w / -weight for other, w in identity.items() if other != name}
            half = sum(abs(w) * self.half_widths[other] for other, w in others.items())
            if half < self.half_widths[name]:
                self.values[name] = sum(w * self.values[other] for other, w in others.items())
                self.half_widths[name] = half

    def project(self, identities: Sequence[Terms], at_most: Sequence[Terms]) -> None:
        """Move the totals to the nearest values that fulfil identities (sum = 0), limits (sum <= 0) and `least`.

        Method: least squares in units of half-widths under accounting constraints (Stone, Champernowne, Meade 1942), by
        alternating projections (Dykstra 1983). A half-width grows by as much as its total moves, so that an interval that
        contained the truth still does. Totals with half-width 0 stay.

        Args:
            identities: weight of each counter in each sum that must be 0.
            at_most: weight of each counter in each sum that must not be above 0.
        """
        names = list(self.values)
        x = before = np.array([self.values[name] for name in names])
        scales = [
            half if math.isfinite(half) else 10.0 * (abs(self.values[name]) + self.unit.get(name, 1.0))
            for name, half in ((name, self.half_widths[name]) for name in names)
        ]
        variance = np.array(scales) ** 2
        rows = [*identities, *at_most, *({name: -1.0} for name in self.least)]
        A = np.array([[terms.get(name, 0.0) for name in names] for terms in rows])
        b = np.array([0.0] * (len(rows) - len(self.least)) + [-least for least in self.least.values()])
        norms = (A * A * variance).sum(axis=1) if len(rows) else np.empty(0)
        kept = np.zeros(len(rows))  # of each limit, how far it moved the estimates last time
        for _ in range(ROUNDS):
            largest = 0.0
            for place in np.flatnonzero(norms):
                step = float(A[place] @ x - b[place]) / norms[place]
                if place >= len(identities):
                    step = max(step, -kept[place])
                    kept[place] += step
                x = x - step * A[place] * variance
                largest = max(largest, step * step * norms[place])
            if largest < NOTHING:
                break
        met = [place for place in np.flatnonzero(norms) if place < len(identities) or kept[place] > 0.0]
        if met:
            moves = A[met] * variance
            x = x - moves.T @ np.linalg.lstsq(moves @ A[met].T, A[met] @ x - b[met], rcond=None)[0]
        for name, moved, was in zip(names, x.tolist(), before.tolist(), strict=True):
            self.values[name] = moved
            self.half_widths[name] += abs(moved - was)
