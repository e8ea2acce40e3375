"""Sampled runs whose first pass draws every launch: they are full runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernelpoint.estimation import Design, ErrorBudget, engine_for
from kernelpoint.session.frame import Frame, hash_design


def drawn_whole(frame: Frame | None, budget: ErrorBudget, begun_with: Mapping[str, str | None] | None) -> Frame | None:
    """The frame of a full run over the same launches, where the first pass would draw every launch anyway; else None.

    Each launch then begins with the state that the one before it left, and nothing is estimated: the total is that of the full
    run to the last cycle. Replayed states would only add an error. Only for simulators with a model of trajectories (MacSim):
    there that error is the largest.

    Args:
        begun_with: hashes of the journal that the run goes on with, if any: the run stays what it began as.
    """
    from kernelpoint.fast_model.predictions import OF_TOTAL  # here, because it needs the native reader

    if frame is None or OF_TOTAL not in (frame.design.predictions or {}):
        return None
    design = Design(
        strata=np.full(frame.population.size, -1, dtype=np.int32),
        first_sizes=np.empty(0, dtype=np.int64),
        u=frame.design.u,
        domains=frame.design.domains,
    )
    hashes = {**frame.hashes, "design": hash_design(design)}
    is_whole = _draws_all(frame, budget) if begun_with is None else begun_with.get("design") == hashes["design"]
    return replace(frame, plan=replace(frame.plan, design=design), hashes=hashes) if is_whole else None


def _draws_all(frame: Frame, budget: ErrorBudget) -> bool:
    """True if the first pass draws every launch, and all traces can be read."""
    if frame.plan.broken or frame.population.listed is not None:
        return False
    return len(engine_for(frame.design, budget).wanted()) == frame.population.size
