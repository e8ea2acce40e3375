"""Lanes of warps: which are active, and the addresses that they access, as a tracer compresses them."""

from __future__ import annotations

import numpy as np

_INT32 = 1 << 31


def encode(addresses: np.ndarray, mask: np.ndarray) -> list[str]:
    """The address fields of one memory instruction, for each of W warps.

    Mode 1 (base and stride) where the active lanes are contiguous, at least two, and evenly spaced, and where no lane is
    active; mode 2 (base and one delta from the previous active lane per further one) elsewhere; mode 0 (every address)
    where a delta does not fit 32 bits. Checked against real traces of tracer version 3.

    Args:
        addresses: int64 [W, 32]; inactive lanes are ignored.
        mask: bool [W, 32].

    >>> lanes = np.arange(32)[None, :]
    >>> encode(0x100 + 4 * lanes, lanes < 3)
    ['1 0x100 4']
    >>> encode(0x100 + 4 * lanes, (lanes == 1) | (lanes == 4))
    ['2 0x104 12']
    >>> encode(0x100 + 4 * lanes, lanes < 0)
    ['1 0x0 0']
    """
    count = mask.sum(axis=1)
    first = mask.argmax(axis=1)
    rows = np.arange(len(mask))
    base = np.where(count > 0, addresses[rows, first], 0)
    steps = addresses[:, 1:] - addresses[:, :-1]
    pairs = mask[:, 1:] & mask[:, :-1]
    stride = np.where(count > 1, steps[rows, np.minimum(first, 30)], 0)
    even = ((steps == stride[:, None]) | ~pairs).all(axis=1)
    contiguous = pairs.sum(axis=1) == count - 1
    regular = (contiguous & even & (count > 1) & (np.abs(stride) < _INT32)) | (count == 0)
    encoded = ["1 0x%x %d" % pair for pair in zip(base.tolist(), stride.tolist(), strict=True)]  # noqa: UP031
    irregular = np.flatnonzero(~regular)
    if len(irregular):
        for row, text in zip(irregular.tolist(), _irregular(addresses[irregular], mask[irregular]), strict=True):
            encoded[row] = text
    return encoded


def _irregular(addresses: np.ndarray, mask: np.ndarray) -> list[str]:
    """Mode 2 or 0 for rows that all have an active lane."""
    active = addresses[mask]
    ends = np.cumsum(mask.sum(axis=1))
    firsts = np.concatenate([[0], ends[:-1]])
    deltas = np.diff(active, prepend=active[:1])
    deltas[firsts] = 0
    texts = list(map(str, deltas.tolist()))
    bases = active[firsts].tolist()
    spans = list(zip(firsts.tolist(), ends.tolist(), bases, strict=True))
    rows = [" ".join([f"2 0x{base:x}", *texts[first + 1 : end]]) for first, end, base in spans]
    for place in np.flatnonzero(np.abs(deltas) >= _INT32).tolist():
        row = int(np.searchsorted(ends, place, side="right"))
        rows[row] = " ".join(["0", *map(hex, active[firsts[row] : ends[row]].tolist())])
    return rows


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
