"""All launches of a workload, one row each, read once and remembered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from kernelpoint.repeated import Texts, first_of_each
from kernelpoint.traces.scan import COUNTS, DEFECTS, LaunchShape


@dataclass(frozen=True, eq=False)
class ScanTable:
    """Table of N launches with what their traces say, read without simulating; row i is launch index i.

    Rows of launches in `errors` have -1 as ids and 0 as counts. Launches of equal traces have one content, and its record.

    Attributes:
        stream_ids: int32 [N], numbered in order of first appearance.
        shape_ids: int32 [N], rows of `shapes`, numbered likewise.
        kernel_ids: int32 [N], rows of `kernel_names`, numbered likewise.
        records: of scan.RECORD [C], for each content; see :class:`~kernelpoint.traces.Work` for its meaning.
        record_ids: int32 [N], the content of each launch: rows of `records` and `contents`.
        contents: uint64 [C, 3]: two numbers that only equal traces have, and the bytes of text.
        streams: void16 [S], the streams' hashes.
        shapes: the distinct shapes.
        kernel_names: the distinct kernel names.
        errors: launch index -> why its trace cannot be used.
        paths: the launches' traces.
        values: void16 [N], the hash of each trace's operand values, zeros where it has none; empty where none has any.

    Example:
        >>> from kernelpoint.traces import ArtefactCache, scan_launches
        >>> table = scan_launches(["traces/kernel-1.traceg"] * 3, cache=ArtefactCache("cache"))
        >>> table.stream_ids.tolist(), len(table.kernel_names)
        ([0, 0, 0], 1)
    """

    stream_ids: np.ndarray
    shape_ids: np.ndarray
    kernel_ids: np.ndarray
    records: np.ndarray
    record_ids: np.ndarray
    contents: np.ndarray
    streams: np.ndarray
    shapes: tuple[LaunchShape, ...]
    kernel_names: tuple[str, ...]
    errors: dict[int, str]
    paths: Texts = field(repr=False)
    values: np.ndarray = field(default_factory=lambda: np.zeros(0, "V16"), repr=False)

    def __len__(self) -> int:
        return len(self.stream_ids)

    @property
    def counts(self) -> np.ndarray:
        """int64 [N, 9]: counts of each launch, columns as in scan.COUNTS."""
        return self.records["counts"][self.record_ids]

    @property
    def by_unit(self) -> np.ndarray:
        """int64 [N, 10]: warp instructions by unit, columns as in UNITS."""
        return self.records["by_unit"][self.record_ids]

    def defects(self, name: str) -> np.ndarray:
        """int64 [N]: number of defects of one kind (scan.DEFECTS) in each launch's trace."""
        return self.records["defects"][:, DEFECTS.index(name)][self.record_ids]

    @property
    def architectures(self) -> np.ndarray:
        """int64 [N]: SASS version of each launch's code (70: sm_70); 0 if the trace is unusable."""
        return self.records["architecture"][self.record_ids]

    def stream_counts(self) -> np.ndarray:
        """int64 [S, 9]: counts of the first launch of each instruction sequence."""
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
        """Hash of a launch's instruction sequence, 32 hexadecimal digits; None if its trace is unusable."""
        stream = int(self.stream_ids[launch])
        return None if stream < 0 else self.streams[stream].tobytes().hex()

    def stream_hashes(self) -> list[str]:
        """Hash of each instruction sequence, by its id."""
        return [stream.tobytes().hex() for stream in self.streams]

    def graph_keys(self) -> list[str]:
        """Key of the graph of each instruction sequence, 32 hexadecimal digits: equal keys, equal graphs.

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
        """Kernel name of the first launch of each instruction sequence."""
        return [self.kernel_names[k] for k in self.kernel_ids[self.first_launches()]]

    def first_launches(self) -> np.ndarray:
        """int64 [S]: first launch of each instruction sequence."""
        return first_of_each(self.stream_ids)

    def part(self, first: int, last: int) -> tuple[ScanTable, np.ndarray]:
        """Table of the launches `first` to `last` - 1, and int64 [s], the ids in this table of the instruction sequences that
        occur there.

        Streams and contents are numbered again, in the same order; shapes and kernel names keep their numbers.
        """
        if (first, last) == (0, len(self)):
            return self, np.arange(len(self.streams))
        ids = self.stream_ids[first:last]
        kept, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
        streams = np.full(len(ids), -1, dtype=np.int32)
        streams[ids >= 0] = renumbered
        records = np.unique(self.record_ids[first:last])
        table = replace(
            self,
            stream_ids=streams,
            shape_ids=self.shape_ids[first:last],
            kernel_ids=self.kernel_ids[first:last],
            records=self.records[records],
            record_ids=np.searchsorted(records, self.record_ids[first:last]).astype(np.int32),
            contents=self.contents[records],
            streams=self.streams[kept],
            errors={launch - first: why for launch, why in self.errors.items() if first <= launch < last},
            paths=self.paths[first:last],
            values=self.values[first:last],
        )
        return table, kept.astype(np.int64)

    def _count(self, name: str) -> np.ndarray:
        return self.records["counts"][:, COUNTS.index(name)][self.record_ids]
