"""Bytes on the state of MacSim's cores that its hook and KernelPoint exchange: as `macsim_patch/hook/replay.h` has them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kernelpoint.errors import HostError

if TYPE_CHECKING:
    from kernelpoint.traces.replay import Replayed

STATED = struct.Struct("<II")  # bits of the history and of a counter of each SM's branch predictor
COUNTS = struct.Struct("<II")  # SMs, and counters of each; then histories, then counters


def kept_state(stated: bytes) -> dict[str, Any]:
    """Fields of HostInfo on state that MacSim's SMs keep between launches: L1, instruction cache and branch predictor.

    Raises:
        HostError: these are not the bytes of a hook.

    >>> kept_state(STATED.pack(14, 2)), kept_state(b"")
    ({'keeps_l1': True, 'predictor': (14, 2)}, {})
    """
    if not stated:
        return {}
    if len(stated) != STATED.size:
        raise HostError(f"kept.bytes of macsim: got {len(stated)} bytes; allowed: {STATED.size}")
    return {"keeps_l1": True, "predictor": STATED.unpack(stated)}


def replayed_bytes(replayed: Replayed) -> bytes:
    """Bytes with the branch predictors of all SMs, for the hook in MacSim."""
    sms, counters = replayed.counters.shape
    return COUNTS.pack(sms, counters) + replayed.histories.tobytes() + replayed.counters.tobytes()
