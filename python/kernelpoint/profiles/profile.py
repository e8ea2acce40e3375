"""A profile: one row per kernel launch, from a profiler or a full simulation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.communication import communication
from kernelpoint.repeated import Repeated, Texts, distinct_rows

UNKNOWN = -1

# Counters that hold executed warp instructions, then those that hold instructions of threads; the first one there is taken.
INSTRUCTIONS = ("warp_instructions", "smsp__inst_executed.sum", "instructions", "smsp__thread_inst_executed.sum")


@dataclass(frozen=True, eq=False)
class Launches:
    """Names and shapes of launches in program order, as far as they are known.

    Attributes:
        names: kernel name of each; empty where unknown.
        grid, block: int64 [N, 3]; zeros where unknown.
        traces: trace file of each, empty where there is none; empty as a whole where no launch has one.
        keys: int64 [N], equal for launches whose source says that they do the same work; None where it says nothing.

    >>> shapes = np.array([[2, 1, 1], [4, 1, 1], [2, 1, 1]])
    >>> kinds = Launches(["gemm", "gemm", "gemm"], shapes, shapes).kinds
    >>> bool(kinds[0] == kinds[2] != kinds[1])
    True
    """

    names: Sequence[str]
    grid: np.ndarray
    block: np.ndarray
    traces: Sequence[str] = ()
    keys: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of launches N."""
        return len(self.names)

    @cached_property
    def kinds(self) -> np.ndarray:
        """int64 [N]: equal numbers for launches with equal key; without keys, with equal name, grid and block."""
        if self.keys is not None:
            return self.keys
        rows = np.concatenate([Texts.of(self.names).numbers[:, None], self.grid, self.block], axis=1)
        return distinct_rows(rows)[1].astype(np.int64)


@dataclass(frozen=True)
class Remark:
    """Sign of a defect in a profile: its kind, share of launches and time, and the first place.

    Attributes:
        launches: how many it concerns; time: their nanoseconds, 0 where unknown; place: of the first, for messages.

    >>> Remark(50, 45e6, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE").launches
    50
    """

    launches: int
    time: float = 0.0
    place: str = ""


@dataclass(frozen=True)
class Profile:
    """Times and counters of the launches of one GPU, in program order, one row each.

    Attributes:
        source: the file.
        names: distinct kernel names.
        name_ids: int32 [N], the name of each launch.
        grid, block: int64 [N, 3]; zeros where unknown.
        registers: int64 [N], per thread.
        shared_memory: int64 [N], bytes per CTA, static and dynamic.
        stream: int64 [N]. -1 where unknown.
        start: int64 [N], nanoseconds on the profiler's clock.
        duration: float64 [N], nanoseconds. Simulations have none: 0 and nan.
        keys: int64 [N], equal for launches whose source says that they do the same work; None where it says nothing.
        counters: float64 [N] by name, as their source calls them; `cycles` for simulations; nan where unknown.
        traces: trace file of each launch, where the source names it.
        left_out: kinds of rows that are no kernel launches, with their numbers.
        remarks: what the file shows of its own soundness, by kind (kernelpoint.admission has the kinds).
        calls: int64 [N], the number of the call that launched each; the nodes of one replay of a graph share it. Empty where
            unknown.
        processes: int64 [N], the process of each launch; None where there is one.
        graph_nodes: int64 [N], the node of a CUDA graph that each launch is, -1 for none; None where no launch is one.

    >>> from kernelpoint.profiles.builder import ProfileBuilder
    >>> builder = ProfileBuilder("example")
    >>> for cycles in (900.0, 950.0):
    ...     builder.add("gemm", (2, 1, 1), (64, 1, 1), counters={"cycles": cycles})
    >>> profile = builder.finish()
    >>> profile.size, profile.names, profile.time.tolist()
    (2, ('gemm',), [900.0, 950.0])
    """

    source: str
    names: tuple[str, ...]
    name_ids: np.ndarray
    grid: np.ndarray
    block: np.ndarray
    registers: np.ndarray
    shared_memory: np.ndarray
    stream: np.ndarray
    start: np.ndarray
    duration: np.ndarray
    counters: Mapping[str, np.ndarray] = field(default_factory=dict)
    traces: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    keys: np.ndarray | None = None
    remarks: Mapping[str, Remark] = field(default_factory=dict)
    calls: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    processes: np.ndarray | None = None
    graph_nodes: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of launches N."""
        return len(self.name_ids)

    @property
    def launches(self) -> Launches:
        """Name, grid and block of each launch."""
        named = Texts.of([*self.names, ""])
        return Launches(Texts(named.distinct, named.numbers[self.name_ids]), self.grid, self.block)

    @property
    def has_times(self) -> bool:
        """True if any launch has a duration or cycles."""
        return bool(np.isfinite(self.duration).any()) or "cycles" in self.counters

    @cached_property
    def time(self) -> np.ndarray:
        """float64 [N]: duration of each launch in ns; cycles if no launch has a duration.

        Raises:
            ProfileError: the profile has neither.
        """
        if np.isfinite(self.duration).any():
            return self.duration
        if "cycles" in self.counters:
            return self.counters["cycles"]
        raise ProfileError(f"{self.source}: no launch has a duration or cycles")

    @property
    def instructions(self) -> np.ndarray | None:
        """float64 [N]: instructions of each launch, or None. INSTRUCTIONS lists the counters that count as such."""
        return next((self.counters[name] for name in INSTRUCTIONS if name in self.counters), None)

    @cached_property
    def signature(self) -> np.ndarray:
        """int64 [N]: equal numbers for launches of equal name, grid, block, registers, shared memory and key."""
        columns = [self.name_ids[:, None], self.grid, self.block, self.registers[:, None], self.shared_memory[:, None]]
        if self.keys is not None:
            columns.append(self.keys[:, None])
        first, inverse = distinct_rows(np.concatenate(columns, axis=1))
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse]

    def name(self, row: int) -> str:
        """Kernel name of one launch."""
        return self.names[self.name_ids[row]]

    def take(self, rows: np.ndarray) -> Profile:
        """Profile with the launches `rows` in that order; -1 gives a launch without any information."""
        missing = rows < 0

        def pick(values: np.ndarray, unknown: float) -> np.ndarray:
            if not len(values):
                return np.full((len(rows), *values.shape[1:]), unknown, dtype=values.dtype)
            taken = values[np.maximum(rows, 0)]
            taken[missing] = unknown
            return taken

        names, name_ids = (*self.names, "") if missing.any() else self.names, pick(self.name_ids, len(self.names))
        return Profile(
            source=self.source,
            names=names,
            name_ids=name_ids,
            grid=pick(self.grid, 0),
            block=pick(self.block, 0),
            registers=pick(self.registers, UNKNOWN),
            shared_memory=pick(self.shared_memory, UNKNOWN),
            stream=pick(self.stream, UNKNOWN),
            start=pick(self.start, 0),
            duration=pick(self.duration, math.nan),
            counters=self._counters_of(rows),
            traces=tuple(self.traces[row] if row >= 0 else "" for row in rows) if self.traces else (),
            left_out=self.left_out,
            keys=None if self.keys is None else pick(self.keys, UNKNOWN),
            remarks=self.remarks,
            calls=pick(self.calls, UNKNOWN) if len(self.calls) else self.calls,
            processes=None if self.processes is None else pick(self.processes, UNKNOWN),
            graph_nodes=None if self.graph_nodes is None else pick(self.graph_nodes, UNKNOWN),
        )

    def _counters_of(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        columns = self.counters if isinstance(self.counters, Repeated) else Repeated(None, self.counters)
        matched = columns.take(np.maximum(rows, 0)).where(rows >= 0, math.nan)
        return matched if isinstance(self.counters, Repeated) else dict(matched)

    @cached_property
    def communication(self) -> np.ndarray:
        """object [N]: communication library of each launch; empty text for launches that compute."""
        return np.array([communication(name) for name in self.names] or [""], dtype=object)[self.name_ids]

    def of_process(self, number: int) -> Profile:
        """Profile of the launches of one process.

        Raises:
            ProfileError: it has none; the message names those that have.
        """
        there = np.zeros(self.size, np.int64) if self.processes is None else self.processes
        if number not in there:
            raise ProfileError(
                f"{self.source}: no launch of process {number}; allowed: {', '.join(map(str, np.unique(there)))}"
            )
        return replace(self.take(np.flatnonzero(there == number)), processes=None)

    def without_communication(self) -> Profile:
        """Profile without kernels of communication libraries; `left_out` counts them by library."""
        families, counts = np.unique(self.communication[self.communication != ""].astype(str), return_counts=True)
        if not len(families):
            return self
        kept = self.take(np.flatnonzero(self.communication == ""))
        dropped = {f"{family} kernel": int(count) for family, count in zip(families, counts, strict=True)}
        return replace(kept, left_out={**self.left_out, **dropped})

    def without_results(self, counters: Collection[str] = ()) -> Profile:
        """Profile without times: names, shapes and instruction counts.

        Of the other counters it has only those that are named.
        """
        kept = {name: values for name, values in self.counters.items() if name in INSTRUCTIONS or name in counters}
        unknown = np.full(self.size, math.nan)
        return replace(self, start=np.zeros(self.size, dtype=np.int64), duration=unknown, counters=kept)

    def with_launches_of(self, light: Profile) -> Profile:
        """Profile with these times and counters, and with name, shape and stream from `light`, whose rows are the same
        launches.

        That is two-level profiling: a light profile knows every launch, a detailed one only some of them (`take` left the
        others empty). The light one's times are not taken.
        """
        return replace(
            self,
            names=light.names,
            name_ids=light.name_ids,
            grid=light.grid,
            block=light.block,
            registers=light.registers,
            shared_memory=light.shared_memory,
            stream=light.stream,
        )

    def hash(self) -> str:
        """Hash of the profile's content, independent of its file name."""
        digest = hashlib.blake2b("\n".join(self.names).encode(), digest_size=16)
        columns = (self.name_ids, self.grid, self.block, self.registers, self.shared_memory, self.stream)
        keys = () if self.keys is None else (self.keys,)
        for values in (*columns, self.start, self.duration, *keys):
            digest.update(np.ascontiguousarray(values).tobytes())
        for name in sorted(self.counters):
            digest.update(name.encode() + self.counters[name].tobytes())
        return digest.hexdigest()
