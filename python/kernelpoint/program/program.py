"""The program: the launches of a workload in program order, as columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from kernelpoint.errors import HostError, ProfileError
from kernelpoint.program.communication import communication
from kernelpoint.program.contents import Contents
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.repeated import NO_TEXTS, Repeated, Texts, distinct_rows, first_of_each

UNKNOWN = -1
_NOTHING = np.zeros(0)  # a column that is not given

# Counters that hold executed warp instructions, then those that hold instructions of threads; the first one there is taken.
INSTRUCTIONS = ("warp_instructions", "smsp__inst_executed.sum", "instructions", "smsp__thread_inst_executed.sum")


@dataclass(frozen=True)
class Remark:
    """Sign of a defect in a profile or in traces, with the number and the time of the affected launches.

    Attributes:
        launches: number of affected launches.
        time: total time of these launches in nanoseconds (of traces: their instructions); 0 if unknown.
        place: position of the first sign in the file, for messages.

    >>> Remark(50, 45e6, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE").launches
    50
    """

    launches: int
    time: float = 0.0
    place: str = ""


class Fingerprint(NamedTuple):
    """Two hashes (32 hexadecimal digits each) that identify the launches of all processes.

    Attributes:
        launches: hash of the number of launches of each process, and, for every launch in program order, of the file name of
            its trace and of the size and time of all files that the trace depends on. The folder of the list does not matter.
        files: hash that also covers inodes and change times of the files, for data stored on this machine. A copy of the traces
            has another hash.
    """

    launches: str
    files: str


class Predictor(Protocol):
    """Interface of a model that predicts every launch on request, such as the fast model (KernelPoint's analytic model of a
    GPU).
    """

    @property
    def launch_latency(self) -> float:
        """Constant cost of each launch in cycles that the predictions include."""

    def dependencies(self) -> dict[str, str]:
        """Names and values of all settings that the predictions depend on, apart from the launches."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Table of the L distinct pairs of kernel name and shape.

    Attributes:
        names: kernel name; empty where unknown.
        shapes: int64 [L, 8]: three extents of the grid, three of the block (0 where unknown), registers per thread, and bytes
            of static and dynamic shared memory per CTA (-1 where unknown).

    >>> Labels.of(Texts.of(["gemm", "gemm"]), np.ones((2, 8), np.int64))[1].tolist()
    [0, 0]
    """

    names: Texts
    shapes: np.ndarray

    @classmethod
    def of(cls, names: Texts, shapes: np.ndarray) -> tuple[Labels, np.ndarray]:
        """Make the table from the name and shape of each launch. Returns the table, and the row of each launch in it, int32
        [N].
        """
        rows = np.concatenate([names.numbers[:, None], shapes], axis=1)
        first, which = distinct_rows(rows)
        order = np.argsort(first)
        rank = np.empty(len(first), dtype=np.int32)
        rank[order] = np.arange(len(first), dtype=np.int32)
        first = first[order]
        return cls(Texts(names.distinct, names.numbers[first]), shapes[first]), rank[which]


_SIZES: dict[str, Any] = {
    "grid": slice(0, 3),
    "block": slice(3, 6),
    "registers": 6,
    "shared_memory": 7,
}  # columns of Labels.shapes
NO_SHAPE = np.array([0, 0, 0, 0, 0, 0, UNKNOWN, UNKNOWN], dtype=np.int64)
NO_LABELS = Labels(NO_TEXTS, NO_SHAPE[None][:0])


@dataclass(frozen=True, eq=False)
class Program:
    """Table of the launches of a workload, one row each, in program order. The launches of a process are consecutive.

    All readers return a Program: of trace lists, traces, profiles, simulator outputs, and a simulator's descriptions of its
    launches. Sampling and reports use it. A column that is None, empty or has no entry is unknown.

    Attributes:
        counts: number of launches of each process.
        seed: the user's seed, from which each launch gets its random number.
        lists: trace list of each process, or its folder.
        labels: distinct pairs of kernel name and shape.
        label: int32 [N], row of `labels` of each launch; -1 where unknown.
        traces: trace file of each launch; empty text if the launch was not traced.
        contents: distinct contents of the traces, if traces were read.
        content: int32 [N], row of `contents` of each launch, or else a number that a simulator gives to launches with the same
            work; -1 where unknown.
        errors: reason for each launch whose trace is unusable.
        unread: reasons why traces could not be opened or read; a second attempt may succeed.
        copies: for each process uint64 [n, 3], copies from host to device: position among the list's commands, address, bytes.
        numbers: int [N], number that the tracer gave each launch; -1 if it has none.
        tracer: simulator whose tracer gave `numbers`.
        listed: int64 [n], ascending indices of the launches in the simulator's list if only some were traced; None: all.
        source: origin of times and counters, as text; empty if there are none.
        duration, start: float64 and int64 [N], nanoseconds; nan and 0 where unknown. Simulations have none.
        counters: float64 [N] by the name in their source; `cycles` for simulations; nan where unknown.
        stream: int64 [N], CUDA stream; -1 where unknown.
        keys: int64 [N], equal for launches that do the same work, as the source states.
        calls: int64 [N], number of the CUDA call that made each launch; all nodes of one replay of a graph have the same.
        graph_nodes: int64 [N], number of the CUDA graph node that each launch is, -1 for none; None if no launch is a node.
        ranges: path of the range (phase, layer, module) that contains each launch, parts separated by "/"; empty text: none.
        processes: number of each process in the source.
        left_out: number of rows that are no kernel launches, by kind.
        remarks: signs of defects in the file, by kind (kernelpoint.admission defines the kinds).
        amounts: float64 [N], work of each launch in any unit, where the simulator describes its launches.
        is_deterministic: True if launches with equal `content` have equal results.
        predictions: predicted counters of each launch by name, from the best available source.
        predictor: model that makes predictions on request, or None.
        embeddings: float32 [S, 256], vector of each instruction sequence; similar sequences have near vectors.
        to_trace: True if the launches that a design draws will be traced later and then simulated.
        measured: True if results are times measured on a GPU, not results of a simulator.
        first_process: index of the first process; above 0 only in a part of a larger program.
        is_part: True for one process of several that are sampled together.

    >>> program = Program((3, 2))
    >>> program.size, program.offsets.tolist()
    (5, [0, 3, 5])
    """

    counts: tuple[int, ...]
    seed: int = 0
    lists: tuple[str, ...] = ()
    labels: Labels = NO_LABELS
    label: np.ndarray = field(default_factory=lambda: _NOTHING)
    traces: Texts = field(default=NO_TEXTS, repr=False)
    contents: Contents | None = None
    content: np.ndarray | None = None
    errors: Mapping[int, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    copies: tuple[np.ndarray, ...] = field(default=(), repr=False)
    numbers: np.ndarray | None = None
    tracer: str = ""
    listed: np.ndarray | None = None
    source: str = ""
    duration: np.ndarray = field(default_factory=lambda: _NOTHING)
    start: np.ndarray = field(default_factory=lambda: _NOTHING)
    counters: Mapping[str, np.ndarray] = field(default_factory=dict)
    stream: np.ndarray = field(default_factory=lambda: _NOTHING)
    keys: np.ndarray | None = None
    calls: np.ndarray | None = None
    graph_nodes: np.ndarray | None = None
    ranges: Texts = field(default=NO_TEXTS, repr=False)
    processes: tuple[int, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, Remark] = field(default_factory=dict)
    amounts: np.ndarray | None = None
    is_deterministic: bool = False
    predictions: Repeated | None = None
    predictor: Predictor | None = None
    embeddings: np.ndarray | None = None
    to_trace: bool = False
    measured: bool = False
    first_process: int = 0
    is_part: bool = False
    _fingerprints: dict[tuple[Any, ...], Fingerprint] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "traces", Texts.of(self.traces))
        put(self, "processes", self.processes or tuple(range(len(self.counts))))
        for name, (unknown, kind) in _FILLED.items():
            if getattr(self, name) is _NOTHING:
                put(self, name, np.broadcast_to(kind(unknown), (self.size,)))  # takes no memory

    @classmethod
    def of(
        cls, names: Sequence[str], grid: np.ndarray | None = None, block: np.ndarray | None = None, **columns: Any
    ) -> Program:
        """Make the program (table of launches) of one process from names and shapes.

        Args:
            names: kernel name of each launch.
            grid: int [N, 3], CTAs in each direction.
            block: int [N, 3], threads of a CTA in each direction.
            columns: further columns of Program.

        >>> shapes = np.array([[2, 1, 1], [4, 1, 1], [2, 1, 1]])
        >>> Program.of(["gemm", "gemm", "gemm"], shapes, shapes).signature.tolist()
        [0, 1, 0]
        """
        shapes = np.tile(NO_SHAPE, (len(names), 1))
        for name, sizes in (("grid", grid), ("block", block)):
            if sizes is not None:
                shapes[:, _SIZES[name]] = sizes
        labels, label = Labels.of(Texts.of(names), shapes)
        return cls((len(names),), labels=labels, label=label, **columns)

    # ---- size, processes, identity --------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of launches N."""
        return sum(self.counts)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Index of the first launch of each process, then the number of all launches: int64 [processes + 1]."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def process(self) -> np.ndarray:
        """Index of the process of each launch, int64 [N]."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def u(self) -> np.ndarray:
        """Random number of each launch in [0, 1), float64 [N], the same in every run with this seed."""
        numbered = enumerate(self.counts, self.first_process)
        return np.concatenate([permanent_random_numbers(self.seed, p, n) for p, n in numbered])

    @property
    def fingerprint(self) -> Fingerprint:
        """Hashes that identify the launches. Trace files count as they were at the first call."""
        key = self.counts, id(self.traces)
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(self.counts, self.traces)
        return self._fingerprints[key]

    # ---- labels ---------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> Texts:
        """Kernel name of each launch; empty text where it is not known.

        >>> from kernelpoint.traces import read_trace_list, scan_launches
        >>> scan_launches(read_trace_list("traces/kernelslist.g").traces).names.distinct
        ('axpy_f32',)
        """
        return Texts(self.labels.names.distinct, np.append(self.labels.names.numbers, np.int32(-1))[self.label])

    @property
    def is_named(self) -> bool:
        """True if any launch has a name."""
        return bool((self.labels.names.numbers >= 0).any())

    @property
    def kernels(self) -> np.ndarray:
        """Number of each launch's kernel, int64 [N]: equal for equal names; -1 if the name is not known; 0 for all if no name
        is.

        >>> Program.of(["gemm", "", "gemm"]).kernels.tolist(), Program((2,)).kernels.tolist()
        ([0, -1, 0], [0, 0])
        """
        numbers = self.names.numbers.astype(np.int64)
        return numbers if (numbers >= 0).any() else np.zeros(self.size, dtype=np.int64)

    @property
    def grid(self) -> np.ndarray:
        """CTAs of each launch in each direction, int64 [N, 3]; zeros where unknown."""
        return self._shape("grid")

    @property
    def block(self) -> np.ndarray:
        """Threads of a CTA of each launch in each direction, int64 [N, 3]; zeros where unknown."""
        return self._shape("block")

    @property
    def registers(self) -> np.ndarray:
        """Registers per thread of each launch, int64 [N]; -1 where unknown."""
        return self._shape("registers")

    @property
    def shared_memory(self) -> np.ndarray:
        """Bytes of shared memory per CTA, static and dynamic together, int64 [N]; -1 where unknown."""
        return self._shape("shared_memory")

    def _shape(self, name: str) -> np.ndarray:
        return np.append(self.labels.shapes, NO_SHAPE[None], axis=0)[:, _SIZES[name]][self.label]

    @cached_property
    def kinds(self) -> np.ndarray:
        """Number of each launch's kind, int64 [N]: equal for launches with an equal key, or, without keys, with equal name,
        grid and block.
        """
        if self.keys is not None:
            return self.keys
        names, shapes = np.append(self.labels.names.numbers, -1), np.append(self.labels.shapes, NO_SHAPE[None], axis=0)
        return distinct_rows(np.concatenate([names[:, None], shapes[:, :6]], axis=1))[1][self.label]

    @cached_property
    def signature(self) -> np.ndarray:
        """Number of each launch's signature, int64 [N]: equal for launches with equal name, shape and key, in the order of
        first launches.
        """
        columns = [self.label] if self.keys is None else [self.label, self.keys]
        first, which = distinct_rows(np.stack(columns, axis=1))
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[which]

    @property
    def communication(self) -> Texts:
        """Communication library of each launch; empty text for launches that compute."""
        names = self.names
        libraries = Texts.of([*map(communication, names.distinct), ""])
        return Texts(libraries.distinct, libraries.numbers[names.numbers])

    # ---- traces and contents --------------------------------------------------------------------------------------------

    @property
    def has_traces(self) -> bool:
        """True if the trace of every launch is on disk."""
        return 0 < len(self.traces) == self.size and self.listed is None

    @cached_property
    def traced(self) -> np.ndarray:
        """True for launches that have a trace and can be simulated, bool [N]."""
        traced = np.full(self.size, self.listed is None)
        if self.listed is not None:
            traced[self.listed] = True
        return traced

    @property
    def read(self) -> Contents:
        """Distinct contents of the traces.

        Raises:
            ValueError: no trace was read.
        """
        if self.contents is None:
            raise ValueError("no trace of this program was read, so its contents are not known")
        return self.contents

    @property
    def stream_ids(self) -> np.ndarray:
        """Number of each launch's instruction sequence, int32 [N], in order of first appearance; -1 if the trace is
        unusable.
        """
        return self.read.stream_ids[self.content]

    @property
    def first_launches(self) -> np.ndarray:
        """Index of the first launch with each distinct instruction sequence, int64 [S]."""
        return first_of_each(self.stream_ids)

    def count(self, name: str) -> np.ndarray:
        """Count of each launch's trace, int64 [N]. `name` is a name in COUNTS.

        >>> from kernelpoint.traces import read_trace_list, scan_launches
        >>> scan_launches(read_trace_list("traces/kernelslist.g").traces).count("instructions").tolist()
        [1088, 1088, 1088, 1088, 1088, 1088]
        """
        return self.read.count(name)[self.content]

    def launch_at(self, process: int, place: int) -> int:
        """Index of the launch at position `place` in the list of the simulator process with index `process`.

        A negative position stands for the start or the end of the list and is returned unchanged.

        Raises:
            HostError: the list is shorter.

        >>> part = Program((10,), listed=np.array([3, 5, 9]))
        >>> part.launch_at(0, 1), part.place_of(9), part.launch_at(0, -2)
        (5, 2, -2)
        """
        if self.listed is None or place < 0:
            return place
        if not place < len(self.listed):
            raise HostError(f"launch index of process {process}: got {place}; the list has {len(self.listed)} launches")
        return int(self.listed[place])

    def place_of(self, launch: int) -> int:
        """Position in the simulator's list of the launch with index `launch`. A negative number stands for the start or the end
        of the list and is returned unchanged.
        """
        return launch if self.listed is None or launch < 0 else int(np.searchsorted(self.listed, launch))

    # ---- times, counters, amounts of work -------------------------------------------------------------------------------

    @property
    def has_times(self) -> bool:
        """True if any launch has a duration or cycles."""
        return bool(np.isfinite(self.duration).any()) or "cycles" in self.counters

    @cached_property
    def time(self) -> np.ndarray:
        """Duration of each launch in ns, float64 [N]; cycles if no launch has a duration.

        Raises:
            ProfileError: the launches have neither durations nor cycles.
        """
        if np.isfinite(self.duration).any():
            return self.duration
        if "cycles" in self.counters:
            return self.counters["cycles"]
        raise ProfileError(f"{self.source}: no launch has a duration or cycles; give a profile that has one of them")

    @property
    def instructions(self) -> np.ndarray | None:
        """Instructions of each launch, float64 [N], from the traces, or else from the first counter in INSTRUCTIONS; nan where
        unknown. None if there are neither.
        """
        if self.contents is not None:
            return np.where(self.stream_ids < 0, np.nan, self.count("instructions").astype(float))
        return next((self.counters[name] for name in INSTRUCTIONS if name in self.counters), None)

    # ---- other programs of this one -------------------------------------------------------------------------------------

    def take(self, rows: np.ndarray) -> Program:
        """Program with some of the launches.

        The division into processes is kept if `rows` lists the launches of each process together, in the order of processes.
        Host-to-device copies and the positions of launches in trace lists are dropped.

        Args:
            rows: index of each launch to take; -1 makes a launch without any information.
        """
        process = self.process[np.maximum(rows, 0)] if len(self.counts) > 1 else rows[:0]
        is_ordered = len(process) > 0 and not (np.diff(process) < 0).any()
        counts = np.bincount(process, minlength=len(self.counts)).tolist() if is_ordered else [len(rows)]
        columns: dict[str, Any] = {name: _picked(getattr(self, name), rows, unknown) for name, (unknown, _) in _FILLED.items()}
        for name in _OPTIONAL:
            column = getattr(self, name)
            columns[name] = None if column is None else _picked(column, rows, UNKNOWN)
        for name in ("traces", "ranges"):
            texts = getattr(self, name)
            columns[name] = Texts(texts.distinct, _picked(texts.numbers, rows, -1)) if len(texts) else texts
        predictions = self.predictions
        if predictions is not None:
            predictions = predictions.take(np.maximum(rows, 0)).where(rows >= 0, math.nan)
        launches = enumerate(rows.tolist()) if self.errors else ()
        return replace(
            self,
            counts=tuple(counts),
            processes=self.processes if is_ordered else (),
            errors={launch: self.errors[row] for launch, row in launches if row in self.errors},
            counters=self._counters_of(rows),
            predictions=predictions,
            copies=(),
            listed=None,
            **columns,
        )

    def _counters_of(self, rows: np.ndarray) -> Mapping[str, np.ndarray]:
        columns = self.counters if isinstance(self.counters, Repeated) else Repeated(None, self.counters)
        matched = columns.take(np.maximum(rows, 0)).where(rows >= 0, math.nan)
        return matched if isinstance(self.counters, Repeated) else dict(matched)

    def part(self, number: int) -> Program:
        """Program of one process, given by its index. Launches keep their random numbers; trace contents are numbered again."""
        if len(self.counts) == 1:
            return replace(self, predictor=None)
        first, last = self.offsets[number : number + 2].tolist()
        part = self.take(np.arange(first, last))
        contents, content, embeddings = self.contents, part.content, self.embeddings
        if contents is not None and content is not None:
            kept, content = np.unique(content, return_inverse=True)
            contents, streams = contents.take(kept)
            embeddings = None if embeddings is None else embeddings[streams]
        return replace(
            part,
            counts=(last - first,),
            processes=(),
            contents=contents,
            content=None if content is None else content.astype(np.int32),
            traces=part.traces.take(slice(None)),
            copies=self.copies[number : number + 1],
            embeddings=embeddings,
            predictor=None,  # the model runs over whole programs
            first_process=self.first_process + number,
            is_part=True,
        )

    def of_process(self, number: int) -> Program:
        """Program of one process, given by its number in the source.

        Raises:
            ProfileError: the process has no launches; the message names the processes that have.
        """
        if number not in self.processes:
            raise ProfileError(f"{self.source}: process {number} has no launch; allowed: {', '.join(map(str, self.processes))}")
        rows = np.flatnonzero(self.process == self.processes.index(number))
        return replace(self.take(rows), counts=(len(rows),), processes=(number,))

    def without_communication(self) -> Program:
        """Program without the kernels of communication libraries such as NCCL. `left_out` has their number for each library."""
        libraries = self.communication
        counts = sorted(zip(libraries.distinct, libraries.counts.tolist(), strict=True))
        dropped = {f"{library} kernel": count for library, count in counts if count}
        if not dropped:
            return self
        kept = self.take(np.flatnonzero(libraries.numbers < 0))
        return replace(kept, left_out={**self.left_out, **dropped})

    def without_results(self, counters: Collection[str] = ()) -> Program:
        """Program with names, shapes and instruction counts, but without times and without counters other than the given
        ones.
        """
        kept = {name: values for name, values in self.counters.items() if name in INSTRUCTIONS or name in counters}
        return replace(self, start=_NOTHING, duration=_NOTHING, counters=kept)

    def with_labels_of(self, light: Program) -> Program:
        """Program with the times and counters of this one, and with the names, shapes and streams of `light`. Row i of both
        must be the same launch.

        It serves profiles of two levels: a light profile with every launch, and a detailed profile with some of them. Times of
        the light profile are not taken.
        """
        return replace(self, labels=light.labels, label=light.label, stream=light.stream)

    def with_times_of(self, profile: Program) -> Program:
        """Program with the names, shapes, times and counters of a profile. Row i of the profile must be launch i. Launches that
        the simulator describes keep their names and shapes.
        """
        columns = ["stream", "source", "duration", "start", "counters", "calls", "graph_nodes", "ranges"]
        columns += ["labels", "label", "keys"] if self.amounts is None else []
        return replace(self, **{name: getattr(profile, name) for name in columns})

    def with_contents_of(self, scan: Program) -> Program:
        """Program with the names, shapes and trace contents that `scan` read from its traces."""
        columns = ("labels", "label", "contents", "content", "errors")
        unread = tuple(dict.fromkeys((*self.unread, *scan.unread)))
        return replace(
            self, unread=unread, remarks={**self.remarks, **scan.remarks}, **{name: getattr(scan, name) for name in columns}
        )

    def hash(self) -> str:
        """Hash of the names, shapes, times and counters of all launches. The name of their source does not matter."""
        digest = hashlib.blake2b("\n".join(self.labels.names.distinct).encode(), digest_size=16)
        keys = () if self.keys is None else (self.keys,)
        labels = self.labels.names.numbers, self.labels.shapes, self.label
        for values in (*labels, self.stream, self.start, self.duration, *keys):
            digest.update(np.ascontiguousarray(values).tobytes())
        for name in sorted(self.counters):
            digest.update(name.encode() + self.counters[name].tobytes())
        return digest.hexdigest()


# Value of an unknown entry of each column that every program has, and its type; columns of int [N] that it may have.
_FILLED: dict[str, tuple[float, Any]] = {
    "label": (UNKNOWN, np.int32),
    "stream": (UNKNOWN, np.int64),
    "start": (0, np.int64),
    "duration": (math.nan, np.float64),
}
_OPTIONAL = ("keys", "calls", "graph_nodes", "numbers", "content", "amounts")


def _picked(column: np.ndarray, rows: np.ndarray, unknown: float) -> np.ndarray:
    """Take rows of a column; a row of -1 gives `unknown`."""
    if not len(column) or not any(column.strides):  # unknown for every launch
        return np.broadcast_to(column.dtype.type(unknown), (len(rows), *column.shape[1:]))
    picked = column[np.maximum(rows, 0)]
    picked[rows < 0] = unknown
    return picked


def fingerprint(counts: Sequence[int], traces: Sequence[str]) -> Fingerprint:
    """Compute the hashes that identify the launches of all processes.

    Args:
        counts: number of launches of each process.
        traces: trace file of every launch; empty if no list is on disk.

    >>> fingerprint([3], []) == fingerprint([3], []) != fingerprint([2, 1], [])
    True
    """
    digest = hashlib.blake2b(repr(tuple(counts)).encode(), digest_size=16)
    versions = np.zeros(0, dtype=np.int64)
    if len(traces):
        from kernelpoint import _native  # which a run without lists does not need

        texts = Texts.of(traces)
        distinct = list(texts.distinct)
        states = _native.stat_many(distinct)
        lines = [
            f"{_native.launch_name(path)}\0{size}\0{time}\n".encode()
            for path, size, time in zip(distinct, states[:, 0].tolist(), states[:, 1].tolist(), strict=True)
        ]
        digest.update(b"".join(lines))
        digest.update(np.ascontiguousarray(texts.numbers, dtype="<i4").tobytes())
        versions = states[:, 2]
    launches = digest.hexdigest()
    digest.update(versions.tobytes())
    return Fingerprint(launches, digest.hexdigest())
