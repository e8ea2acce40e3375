"""One representative layer times N, as users of simulators do by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kernelpoint.config import Range, Section
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.ranges import Ranges
from kernelpoint.ranges.sources.detected import repeats
from kernelpoint.workload import Available, Need, require


class Layer(Representatives):
    """One simulated layer represents all equal layers of a workload, as is common practice.

    Accel-Sim 2.0 recommends it for language models ("trace one representative layer and extrapolate"), and users of distributed
    simulators do it. A layer is a sequence of launches that repeats immediately, with equal kernels and shapes (`ranges:
    detected`). Each launch of the simulated layer represents all launches at its position in equal layers: the estimated total
    is sum_k N_k y_k, for N_k launches at position k and the value y_k. Launches outside all layers are simulated.

    No bound is stated, because nothing is drawn at random. Model: the layer in the middle (`place` 0.5) is simulated; no paper
    says which to take.
    """

    @dataclass(frozen=True)
    class Parameters(Section):
        place: Annotated[float, Range(0, most=1), "which of the equal layers is simulated: 0 the first, 1 the last"] = 0.5

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        return frozenset({Need.TRACES if available.traces else Need.PROFILE})

    def design(self, program: Program) -> Design:
        if program.contents is not None:
            keys = np.where(program.stream_ids < 0, -1 - np.arange(program.size), program.label.astype(np.int64))
        else:
            require(program, "layer", Need.PROFILE)
            keys = program.signature
        strata = numbered(equal_layers(keys))
        copies = np.bincount(strata + 1, minlength=1)
        order = np.argsort(strata, kind="stable")
        chosen = order[np.cumsum(copies)[:-1] + np.round(self.parameters.place * (copies[1:] - 1)).astype(np.int64)]
        return Design.purposive(strata, program.u, chosen)


def equal_layers(keys: np.ndarray) -> np.ndarray:
    """int64 [N]: one number for all launches at the same position in equal layers; -1 outside all layers.

    Args:
        keys: int64 [N], equal for launches with the same kernel and shape.

    >>> equal_layers(np.array([9, 1, 2, 3, 1, 2, 3, 8])).tolist()
    [-1, 0, 1, 2, 0, 1, 2, -1]
    """
    layers, kinds = Ranges.of(repeats(keys), "detected").layers(keys)
    positions, begins, used = np.full(len(keys), -1, dtype=np.int64), dict[int, int](), 0
    order = np.argsort(layers, kind="stable")[np.count_nonzero(layers < 0) :]
    for kind, launches in zip(kinds.tolist(), np.split(order, np.flatnonzero(np.diff(layers[order])) + 1), strict=False):
        begin = begins.setdefault(kind, used)
        used += len(launches) if begin == used else 0
        positions[launches] = begin + np.arange(len(launches))
    return positions
