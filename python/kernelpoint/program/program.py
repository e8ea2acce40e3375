"""The program: the launches of a workload in program order, as columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.program.communication import communication
from kernelpoint.repeated import NO_TEXTS, Repeated, Texts, distinct_rows

UNKNOWN = -1
NOTHING = np.zeros(0)  # a column that is not given

# Counters that hold executed warp instructions, then those that hold instructions of threads; the first one there is taken.
INSTRUCTIONS = ("warp_instructions", "smsp__inst_executed.sum", "instructions", "smsp__thread_inst_executed.sum")


@dataclass(frozen=True)
class Remark:
    """Sign of a defect in a file: its kind, share of launches and time, and the first place.

    Attributes:
        launches: how many it concerns; time: their nanoseconds, 0 where unknown; place: of the first, for messages.

    >>> Remark(50, 45e6, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE").launches
    50
    """

    launches: int
    time: float = 0.0
    place: str = ""


# Value of an unknown entry of each column, and its type; columns of sizes have three numbers for each launch.
_COLUMNS: dict[str, tuple[float, Any]] = {
    "grid": (0, np.int64),
    "block": (0, np.int64),
    "registers": (UNKNOWN, np.int64),
    "shared_memory": (UNKNOWN, np.int64),
    "stream": (UNKNOWN, np.int64),
    "start": (0, np.int64),
    "duration": (math.nan, np.float64),
}
_OPTIONAL = ("keys", "calls", "graph_nodes")  # int64 [N], or None


def _nothing() -> np.ndarray:
    return NOTHING


@dataclass(frozen=True, eq=False)
class Program:
    """Launches of a workload, one row each, in program order; those of each process stand together.

    All that reads a workload returns one: trace lists, profiles, outputs of full runs, launch censuses, descriptions of a
    simulator. A column that is not given is unknown.

    Attributes:
        counts: number of launches of each process.
        names: kernel name of each launch; empty where unknown.
        grid, block: int64 [N, 3]; zeros where unknown.
        registers: int64 [N], per thread.
        shared_memory: int64 [N], bytes per CTA, static and dynamic.
        stream: int64 [N]. -1 where unknown.
        start: int64 [N], nanoseconds on the profiler's clock.
        duration: float64 [N], nanoseconds. Simulations have none: 0 and nan.
        counters: float64 [N] by name, as their source calls them; `cycles` for simulations; nan where unknown.
        traces: trace file of each launch; empty where there is none.
        keys: int64 [N], equal for launches whose source says that they do the same work; None where it says nothing.
        calls: int64 [N], the number of the call that launched each; the nodes of one replay of a graph share it. None where
            unknown.
        graph_nodes: int64 [N], the node of a CUDA graph that each launch is, -1 for none; None where no launch is one.
        processes: the number of each process in its source.
        source: the file or the model that names, shapes, times and counters are from; empty where there is none.
        left_out: kinds of rows that are no kernel launches, with their numbers.
        remarks: what the file shows of its own soundness, by kind (kernelpoint.admission has the kinds).

    >>> shapes = np.array([[2, 1, 1], [4, 1, 1], [2, 1, 1]])
    >>> kinds = Program((3,), names=Texts.of(["gemm"] * 3), grid=shapes, block=shapes).kinds
    >>> bool(kinds[0] == kinds[2] != kinds[1])
    True
    """

    counts: tuple[int, ...]
    names: Texts = NO_TEXTS
    grid: np.ndarray = field(default_factory=_nothing)
    block: np.ndarray = field(default_factory=_nothing)
    registers: np.ndarray = field(default_factory=_nothing)
    shared_memory: np.ndarray = field(default_factory=_nothing)
    stream: np.ndarray = field(default_factory=_nothing)
    start: np.ndarray = field(default_factory=_nothing)
    duration: np.ndarray = field(default_factory=_nothing)
    counters: Mapping[str, np.ndarray] = field(default_factory=dict)
    traces: Texts = NO_TEXTS
    keys: np.ndarray | None = None
    calls: np.ndarray | None = None
    graph_nodes: np.ndarray | None = None
    processes: tuple[int, ...] = ()
    source: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, Remark] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put, size = object.__setattr__, self.size
        put(self, "names", Texts.of(self.names) if len(self.names) else Texts((), _repeated(-1, np.int32, (size,))))
        put(self, "traces", Texts.of(self.traces))
        put(self, "processes", self.processes or tuple(range(len(self.counts))))
        for name, (unknown, kind) in _COLUMNS.items():
            if getattr(self, name) is NOTHING:
                put(self, name, _repeated(unknown, kind, (size, 3) if name in ("grid", "block") else (size,)))

    @classmethod
    def of(cls, names: Sequence[str], grid: np.ndarray, block: np.ndarray, **columns: Any) -> Program:
        """Make the program of one process from names and shapes.

        >>> Program.of(["gemm"], np.array([[2, 1, 1]]), np.array([[64, 1, 1]])).size
        1
        """
        return cls((len(names),), Texts.of(names), grid, block, **columns)

    # ---- size and processes ---------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of launches N."""
        return sum(self.counts)

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64 [processes + 1]: first launch of each process, then the number of launches.

        >>> Program((3, 2)).offsets.tolist()
        [0, 3, 5]
        """
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def process(self) -> np.ndarray:
        """int64 [N]: the process of each launch, counted from 0."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def of_process(self, number: int) -> Program:
        """Program of the launches of one process, by its number in the source.

        Raises:
            ProfileError: it has none; the message names those that have.
        """
        if number not in self.processes:
            raise ProfileError(
                f"{self.source}: no launch of process {number}; allowed: {', '.join(map(str, self.processes))}"
            )
        part = self.take(np.flatnonzero(self.process == self.processes.index(number)))
        return replace(part, counts=(sum(part.counts),), processes=(number,))

    # ---- labels ---------------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> np.ndarray:
        """int64 [N]: equal numbers for launches with equal key; without keys, with equal name, grid and block."""
        if self.keys is not None:
            return self.keys
        return distinct_rows(np.concatenate([self.names.numbers[:, None], self.grid, self.block], axis=1))[1]

    @cached_property
    def signature(self) -> np.ndarray:
        """int64 [N]: equal numbers for launches of equal name, grid, block, registers, shared memory and key."""
        columns = [self.names.numbers[:, None], self.grid, self.block]
        columns += [self.registers[:, None], self.shared_memory[:, None]]
        if self.keys is not None:
            columns.append(self.keys[:, None])
        first, inverse = distinct_rows(np.concatenate(columns, axis=1))
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse]

    @cached_property
    def communication(self) -> np.ndarray:
        """object [N]: communication library of each launch; empty text for launches that compute."""
        return np.array([*map(communication, self.names.distinct), ""], dtype=object)[self.names.numbers]

    # ---- times and counters ---------------------------------------------------------------------------------------------

    @property
    def has_times(self) -> bool:
        """True if any launch has a duration or cycles."""
        return bool(np.isfinite(self.duration).any()) or "cycles" in self.counters

    @cached_property
    def time(self) -> np.ndarray:
        """float64 [N]: duration of each launch in ns; cycles if no launch has a duration.

        Raises:
            ProfileError: the program has neither.
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

    # ---- other programs of this one -------------------------------------------------------------------------------------

    def take(self, rows: np.ndarray) -> Program:
        """Program with the launches `rows` in that order; -1 gives a launch without any information.

        Processes are kept where the rows are in their order.
        """
        process = self.process[np.maximum(rows, 0)] if len(self.counts) > 1 else rows[:0]
        is_ordered = len(process) > 0 and not (np.diff(process) < 0).any()
        counts = np.bincount(process, minlength=len(self.counts)).tolist() if is_ordered else [len(rows)]
        columns: dict[str, Any] = {
            name: _picked(getattr(self, name), rows, unknown) for name, (unknown, _) in _COLUMNS.items()
        }
        for name in _OPTIONAL:
            column = getattr(self, name)
            columns[name] = None if column is None else _picked(column, rows, UNKNOWN)
        for name in ("names", "traces") if len(self.traces) else ("names",):
            texts = getattr(self, name)
            columns[name] = Texts(texts.distinct, _picked(texts.numbers, rows, -1))
        return replace(
            self,
            counts=tuple(counts),
            counters=self._counters_of(rows),
            processes=self.processes if is_ordered else (),
            **columns,
        )

    def _counters_of(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        columns = self.counters if isinstance(self.counters, Repeated) else Repeated(None, self.counters)
        matched = columns.take(np.maximum(rows, 0)).where(rows >= 0, math.nan)
        return matched if isinstance(self.counters, Repeated) else dict(matched)

    def without_communication(self) -> Program:
        """Program without kernels of communication libraries; `left_out` counts them by library."""
        families, counts = np.unique(self.communication[self.communication != ""].astype(str), return_counts=True)
        if not len(families):
            return self
        kept = self.take(np.flatnonzero(self.communication == ""))
        dropped = {f"{family} kernel": int(count) for family, count in zip(families, counts, strict=True)}
        return replace(kept, left_out={**self.left_out, **dropped})

    def without_results(self, counters: Collection[str] = ()) -> Program:
        """Program without times: names, shapes and instruction counts.

        Of the other counters it has only those that are named.
        """
        kept = {name: values for name, values in self.counters.items() if name in INSTRUCTIONS or name in counters}
        return replace(self, start=NOTHING, duration=NOTHING, counters=kept)

    def with_labels_of(self, light: Program) -> Program:
        """Program with these times and counters, and with name, shape and stream from `light`, whose rows are the same
        launches.

        That is two-level profiling: a light profile knows every launch, a detailed one only some of them (`take` left the
        others empty). The light one's times are not taken.
        """
        columns = ("names", "grid", "block", "registers", "shared_memory", "stream")
        return replace(self, **{name: getattr(light, name) for name in columns})

    def hash(self) -> str:
        """Hash of names, shapes, times and counters, independent of the source's name."""
        digest = hashlib.blake2b("\n".join(self.names.distinct).encode(), digest_size=16)
        columns = (self.grid, self.block, self.registers, self.shared_memory, self.stream, self.start, self.duration)
        keys = () if self.keys is None else (self.keys,)
        for values in (self.names.numbers, *columns, *keys):
            digest.update(np.ascontiguousarray(values).tobytes())
        for name in sorted(self.counters):
            digest.update(name.encode() + self.counters[name].tobytes())
        return digest.hexdigest()


def _repeated(value: float, kind: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Column of one value, which takes no memory."""
    return np.broadcast_to(kind(value), shape)


def _picked(column: np.ndarray, rows: np.ndarray, unknown: float) -> np.ndarray:
    """Rows of a column; `unknown` where a row is -1."""
    if not len(column) or not any(column.strides):  # unknown for every launch
        return np.broadcast_to(column.dtype.type(unknown), (len(rows), *column.shape[1:]))
    picked = column[np.maximum(rows, 0)]
    picked[rows < 0] = unknown
    return picked
