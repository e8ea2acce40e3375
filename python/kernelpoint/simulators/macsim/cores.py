"""Predictions by the model of MacSim's cores, and the bytes on their state that the hook in MacSim exchanges with KernelPoint
(as `macsim_patch/hook/replay.h` has them).

Branch predictors there learn during the whole run, and decide whether one and the same launch takes 6,144 cycles or 9,383; the
fast model knows none. The model of the cores is the one that replay trains predictors with.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import HostError
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.simulators import MISPREDICTIONS, OF_TOTAL, REPLAYED, REPLAYED_MISPREDICTIONS, SPREAD

if TYPE_CHECKING:
    from kernelpoint.traces.replay import Replayed

CODE_BYTES = 256 << 20  # of instructions that the model keeps
# Model: relative standard deviations of launches from replayed state (1.7, 2.5 and 4.3 %) and of lists' totals (+0.5, +0.5 and
# -0.5 %), measured with perfect_bp: one launch takes 7,020 cycles or 7,620 by the phases that it begins with, which the model
# does not follow into memory's queues.
PHASE_SCATTER, PHASE_ERROR = 0.03, 0.005
# Columns of the model's table; warps that wait for an instruction line miss it each.
COLUMNS = (
    *("cycles", MISPREDICTIONS, "fetch_misses", "l1_lookups", "l1_lookup_misses", "merged_misses", "constant_accesses"),
    "last_level_misses",
    *(SPREAD, OF_TOTAL, REPLAYED, REPLAYED_MISPREDICTIONS),
)
STATED = struct.Struct("<II")  # bits of the history and of a counter of each SM's branch predictor
COUNTS = struct.Struct("<II")  # SMs, and counters of each; then histories, then counters


def predict_cores(
    paths: Sequence[str], configuration: _native.fast_model.Configuration, log: Log
) -> tuple[dict[str, np.ndarray], bytes]:
    """Predict the counters of every launch, and the states of the cores before launches, with a model of MacSim's cores.

    Model: requests are all misses of instruction fetches and of loads; requests beyond L1 are not merged on their way.

    Args:
        paths: trace of each launch.
        configuration: configuration of the simulated GPU.
        log: function that receives lines for the user.
    """
    progress = WorkProgress("model of the cores", "launches", log)
    table, states = _native.macsim.run_cores(list(paths), configuration, CODE_BYTES, progress)
    progress(len(paths), len(paths))
    columns = dict(zip(COLUMNS, np.ascontiguousarray(table.T), strict=True))
    _widen_by_phases(columns)
    columns["requests"] = columns["fetch_misses"] + columns["l1_lookup_misses"]
    columns["requests_beyond_l1"] = columns["requests"] - columns["merged_misses"]
    return columns, states


def _widen_by_phases(columns: dict[str, np.ndarray]) -> None:
    """Raise the spreads of launches in which no branch is mispredicted, and of the total, to those that MacSim has there.

    Such launches take nearly the same in all trajectories of the model, which does not follow phases into memory's queues.

    Formula: s_i = max(s_i, a c_i), and for the total hypot(sd of the trajectories, a sqrt(sum(c_i^2))), sums over these
    launches, a PHASE_SCATTER: they differ independently. Where all launches of the list are such, all may be off alike by
    b sum(c_i), b PHASE_ERROR, which is the least sd of the trajectories then.
    """
    blind = np.where(columns[MISPREDICTIONS] == 0.0, columns["cycles"], 0.0)
    columns[SPREAD] = np.maximum(columns[SPREAD], PHASE_SCATTER * blind)
    squares, total = columns[OF_TOTAL] ** 2, np.nansum(blind)
    if not np.nansum(columns[MISPREDICTIONS]) and total:
        squares += max((PHASE_ERROR * total) ** 2 - np.nansum(squares), 0.0) * blind / total
    columns[OF_TOTAL] = np.sqrt(squares + (PHASE_SCATTER * blind) ** 2)


def kept_state(stated: bytes) -> dict[str, Any]:
    """Fields of HostInfo on the state that MacSim's cores keep between launches: L1, instruction cache and branch predictor.

    Args:
        stated: bytes from the hook (the code that the patch adds to MacSim).

    Raises:
        HostError: the bytes have another format.

    >>> kept_state(STATED.pack(14, 2)), kept_state(b"")
    ({'keeps_l1': True, 'predictor': (14, 2)}, {})
    """
    if not stated:
        return {}
    if len(stated) != STATED.size:
        raise HostError(f"kept.bytes of macsim: got {len(stated)} bytes; allowed: {STATED.size}")
    return {"keeps_l1": True, "predictor": STATED.unpack(stated)}


def replayed_bytes(replayed: Replayed) -> bytes:
    """Branch predictors of all cores as bytes for the hook (the code that the patch adds to MacSim)."""
    sms, counters = replayed.counters.shape
    return COUNTS.pack(sms, counters) + replayed.histories.tobytes() + replayed.counters.tobytes()
