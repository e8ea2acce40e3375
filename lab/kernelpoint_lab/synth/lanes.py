"""Lanes of warps: which are active, and the addresses that they access."""

from __future__ import annotations

import numpy as np

from kernelpoint_lab.synth.addresses import encode


class Scope:
    """Lanes that execute (`mask`, bool [W, 32]) and warps that issue (`present`, bool [W]).

    They differ under a predicate: a warp issues an instruction whose predicate holds in no lane, with an empty mask.
    """

    def __init__(self, mask: np.ndarray, present: np.ndarray | None = None) -> None:
        self.mask = mask
        self.present: np.ndarray = np.asarray(mask.any(axis=1)) if present is None else present
        bits = np.packbits(mask, axis=1, bitorder="little").view("<u4")[:, 0].tolist()
        self.masks = [f"{b:08x}" if p else "" for b, p in zip(bits, self.present.tolist(), strict=True)]
        self.distinct = set(self.masks)
        self.rows = np.flatnonzero(self.present)

    def same(self, other: Scope) -> bool:
        """True if two scopes have the same active lanes and warps."""
        return self is other or (self.masks == other.masks)


class Addresses:
    """Byte addresses, int64 [W, 32]; encoded once per scope, so worth keeping across loop iterations."""

    def __init__(self, values: np.ndarray, warps: int) -> None:
        self.values = np.broadcast_to(np.asarray(values, dtype=np.int64), (warps, 32))
        self._encoded: tuple[Scope, list[str]] | None = None

    def encoded(self, scope: Scope) -> list[str]:
        """Each warp's address fields; empty for warps that do not issue."""
        if self._encoded is None or self._encoded[0] is not scope:
            self._encoded = (scope, self._encode(scope))
        return self._encoded[1]

    def _encode(self, scope: Scope) -> list[str]:
        rows = scope.rows
        if len(rows) == len(scope.masks):
            return encode(self.values, scope.mask)
        fields = [""] * len(scope.masks)
        for row, field in zip(rows.tolist(), encode(self.values[rows], scope.mask[rows]), strict=True):
            fields[row] = field
        return fields
