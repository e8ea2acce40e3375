"""Runs in which every launch is simulated although a sample was asked for, because that is cheaper, and exact.

Each launch then begins with the state that the one before it left, and nothing is estimated: the total is that of the full run
to the last cycle. Only for simulators with a model of their cores: there a plan costs most, and so does the error of replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import AssistedDesign, Design, Engine
from kernelpoint.fast_model.predictions import OF_TOTAL
from kernelpoint.planning.forecast import CHEAP_SHARE
from kernelpoint.planning.forecasting import ranged, rehearse
from kernelpoint.planning.frame import SamplingFrame, hash_design
from kernelpoint.progress import Log
from kernelpoint.session.setup import Setup
from kernelpoint.simulators import simulator

LEAST_SHARE = 0.3  # of all predicted cycles in the first pass; below that a sample pays, whatever follows


def in_full(setup: Setup, begun_with: Mapping[str, str | None] | None, log: Log) -> SamplingFrame | None:
    """The frame of a full run over the launches of a prepared run, where its sample would cost about as much; else None.

    Args:
        begun_with: hashes of the journal that the run goes on with, if any: the run stays what it began as.
    """
    frame = setup.frame
    if frame is None or simulator(setup.host.simulator).cores is None or frame.population.listed is not None:
        return None
    design = Design.take_all(frame.design.u)
    hashes = {**frame.hashes, "design": hash_design(design)}
    if begun_with is not None:
        is_whole = begun_with.get("design") == hashes["design"]
    else:
        is_whole = hashes["design"] == frame.hashes["design"] or _costs_as_much(setup, frame, log)
    return replace(frame, plan=replace(frame.plan, design=design), hashes=hashes) if is_whole else None


def _costs_as_much(setup: Setup, frame: SamplingFrame, log: Log) -> bool:
    """True if the sample is expected to cost CHEAP_SHARE of a full run, by two rehearsals of it (planning/forecasting.py)."""
    design = frame.design
    if frame.plan.broken or not isinstance(design, AssistedDesign) or OF_TOTAL not in design.computed:
        return False
    work = np.asarray(design.computed["cycles"], dtype=float)
    first = Engine(design, setup.budget).wanted()
    if len(first) == frame.population.size:
        return True
    if work[first].sum() < LEAST_SHARE * work.sum() or setup.budget.counter != "cycles":
        return False
    drawn = rehearse(design, setup.budget, setup.estimate, np.maximum(work, 1.0), setup.config.seed)
    costs = [float(work[units].sum() / work.sum()) for units in drawn]
    share = min(1.0, float(np.mean(ranged(costs[0], max(costs)))))
    if share < CHEAP_SHARE:
        return False
    log(
        f"kernelpoint: an error budget of {100 * setup.budget.relative_error:g} % would take about {100 * share:.0f} % of the "
        "cycles of a full run: every launch is simulated"
    )
    return True
