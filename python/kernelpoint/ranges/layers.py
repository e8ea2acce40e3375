"""Layers: innermost ranges, and which of them run the same kernels."""

from __future__ import annotations

import numpy as np

from kernelpoint.ranges.ranges import Ranges


def layers_of(ranges: Ranges, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Layer of each launch, int64 [N], -1 in no range; kind of each layer, int64 [layers]: equal where its kernels are.

    Args:
        keys: int64 [N], equal for launches of one kernel and shape.

    >>> layers, kinds = layers_of(Ranges.of(["", "a", "a", "b", "b"], "an example"), np.array([9, 1, 2, 1, 2]))
    >>> layers.tolist(), kinds.tolist()
    ([-1, 0, 0, 1, 1], [0, 0])
    """
    layers, kinds, known = np.full(len(keys), -1, np.int64), list[int](), dict[bytes, int]()
    order = np.argsort(ranges.of_launch, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(ranges.of_launch[order])) + 1):
        if len(own) and ranges.of_launch[own[0]] > 0:
            layers[own] = len(kinds)
            kinds.append(known.setdefault(keys[own].tobytes(), len(known)))
    return layers, np.array(kinds, dtype=np.int64)
