"""Predictions of the fast model for each launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kernelpoint.program import Program
from kernelpoint.repeated import Repeated
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
    """Convert predictions to the counter names and units of a simulator. Negative values become 0.

    Args:
        simulator: as it calls itself; options: of it, as it states them; counters: predictions by the model's own names
            (plugin/include/kernelpoint/counters.h gives their meaning), which are kept where the simulator has no other
            counter of that name.
        latency: constant cycles of each launch in these predictions.

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


@dataclass(frozen=True, eq=False)
class Predictions:
    """Counters of every launch, simulated by the fast model in program order.

    Attributes:
        counters: the model's counters, by name, nan for launches that were not predicted.
        configuration: name of the simulated GPU in the model's terms.
        config_hash: identifies that GPU and the model: equal hashes, equal predictions.
        model_version: of the model.
        failures: reason for each launch that has a trace and no prediction, by unit.

    Example:
        >>> cycles = Repeated(None, {"cycles": np.array([900.0, np.nan])})
        >>> predictions = Predictions(cycles, "v100", "c0ffee", "1", {1: "cannot be opened"})
        >>> predictions.predicted.tolist()
        [True, False]
    """

    counters: Repeated = field(repr=False)
    configuration: str
    config_hash: str
    model_version: str
    failures: Mapping[int, str] = field(default_factory=dict, repr=False)

    @cached_property
    def predicted(self) -> np.ndarray:
        """bool [N]: launches with a prediction."""
        return ~np.isnan(self.counters["cycles"])

    @property
    def size(self) -> int:
        """Number of launches."""
        return self.counters.size

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Concatenate predictions of one model. A single part is returned without a copy."""
        if len(parts) == 1:
            return parts[0]
        counters = Repeated(
            None, {name: np.concatenate([p.counters[name] for p in parts]) for name in parts[0].counters}
        )
        failures: dict[int, str] = {}
        begin = 0
        for part in parts:
            failures |= {begin + unit: reason for unit, reason in part.failures.items()}
            begin += part.size
        return replace(parts[0], counters=counters, failures=failures)

    def profile(self) -> Program:
        """Predictions as a profile without names and shapes: values by counter, nan for a launch without prediction."""
        source = f"fast model ({self.configuration} {self.config_hash}, model {self.model_version})"
        return Program((self.size,), counters=self.counters, source=source)
