"""Launches of a pass of the sample that can be simulated beforehand, by whichever simulator."""

from __future__ import annotations

import numpy as np

from kernelpoint.session.frame import Frame
from kernelpoint.session.phases.ledger import Ledger
from kernelpoint.session.replays import KEPT, REPLAYED
from kernelpoint.session.work import Planned, Step


def first_pass(wanted: np.ndarray, frame: Frame, warmup: int, interval: int) -> list[Planned]:
    """Chains of the launches that the first pass will want, before it begins; see `planned`."""
    ledger = Ledger(frame.population.offsets, warmup)
    ledger.begin_pass(wanted)
    return planned(ledger, frame, warmup > 0, interval)


def planned(ledger: Ledger, frame: Frame, warms_up: bool, interval: int) -> list[Planned]:
    """Chains of the launches that the pass still wants: each launch by itself, or behind those that warm up for it.

    Args:
        interval: cycles between the progress calls of a launch that is not a warm-up.
    """
    chains: list[list[int]] = []
    for unit in ledger.open_units().tolist():
        goes_on = chains and unit == chains[-1][-1] + 1 and ledger.place(unit)[1] > 0
        if warms_up and goes_on:
            chains[-1].append(unit)
        else:
            chains.append([unit])
    return [_planned(ledger, frame, chain, interval) for chain in chains]


def _planned(ledger: Ledger, frame: Frame, units: list[int], interval: int) -> Planned:
    steps: list[Step] = []
    for unit in units:
        state, own = KEPT if steps else REPLAYED, 0 if ledger.is_warmup(unit) else interval
        steps.append(Step(*ledger.place(unit), state, own))
    return Planned(tuple(steps), float(frame.expected_costs(np.array(units)).sum()))
