"""Predictions of the fast model for each launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kernelpoint.profiles.profile import UNKNOWN, Profile

# The model's counter that stands for one of another name.
COUNTERPARTS = {
    "l1_global_reads": "l1_accesses",
    "l1_global_read_hits": "l1_hits",
    "l2_global_reads": "l2_accesses",
    "l2_global_read_hits": "l2_hits",
    "l2_global_writes": "l2_accesses",
    "l2_global_write_hits": "l2_hits",
    "llc_accesses": "l2_accesses",  # MacSim: the model's L2 is the cache in front of DRAM
    "llc_misses": "l2_misses",
    "memory_requests": "l2_accesses",
    "dram_requests": "dram_transfers",
    "dram_activates": "dram_transfers",
    "l1_bank_conflicts": "l1_accesses",
    "energy": "cycles",
}
# Standard deviation of a launch's cycles over runs of the same list that differ in single cycles, where it is predicted; its
# part in the standard deviation of the total (squares add up to the variance); its cycles in the one of these runs whose state
# replay begins it with.
SPREAD, OF_TOTAL, REPLAYED = "cycles_spread", "cycles_of_total", "cycles_replayed"
# Sums and differences of the model's own.
_COMBINED = {
    "l1_hits": ("l1_accesses", "l1_misses", -1.0),
    "l2_hits": ("l2_accesses", "l2_misses", -1.0),
    "dram_transfers": ("dram_reads", "dram_writes", 1.0),
}


def counterpart(counters: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """The prediction that stands for a counter of a simulator; None where the model has none.

    Args:
        counters: predictions by the model's own names (plugin/include/kernelpoint/counters.h gives their meaning).
        name: as the simulator reports it.

    >>> x = {"l2_accesses": np.array([5.0, 9.0]), "l2_misses": np.array([2.0, 9.0])}
    >>> counterpart(x, "l2_global_read_hits")
    array([3., 0.])
    >>> counterpart(x, "llc_misses") is x["l2_misses"], counterpart(x, "replays")
    (True, None)
    """
    name = name if name in counters else COUNTERPARTS.get(name, name)
    if name in _COMBINED:
        first, second, sign = _COMBINED[name]
        return counters[first] + sign * counters[second]
    return counters.get(name)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Counters of every launch, as the model simulated them in program order.

    Attributes:
        counters: the model's counters, by name: float64 [N], nan for launches that were not predicted.
        configuration: name of the simulated GPU in the model's terms.
        config_hash: identifies that GPU and the model: equal hashes, equal predictions.
        model_version: of the model.
        failures: reason for each launch that has a trace and no prediction, by unit.

    Example:
        >>> predictions = Predictions({"cycles": np.array([900.0, np.nan])}, "v100", "c0ffee", "1", {1: "cannot be opened"})
        >>> predictions.predicted.tolist()
        [True, False]
    """

    counters: Mapping[str, np.ndarray] = field(repr=False)
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
        return len(self.counters["cycles"])

    def of(self, counter: str) -> np.ndarray | None:
        """float64 [N]: what stands for a counter of the simulator; None where the model has none."""
        return counterpart(self.counters, counter)

    def part(self, first: int, last: int) -> Predictions:
        """Units `first` to `last - 1`, numbered from 0."""
        failures = {unit - first: reason for unit, reason in self.failures.items() if first <= unit < last}
        return replace(self, counters={k: x[first:last] for k, x in self.counters.items()}, failures=failures)

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Predictions of one model, one after another; nothing is copied where there is one part."""
        if len(parts) == 1:
            return parts[0]
        counters = {name: np.concatenate([p.counters[name] for p in parts]) for name in parts[0].counters}
        failures: dict[int, str] = {}
        begin = 0
        for part in parts:
            failures |= {begin + unit: reason for unit, reason in part.failures.items()}
            begin += part.size
        return replace(parts[0], counters=counters, failures=failures)

    def profile(self) -> Profile:
        """The same as a profile without names and shapes: counters by name, nan where nothing was predicted."""
        n = self.size
        zero, unknown = np.broadcast_to(np.int64(0), n), np.broadcast_to(np.int64(UNKNOWN), n)  # one number each
        shapeless = np.broadcast_to(np.int64(0), (n, 3))
        return Profile(
            source=f"fast model ({self.configuration} {self.config_hash}, model {self.model_version})",
            names=("",),
            name_ids=np.broadcast_to(np.int32(0), n),
            grid=shapeless,
            block=shapeless,
            registers=unknown,
            shared_memory=unknown,
            stream=unknown,
            start=zero,
            duration=np.broadcast_to(np.float64(np.nan), n),
            counters=dict(self.counters),
        )
