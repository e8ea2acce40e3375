"""Conversion of the fast model's predictions to the counters of a simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernelpoint.simulators import options_of
from kernelpoint.simulators import simulator as load_simulator

# Standard deviation of a launch's cycles over runs of the same list that differ in single cycles, where it is predicted; its
# part in the standard deviation of the total (squares add up to the variance); its cycles in the one of these runs whose state
# replay begins it with.
SPREAD, OF_TOTAL, REPLAYED = "cycles_spread", "cycles_of_total", "cycles_replayed"
# Mispredicted branches of a launch: the mean of these runs, and those in the one whose state replay begins it with.
MISPREDICTIONS, REPLAYED_MISPREDICTIONS = "mispredictions", "mispredictions_replayed"


def in_terms_of(
    simulator: str, counters: Mapping[str, np.ndarray], options: str = "", latency: int = 0
) -> dict[str, np.ndarray]:
    """Convert predictions of the fast model to the counter names and units of a simulator. Negative values become 0.

    Args:
        simulator: name of the simulator.
        counters: float64 [N] by counter of the fast model (plugin/include/kernelpoint/counters.h); a counter that the simulator
            does not have stays.
        options: options of the simulator, as it reports them.
        latency: constant latency of each launch, in cycles, which the predictions include.

    >>> x = {"cycles": np.array([70.0]), "l1_accesses": np.array([5.0]), "l1_global_writes": np.array([2.0])}
    >>> {name: value.tolist() for name, value in in_terms_of("accelsim", x).items()}["l1_accesses"]
    [7.0]
    >>> in_terms_of("mine", x) == x
    True
    """
    active = np.maximum(counters["cycles"] - latency, 0.0)
    after_latency = {"active_cycles": active} if latency else {}
    return {
        **counters,
        **after_latency,
        **load_simulator(simulator).in_its_terms(counters, options_of(options), active),
    }
