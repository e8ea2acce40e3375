"""Description that a simulator gives of itself when it opens a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelpoint.errors import HostError
from kernelpoint.program import Program
from kernelpoint.program.described import descriptions_in_columns
from kernelpoint.ratios import ACTIVE_CYCLES, check_names
from kernelpoint.simulators import options_of, simulator

MOST_PROCESSES = 1 << 16
MOST_LAUNCHES = 1 << 28  # of all processes; what is kept of a launch takes some 30 bytes
MOST_LINES = 1 << 32  # of the state between launches: caches of 512 GiB
MOST_SMS = 1 << 16  # 16 bits of kp_touch.opaque
MOST_HISTORY, MOST_COUNTERS = 24, 1 << 30  # bits of a predictor's history; counters of all predictors, one byte each


@dataclass(frozen=True)
class HostInfo:
    """Description of a simulator (host) as Python values: the fields of `kp_host` (kernelpoint/abi.h) and `kp_kept`
    (kernelpoint/state.h).
    """

    simulator: str
    version: str = ""
    config_hash: str = ""
    concurrent: bool = False
    can_stop: bool = False
    process_count: int = 1
    list_paths: tuple[str | None, ...] = (None,)
    launch_counts: tuple[int, ...] = (0,)
    configuration: str = ""
    state_lines: int = 0
    residency: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    copies_fill: bool = False
    counts_ctas: bool = False
    keeps_l1: bool = False
    keeps_rows: bool = False
    needs_whole_traces: bool = False
    predictor: tuple[int, int] = (0, 0)
    counter_names: tuple[str, ...] | None = None
    stateless: bool = False
    has_no_traces: bool = False
    is_deterministic: bool = False
    executes: bool = False
    restores: bool = False
    not_replayed: str = ""
    stated_latency: int | None = None
    architectures: frozenset[int] = frozenset()
    descriptions: Program | None = None

    @property
    def can_replay(self) -> bool:
        """True if the simulator can restore its caches from memory accesses of earlier launches, and there is a trace list with
        these accesses.
        """
        return self.state_lines > 0 and None not in self.list_paths

    @property
    def restores_state(self) -> bool:
        """True if each sampled launch begins with the caches that earlier launches leave, because KernelPoint or the simulator
        restores them.
        """
        return self.can_replay or self.restores

    @cached_property
    def launch_latency(self) -> int:
        """Constant cost of each launch in cycles, as the simulator states it, or else from its options; 0 if it has none."""
        if self.stated_latency is not None:
            return self.stated_latency
        return simulator(self.simulator).launch_latency(options_of(self.configuration))

    @property
    def counters(self) -> tuple[str, ...] | None:
        """Names of the counters in every result, cycles and instructions first; None if the simulator does not name them."""
        if self.counter_names is None:
            return None
        return ("cycles", "instructions", *self.counter_names, *((ACTIVE_CYCLES,) if self.launch_latency else ()))

    def with_active_cycles(self, counters: dict[str, float]) -> dict[str, float]:
        """Counters of a result, and its cycles without the launch latency if the simulator has one."""
        if not self.launch_latency:
            return counters
        return {**counters, ACTIVE_CYCLES: max(counters["cycles"] - self.launch_latency, 0.0)}

    @classmethod
    def from_mapping(cls, info: Mapping[str, Any]) -> HostInfo:
        """Make the description from the fields that the C++ side sends. Missing fields keep their defaults.

        Raises:
            HostError: the number of processes, of launches or of a GPU's units exceeds its limit.
        """
        values = dict(info)
        stated = bytes.fromhex(values.pop("state_bytes", ""))
        values.update(simulator(values.get("simulator", "")).kept_state(stated))
        if "residency" in values:
            values["residency"] = tuple(values["residency"])
        values["architectures"] = frozenset(values.get("architectures", ()))
        processes = int(values.get("process_count", 1))
        if not 1 <= processes <= MOST_PROCESSES:
            raise HostError(f"process_count: got {processes:,}; allowed: 1 to {MOST_PROCESSES:,}")
        values["list_paths"] = tuple(values.get("list_paths") or [None] * processes)
        values["launch_counts"] = counts = tuple(values.get("launch_counts") or [0] * processes)
        if (names := values.get("counter_names")) is not None:
            values["counter_names"] = tuple(names)
            check_names(values["counter_names"])
        if (columns := values.get("descriptions")) is not None:
            values["descriptions"] = descriptions_in_columns(columns)
        if sum(counts) > MOST_LAUNCHES:
            raise HostError(f"launch_counts: got {sum(counts):,} launches; allowed: at most {MOST_LAUNCHES:,} in all")
        host = cls(**values)
        host._check_state()
        return host

    def _check_state(self) -> None:
        """Check that sizes of caches are plausible, because the memory of replay grows with them."""
        (history, bits), sms = self.predictor, self.residency[0]
        for name, number, most in (
            ("state_lines", self.state_lines, MOST_LINES),
            ("sms", sms, MOST_SMS),
            ("ctas_per_sm", self.residency[1], MOST_SMS),
            ("warps_per_sm", self.residency[2], MOST_SMS),
            ("predictor_history_bits", history, MOST_HISTORY),
            ("predictor_counter_bits", bits, 8),
            ("counters of predictors", sms << min(history, MOST_HISTORY), MOST_COUNTERS),
        ):
            if number > most:
                raise HostError(f"{name}: got {number:,}; allowed: at most {most:,}")


def counters_by_name(
    launch: int, cycles: float, instructions: float, names: Sequence[str] = (), values: Sequence[float] = ()
) -> dict[str, float]:
    """Counters of a launch by name, made from the result that the simulator passes through the C interface.

    Args:
        launch: index of the launch, for messages.
        cycles, instructions: values of these two counters.
        names: names of further counters.
        values: values of the further counters, in the order of `names`.

    Raises:
        HostError: a name occurs twice.

    >>> counters_by_name(0, 900, 50, ("reads",), (3.0,))
    {'cycles': 900.0, 'instructions': 50.0, 'reads': 3.0}
    """
    given = ("cycles", "instructions", *names)
    counters = dict(zip(given, map(float, (cycles, instructions, *values)), strict=True))
    if len(counters) != len(given):
        raise HostError(f"counters of launch {launch}: got {given}; allowed: each name once")
    return counters
