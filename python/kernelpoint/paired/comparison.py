"""Two runs compared: a row for each counter."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimation import Estimate
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import finite
from kernelpoint.paired.sample import DrawnSample, is_predicted
from kernelpoint.session.verdict import NOT_COVERED

FEW = 2  # common launches of a stratum, from which on it may hide much


def notes(first: Run, second: Run, rows: list[CounterRow]) -> list[str]:
    """Sentences that explain the numbers of a comparison."""
    sentences = []
    if first.hashes.get("simulator_config") == second.hashes.get("simulator_config"):
        sentences.append("both runs simulated the same GPU: the ratio of a deterministic simulator is 1")
    wider = [row.counter for row in rows if row.tighter < 1.0]
    if wider:
        sentences.append(
            f"{', '.join(wider)}: the launches drawn in both say less than the runs by themselves; use the separate bounds, or "
            "run both with a smaller error budget"
        )
    return [*_not_the_estimate(first, rows), *sentences, *(f"not covered by the bound: {text}" for text in NOT_COVERED)]


def _not_the_estimate(first: Run, rows: list[CounterRow]) -> list[str]:
    """Sentence on why A is not the total that the first run states; nothing where it is."""
    stated = first.ended().counters
    for row in rows:
        total = stated[row.counter].estimate
        if not math.isnan(total) and not math.isclose(row.first, total, rel_tol=1e-6):
            return [
                "A is estimated from the launches drawn in both runs, so that the comparison is launch by launch; "
                f"{first.path} states {total:,.0f} {row.counter}, from all launches that it drew"
            ]
    return []


def assumptions(run: DrawnSample, rows: np.ndarray) -> list[str]:
    """Assumptions of the bound on the common launches; empty if all launches are common. `rows` are the common launches of
    `run`.
    """
    stratum = run.stratum[rows]
    drawn = np.bincount(stratum[stratum >= 0], minlength=len(run.strata_units))
    has_undrawn = drawn < run.strata_units
    if not has_undrawn.any():
        return []
    few = int((has_undrawn & (drawn <= FEW)).sum())
    return [
        f"assumed: where the change of configuration acts on a stratum, the launches drawn there show it; {few} of "
        f"{int(has_undrawn.sum())} strata that are not fully drawn have {FEW} common launches or fewer, and what those miss is "
        "not in the bound"
    ]


def check_shared(first: Run, second: Run, *settings: str) -> None:
    """Raise an error if two runs differ in launch list, plan or seed: their launches could not be paired."""

    def shared(run: Run) -> dict[str, Any]:
        hashes = {f"hashes.{name}": run.hashes.get(name) for name in ("traces", "design")}
        config = {f"config.{key}": run.setting(key) for key in ("seed", "policy", *settings)}
        return {"launches": run.launches, **hashes, **config, "estimate": run.header.estimate}

    a, b = shared(first), shared(second)
    differing = [f"{key}: {first.path} has {a[key]!r}, {second.path} {b[key]!r}" for key in a if a[key] != b[key]]
    if differing:
        raise JournalError(
            "runs are compared launch by launch; both need the same list, plan and seed:\n"
            + "\n".join([*differing, *_cure(first, second)])
        )


def _cure(first: Run, second: Run) -> list[str]:
    """Advice where each run derived a fast model of its own GPU; else empty."""
    same = {name: first.hashes.get(name) == second.hashes.get(name) for name in ("traces", "design")}
    derived = any(is_predicted(run) and run.setting("fast_model") == "auto" for run in (first, second))
    if same["design"] or not same["traces"] or not derived:
        return []
    return [
        "with `fast_model: auto` each run predicted for its own GPU, so the draws differ; give both one model, `fast_model: "
        "FILE` with the configuration of either GPU, and run them again (another `journal:`, or `resume: never`)"
    ]


@dataclass(frozen=True)
class CounterRow:
    """Comparison of one counter: both totals, difference and ratio, each with its half-width.

    Attributes:
        first, second: estimated totals from the common launches.
        ratio: second / first, with its bound.
        difference: second - first, with its bound.
        separate: half-width of the ratio from the bounds that both runs state by themselves (the ratio lies there where
            both hold, so its confidence is lower).
        tighter: separate over paired.

    >>> ratio, difference = Estimate.of(1.5, 0.01), Estimate.of(500.0, 10.0)
    >>> CounterRow("cycles", 1000.0, 1500.0, ratio, difference, separate=0.04).tighter
    4.0
    """

    counter: str
    first: float
    second: float
    ratio: Estimate
    difference: Estimate
    separate: float

    @classmethod
    def exact(cls, counter: str, first: float, second: float) -> CounterRow:
        """Make the row of a counter whose totals both runs know exactly.

        >>> CounterRow.exact("instructions", 100.0, 100.0).ratio.half_width
        0.0
        """
        ratio = Estimate.exact(second / first) if first else Estimate.of(math.nan)
        return cls(counter, first, second, ratio, Estimate.exact(second - first), 0.0)

    @property
    def tighter(self) -> float:
        """Factor by which the paired interval of the ratio is narrower than that from two separate bounds."""
        return self.separate / self.ratio.half_width if self.ratio.half_width > 0.0 else math.inf


@dataclass(frozen=True)
class Comparison:
    """Comparison of two runs: one row for each counter.

    Attributes:
        common: launches drawn in both.
        first_drawn, second_drawn: in each.

    >>> import kernelpoint as kp
    >>> from kernelpoint.paired import compare_runs
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> comparison = compare_runs(run, run)
    >>> comparison.common, comparison.rows[0].counter
    (6, 'cycles')
    """

    rows: tuple[CounterRow, ...]
    launches: int
    common: int
    first_drawn: int
    second_drawn: int
    confidence: float
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Comparison as a JSON object."""
        content = asdict(self)
        rows = content.pop("rows")
        for row, compared in zip(rows, self.rows, strict=True):
            row |= {"separate_half_width": row.pop("separate"), "tighter": compared.tighter}
            row |= {name: _interval(getattr(compared, name)) for name in ("ratio", "difference")}
        return dict(finite(content | {"counters": rows}))


def _interval(estimate: Estimate) -> dict[str, float]:
    """A ratio or a difference as a JSON object."""
    names = ("half_width", "std_error", "degrees_of_freedom")
    return {"value": estimate.estimate, **{name: getattr(estimate, name) for name in names}}
