"""Predictions of the fast model for each launch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kernelpoint.profiles.profile import UNKNOWN, Profile

# Counters of simulators as sums of the model's own: name -> ((the model's counter, weight), ...). Accel-Sim looks stores up in
# L1 as well, and calls a sector that is still on its way no hit.
_L1_WRITES = (("l1_global_writes", 1.0),)
_L1_WRITE_MISSES = (*_L1_WRITES, ("l1_global_write_hits", -1.0))
_L2_READS = (("l2_accesses", 1.0), ("l2_global_writes", -1.0))
_L2_WRITE_MISSES = (("l2_global_writes", 1.0), ("l2_global_write_hits", -1.0))
# An L1 of Accel-Sim that allocates a line when its data arrives finds none while that is on its way: a miss once more.
_ALLOCATES_ON_FILL = re.compile(r"^-gpgpu_cache:dl1\s+[^,\s]+,\w:\w:[fs]", re.MULTILINE)
_WHOLE_NUMBERS = re.compile(r"^-gpgpu_(n_clusters|n_cores_per_cluster)\s+(\d+)", re.MULTILINE)
Terms = Mapping[str, tuple[tuple[str, float], ...]]
TERMS: Mapping[str, Terms] = {
    "accelsim": {
        "l1_accesses": (("l1_accesses", 1.0), *_L1_WRITES),
        "l1_misses": (("l1_misses", 1.0), *_L1_WRITE_MISSES),
        "l1_global_reads": (("l1_accesses", 1.0),),
        "l1_global_read_hits": (("l1_accesses", 1.0), ("l1_misses", -1.0), ("l1_global_reads_merged", -1.0)),
        "l1_bank_conflicts": (("l1_accesses", 1.0),),
        "l2_misses": (("l2_misses", 1.0), *_L2_WRITE_MISSES),
        "l2_global_reads": _L2_READS,
        "l2_global_read_hits": (*_L2_READS, ("l2_misses", -1.0), ("l2_global_reads_merged", -1.0)),
    },
}
# Standard deviation of a launch's cycles over runs of the same list that differ in single cycles, where it is predicted; its
# part in the standard deviation of the total (squares add up to the variance); its cycles in the one of these runs whose state
# replay begins it with.
SPREAD, OF_TOTAL, REPLAYED = "cycles_spread", "cycles_of_total", "cycles_replayed"
# Further counters of the model of MacSim's cores; warps that wait for an instruction line miss it each.
OF_CORES = ("fetch_misses", "l1_lookups", "l1_lookup_misses", "merged_misses", "last_level_misses", "last_level_fills")
REQUESTS, BEYOND_L1 = "requests", "requests_beyond_l1"  # of these: all, and those that met none on its way


def in_terms_of(
    simulator: str, counters: Mapping[str, np.ndarray], options: str = "", latency: int = 0
) -> dict[str, np.ndarray]:
    """Predictions under the names of a simulator's counters, in its units; none below 0.

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
    terms = dict(TERMS.get(simulator, {}))
    if _ALLOCATES_ON_FILL.search(options):
        terms["l1_misses"] = (*terms["l1_misses"], ("l1_global_reads_merged", 1.0))
    made = _active_cycles(counters, options, latency)
    made |= {
        name: np.maximum(sum(weight * counters[own] for own, weight in parts), 0.0)
        for name, parts in terms.items()
        if all(own in counters for own, _ in parts)
    }
    return {**counters, **made}


def _active_cycles(counters: Mapping[str, np.ndarray], options: str, latency: int) -> dict[str, np.ndarray]:
    """Cycles after the constant launch latency, where there is one; and those in which SMs execute a CTA, summed over SMs:
    of as many SMs as there are CTAs.
    """
    given = {name: int(value) for name, value in _WHOLE_NUMBERS.findall(options)}
    sms = given.get("n_clusters", 0) * given.get("n_cores_per_cluster", 1)
    active = np.maximum(counters["cycles"] - latency, 0.0)
    made = {"active_cycles": active} if latency else {}
    return {**made, "sm_cycles": active * np.minimum(counters["ctas"], sms)} if sms and "ctas" in counters else made


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
        """The predictions as a profile without names and shapes: counters by name, nan for a launch without a prediction."""
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
