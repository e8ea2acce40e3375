"""The bound on the ratio, and on the difference, of the totals of two runs from the launches drawn in both."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimation.estimators import Sample
from kernelpoint.estimation.paired import Interval, PairedTotals, joint_error_probability, paired_totals
from kernelpoint.paired.sampled_run import SampledRun
from kernelpoint.session.summary import NOT_COVERED, number

# What two runs must share: without it launch i of one is not launch i of the other, or was not drawn by the same number.
SHARED = ("launches", "hashes.list", "hashes.traces", "hashes.design", "config.seed", "config.policy", "estimate")

FEW = 2  # common launches of a stratum, from which on it may hide much


@dataclass(frozen=True)
class CounterRow:
    """One counter. first, second: estimated totals from the common launches; ratio: second / first, with its bound;
    difference: second - first, with its bound; separate: half-width of the ratio from the bounds that both runs state by
    themselves (the ratio lies there where both hold, so its confidence is lower); tighter: separate over paired.
    """

    counter: str
    first: float
    second: float
    ratio: Interval
    difference: Interval
    separate: float

    @property
    def tighter(self) -> float:
        """How many times narrower the paired interval of the ratio is than that of the separate bounds."""
        return self.separate / self.ratio.half_width if self.ratio.half_width > 0.0 else math.inf

    def record(self) -> dict[str, Any]:
        """For JSON, which has no nan."""
        ratio, difference = ({k: number(v) for k, v in asdict(i).items()} for i in (self.ratio, self.difference))
        return {
            "counter": self.counter,
            "first": number(self.first),
            "second": number(self.second),
            "ratio": ratio,
            "difference": difference,
            "separate_half_width": number(self.separate),
            "tighter": number(self.tighter),
        }


@dataclass(frozen=True)
class Comparison:
    """Two runs compared. common: launches drawn in both; first_drawn, second_drawn: in each."""

    rows: tuple[CounterRow, ...]
    launches: int
    common: int
    first_drawn: int
    second_drawn: int
    confidence: float
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """For JSON."""
        counts = {"launches": self.launches, "common": self.common}
        drawn = {"first_drawn": self.first_drawn, "second_drawn": self.second_drawn}
        rows = [row.record() for row in self.rows]
        return {**counts, **drawn, "confidence": self.confidence, "counters": rows, "notes": list(self.notes)}


def compare_runs(first: SampledRun, second: SampledRun) -> Comparison:
    """Compare `second` with `first`, counter by counter.

    Draws of both are prefixes of the same order of permanent random numbers in every stratum, so the launches drawn in
    both are again such a prefix, of the smaller size: given the sizes, a simple random sample of each stratum. The sizes
    are chosen by the runs' own results; what that costs is paid with `joint_error_probability`.

    Raises:
        JournalError: list, plan, seed, policy or estimator differ; the message names each key with both values.
    """
    _check_shared(first, second)
    confidence = min(float(run.summary["confidence"]) for run in (first, second))
    units, own, other = np.intersect1d(first.units, second.units, return_indices=True)
    alpha = joint_error_probability((first.bound, second.bound), 1.0 - confidence, (first.kinds, second.kinds))
    rows = []
    for name in first.counters:
        if name not in second.counters:
            continue
        columns = first.values[own, first.counters.index(name)], second.values[other, second.counters.index(name)]
        pair = _pair(first, own, np.column_stack(columns), alpha)
        rows.append(
            CounterRow(name, pair.first, pair.second, pair.ratio, pair.difference, _separate(first, second, name))
        )
    return Comparison(
        tuple(rows),
        int(first.summary["launches"]),
        len(units),
        len(first.units),
        len(second.units),
        confidence,
        (*_notes(first, second, rows), *_assumed(first, own)),
    )


def _check_shared(first: SampledRun, second: SampledRun) -> None:
    def value(run: SampledRun, key: str) -> Any:
        found: Any = run.record
        for part in key.split("."):
            found = found.get(part)
        return found

    differing = [
        f"{key}: {first.path} has {value(first, key)!r}, {second.path} {value(second, key)!r}"
        for key in SHARED
        if value(first, key) != value(second, key)
    ]
    if differing:
        raise JournalError(
            "runs are compared launch by launch; both need the same list, plan and seed:\n" + "\n".join(differing)
        )


def _pair(run: SampledRun, rows: np.ndarray, values: np.ndarray, alpha: float) -> PairedTotals:
    """The comparison of one counter over the common launches, which are `rows` of `run`."""
    stratum, total = run.stratum[rows], run.strata_covariate
    inside = stratum >= 0
    x = None if total is None else run.x[rows][inside]
    sample = Sample(stratum[inside], run.strata_units, run.clusters, x, total)
    return paired_totals(sample, values[inside], values[~inside], run.method, alpha)


def _separate(first: SampledRun, second: SampledRun, counter: str) -> float:
    """Half-width of the ratio if all that is known are the two intervals that the runs state; nan if one states none."""
    a, b = (run.summary["counters"][counter] for run in (first, second))
    if (
        any(row[key] is None for row in (a, b) for key in ("estimate", "half_width"))
        or a["estimate"] <= a["half_width"]
    ):
        return math.nan
    high = (b["estimate"] + b["half_width"]) / (a["estimate"] - a["half_width"])
    low = (b["estimate"] - b["half_width"]) / (a["estimate"] + a["half_width"])
    return float(0.5 * (high - low))


def _notes(first: SampledRun, second: SampledRun, rows: list[CounterRow]) -> list[str]:
    """What a reader has to know beside the numbers."""
    found = []
    if first.simulated_gpu == second.simulated_gpu:
        found.append("both runs simulated the same GPU: the ratio of a deterministic simulator is 1")
    if (a := first.record["config"]["warmup"]) != (b := second.record["config"]["warmup"]):
        found.append(
            f"warm-up differs ({a['launches']} and {b['launches']} launches), and so does the non-sampling error"
        )
    wider = [row.counter for row in rows if row.tighter < 1.0]
    if wider:
        found.append(
            f"{', '.join(wider)}: the launches drawn in both say less than the runs by themselves; use the separate bounds, or "
            "run both with a smaller error budget"
        )
    return found + [f"not covered by the bound: {text}" for text in NOT_COVERED]


def _assumed(run: SampledRun, rows: np.ndarray) -> list[str]:
    """What the bound takes for granted of the common launches, which are `rows` of `run`; nothing where all are known."""
    stratum = run.stratum[rows]
    drawn = np.bincount(stratum[stratum >= 0], minlength=len(run.strata_units))
    left = drawn < run.strata_units
    if not left.any():
        return []
    few = int((left & (drawn <= FEW)).sum())
    return [
        f"assumed: where the change of configuration acts on a stratum, the launches drawn there show it; {few} of "
        f"{int(left.sum())} strata that are not fully drawn have {FEW} common launches or fewer, and what those miss is not "
        "in the bound"
    ]
