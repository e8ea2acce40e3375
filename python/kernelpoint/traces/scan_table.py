"""All launches of a workload, one row each, read once and remembered."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernelpoint.pool import Pool
from kernelpoint.traces.cache import COUNTS, TraceCache
from kernelpoint.traces.reading import Log, Progress, read_files
from kernelpoint.traces.scan import LaunchShape


@dataclass(frozen=True, eq=False)
class ScanTable:
    """Table of N launches, read without simulating any; row i is launch index i.

    Rows of launches in `errors` hold -1 as ids and 0 as counts. Launches of one file share its record.

    Attributes:
        stream_ids: int32 [N], numbered in order of first appearance.
        shape_ids: int32 [N], rows of `shapes`, numbered likewise.
        kernel_ids: int32 [N], rows of `kernel_names`, numbered likewise.
        records: what was read of each file, of cache.RECORD [F]; see :class:`~kernelpoint.traces.Work` for its meaning.
        record_ids: int32 [N], rows of `records`.
        streams: void16 [S], the streams' hashes.
        shapes: the distinct shapes.
        kernel_names: the distinct kernel names.
        errors: launch index -> why its trace cannot be used.
        paths: the launches' traces.
        values: void16 [N], the hash of each trace's operand values, zeros where it has none; empty where none has any.

    Example:
        >>> table = scan_launches(["traces/kernel-1.traceg"] * 3, cache=TraceCache("cache"))
        >>> table.stream_ids.tolist(), len(table.kernel_names)
        ([0, 0, 0], 1)
    """

    stream_ids: np.ndarray
    shape_ids: np.ndarray
    kernel_ids: np.ndarray
    records: np.ndarray
    record_ids: np.ndarray
    streams: np.ndarray
    shapes: tuple[LaunchShape, ...]
    kernel_names: tuple[str, ...]
    errors: dict[int, str]
    paths: tuple[str, ...] = field(repr=False)
    values: np.ndarray = field(default_factory=lambda: np.zeros(0, "V16"), repr=False)

    def __len__(self) -> int:
        return len(self.stream_ids)

    @property
    def counts(self) -> np.ndarray:
        """int64 [N, 8]: columns as in cache.COUNTS."""
        return self.records["counts"][self.record_ids]

    @property
    def by_unit(self) -> np.ndarray:
        """int64 [N, 10]: warp instructions by unit, columns as in UNITS."""
        return self.records["by_unit"][self.record_ids]

    def stream_counts(self) -> np.ndarray:
        """int64 [S, 8]: counts of every stream's first launch, by stream id."""
        return self.records["counts"][self.record_ids[self.first_launches()]]

    @property
    def instructions(self) -> np.ndarray:
        """int64 [N]: warp instructions."""
        return self._count("instructions")

    @property
    def thread_instructions(self) -> np.ndarray:
        """int64 [N]: active lanes summed over warp instructions."""
        return self._count("thread_instructions")

    @property
    def ctas(self) -> np.ndarray:
        """int64 [N]: CTAs."""
        return self._count("ctas")

    @property
    def warps(self) -> np.ndarray:
        """int64 [N]: warps."""
        return self._count("warps")

    @property
    def global_accesses(self) -> np.ndarray:
        """int64 [N]: warp instructions that access global memory."""
        return self._count("global_accesses")

    @property
    def shared_accesses(self) -> np.ndarray:
        """int64 [N]: warp instructions that access shared memory."""
        return self._count("shared_accesses")

    @property
    def sectors(self) -> np.ndarray:
        """int64 [N]: 32-byte sectors of global memory, summed over accesses."""
        return self._count("sectors")

    @property
    def bytes(self) -> np.ndarray:
        """int64 [N]: bytes requested from global memory."""
        return self._count("bytes")

    def stream_hash(self, launch: int) -> str | None:
        """The stream of a launch as 32 hexadecimal digits; None where its trace cannot be used."""
        stream = int(self.stream_ids[launch])
        return None if stream < 0 else self.streams[stream].tobytes().hex()

    def stream_hashes(self) -> list[str]:
        """The hash of every stream, by stream id."""
        return [stream.tobytes().hex() for stream in self.streams]

    def graph_keys(self) -> list[str]:
        """32 hexadecimal digits for every stream, by stream id: equal keys, equal graphs of the streams' first launches.

        The stream's hash; where the first launch's trace has operand values, a hash of that and of the values. ``Model:`` a
        stream is embedded by the values of its first launch: its launches run the same instructions on the same strides, so
        in a simulator of traces they differ in nothing else.
        """
        hashes = self.stream_hashes()
        if not len(self.values):
            return hashes
        values = [value.tobytes() for value in self.values[self.first_launches()]]
        return [
            hashlib.blake2b(bytes.fromhex(stream) + value, digest_size=16).hexdigest() if any(value) else stream
            for stream, value in zip(hashes, values, strict=True)
        ]

    def stream_names(self) -> list[str]:
        """The kernel name of every stream's first launch, by stream id."""
        return [self.kernel_names[k] for k in self.kernel_ids[self.first_launches()]]

    def first_launches(self) -> np.ndarray:
        """int64 [S]: the first launch of every stream."""
        first = np.full(len(self.streams), len(self), dtype=np.int64)
        known = np.flatnonzero(self.stream_ids >= 0)[::-1]
        first[self.stream_ids[known]] = known  # of equal places the last assignment stays
        return first

    def part(self, first: int, last: int) -> tuple[ScanTable, np.ndarray]:
        """The launches `first` to `last` - 1 as a table of their own, and int64 [s], the streams of this one that occur there.

        Streams are numbered anew, in the same order; shapes and kernel names keep their numbers.
        """
        ids = self.stream_ids[first:last]
        kept, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
        streams = np.full(len(ids), -1, dtype=np.int32)
        streams[ids >= 0] = renumbered
        table = replace(
            self,
            stream_ids=streams,
            shape_ids=self.shape_ids[first:last],
            kernel_ids=self.kernel_ids[first:last],
            record_ids=self.record_ids[first:last],
            streams=self.streams[kept],
            errors={launch - first: why for launch, why in self.errors.items() if first <= launch < last},
            paths=self.paths[first:last],
            values=self.values[first:last],
        )
        return table, kept.astype(np.int64)

    def _count(self, name: str) -> np.ndarray:
        return self.records["counts"][:, COUNTS.index(name)][self.record_ids]


def scan_launches(
    paths: Sequence[str],
    cache: TraceCache | None = None,
    progress: Progress | None = None,
    log: Log = lambda text: None,
    threads: int | None = None,
    pool: Pool | None = None,
) -> ScanTable:
    """Read the trace of every launch once; unchanged traces that the cache knows are not read again.

    A trace that cannot be used does not stop the others: it is reported in ``errors``. An interrupted scan (Ctrl-C) goes
    on where it stopped, because the cache is filled as it goes.

    Args:
        paths: the launches' traces, as :func:`~kernelpoint.traces.launch_paths` gives them; a file may repeat.
        cache: by default the user's.
        progress: called with (traces read, traces to read) a few times a second, and may raise to stop the scan.
        log: told what is worth knowing about the cache, and which opcodes and fields of the traces are not known.
        threads: by default as many as this process may use; the result does not depend on it.
        pool: workers that read instead; nor does it on them.

    Example:
        >>> import tempfile
        >>> table = scan_launches(["missing.traceg"], cache=TraceCache(tempfile.mkdtemp()))
        >>> table.errors
        {0: 'missing.traceg: cannot be opened: No such file or directory'}
    """
    rows: dict[str, int] = {}
    row_of_launch = np.fromiter((rows.setdefault(path, len(rows)) for path in paths), dtype=np.int32, count=len(paths))
    files = list(rows)
    own_cache = TraceCache(log=log) if cache is None else cache
    try:
        records, shapes, errors = read_files(
            files, own_cache, progress or _quiet, threads or _usable_threads(), log, pool
        )
    finally:
        if cache is None:
            own_cache.close()
    return _table(paths, row_of_launch, records, shapes, errors)


def _table(
    paths: Sequence[str],
    row_of_launch: np.ndarray,
    records: np.ndarray,
    shapes: list[LaunchShape | None],
    errors: dict[int, str],
) -> ScanTable:
    streams = records["stream"].tolist()
    good = [shape is not None for shape in shapes]
    stream_ids, distinct_streams = _intern([s if ok else None for s, ok in zip(streams, good, strict=True)])
    shape_ids, distinct_shapes = _intern(shapes)
    kernel_of_shape, kernel_names = _intern([shape.kernel_name for shape in distinct_shapes])
    kernel_ids = np.where(shape_ids >= 0, np.append(kernel_of_shape, -1)[shape_ids], -1).astype(np.int32)
    values = records["values"]
    return ScanTable(
        stream_ids=stream_ids[row_of_launch],
        shape_ids=shape_ids[row_of_launch],
        kernel_ids=kernel_ids[row_of_launch],
        records=records,
        record_ids=row_of_launch,
        streams=np.array(distinct_streams, dtype="V16"),
        shapes=tuple(distinct_shapes),
        kernel_names=tuple(kernel_names),
        errors={} if not errors else {i: errors[r] for i, r in enumerate(row_of_launch.tolist()) if r in errors},
        paths=paths if isinstance(paths, tuple) else tuple(paths),
        values=values[row_of_launch] if any(values.tobytes()) else values[:0],
    )


def _intern(values: list) -> tuple[np.ndarray, list]:
    """int32 numbers in order of first appearance, -1 for None; and the distinct values."""
    numbers: dict = {}
    ids = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(ids, dtype=np.int32), list(numbers)


def _usable_threads() -> int:
    return len(os.sched_getaffinity(0))


def _quiet(done: int, total: int) -> None:
    pass
