"""Sentences that a reader has to know beside the numbers of a comparison."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.journal import Run
from kernelpoint.paired.comparison import CounterRow
from kernelpoint.paired.sample import DrawnSample
from kernelpoint.session.summary import NOT_COVERED

FEW = 2  # common launches of a stratum, from which on it may hide much


def notes(first: Run, second: Run, rows: list[CounterRow]) -> list[str]:
    """Sentences that a reader has to know beside the numbers."""
    found = []
    if first.hashes.get("simulator_config") == second.hashes.get("simulator_config"):
        found.append("both runs simulated the same GPU: the ratio of a deterministic simulator is 1")
    if (a := first.setting("warmup.launches")) != (b := second.setting("warmup.launches")):
        found.append(f"warm-up differs ({a} and {b} launches), and so does the non-sampling error")
    wider = [row.counter for row in rows if row.tighter < 1.0]
    if wider:
        found.append(
            f"{', '.join(wider)}: the launches drawn in both say less than the runs by themselves; use the separate bounds, or "
            "run both with a smaller error budget"
        )
    return [*_not_the_estimate(first, rows), *found, *(f"not covered by the bound: {text}" for text in NOT_COVERED)]


def _not_the_estimate(first: Run, rows: list[CounterRow]) -> list[str]:
    """Sentence on why A is not the total that the first run states; nothing where it is."""
    stated = first.ended().counters
    for row in rows:
        own = stated[row.counter].estimate
        if own is not None and not math.isclose(row.first, own, rel_tol=1e-6):
            return [
                "A is estimated from the launches drawn in both runs, so that the comparison is launch by launch; "
                f"{first.path} states {own:,.0f} {row.counter}, from all launches that it drew"
            ]
    return []


def assumptions(run: DrawnSample, rows: np.ndarray) -> list[str]:
    """Assumptions of the bound on the common launches, which are `rows` of `run`; nothing where all are known."""
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
