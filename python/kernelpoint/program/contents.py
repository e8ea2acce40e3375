"""Distinct contents (traces) of a program, each read once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from kernelpoint.repeated import first_of_each

# Units that execute instructions, in the order of Work.by_unit (plugin/native/trace/opcode.h).
UNITS = (
    "integer",
    "single_precision",
    "double_precision",
    "special_function",
    "tensor",
    "move",
    "control",
    "barrier",
    "memory",
    "other",
)

# Names of the counts in a record, in order; see _native.pyi.
COUNTS = (
    "instructions",
    "thread_instructions",
    "ctas",
    "warps",
    "global_accesses",
    "shared_accesses",
    "sectors",
    "bytes",
    "unread_instructions",
)
# Names of the defects of a trace, in the order of a record; see _native.pyi.
DEFECTS = (
    "zero_addresses",
    "missing_warps",
    "empty_warps",
    "missing_barriers",
    "repeated_ctas",
    "after_exit",
    "missing_exits",
)
# One trace: stream hash, hash of operand values, counts, instructions by unit, defects, architecture of its code.
RECORD = np.dtype(
    [
        ("stream", "V16"),
        ("values", "V16"),
        ("counts", "<i8", (len(COUNTS),)),
        ("by_unit", "<i8", (len(UNITS),)),
        ("defects", "<i8", (len(DEFECTS),)),
        ("architecture", "<i8"),
    ]
)


@dataclass(frozen=True, eq=False)
class Contents:
    """Table of the C distinct trace contents of a program, in the order of their first launches.

    Launches with byte-equal traces share a content, so each trace is evaluated once. Contents with the same instructions and
    the same address strides share an instruction sequence (stream), whatever the base addresses.

    Attributes:
        records: RECORD [C], counts and defects of each content; zeros if its trace is unusable.
        keys: uint64 [C, 3], two hash values and the size of the text in bytes, which identify the content.
        traces: trace file of each content.
        stream_ids: int32 [C], index of the instruction sequence of each content, in order of first appearance; -1 if the trace
            is unusable.

    >>> from kernelpoint.traces import scan_launches
    >>> contents = scan_launches(["traces/kernel-1.traceg"] * 3).contents
    >>> len(contents), contents.count("ctas").tolist()
    (1, [8])
    """

    records: np.ndarray
    keys: np.ndarray
    traces: tuple[str, ...]
    stream_ids: np.ndarray

    def __len__(self) -> int:
        return len(self.records)

    def count(self, name: str) -> np.ndarray:
        """Count of each content's trace, int64 [C]. `name` is a name in COUNTS."""
        return self.records["counts"][:, COUNTS.index(name)]

    def defects(self, name: str) -> np.ndarray:
        """Number of defects of one kind in each content's trace, int64 [C]. `name` is a name in DEFECTS."""
        return self.records["defects"][:, DEFECTS.index(name)]

    @property
    def architectures(self) -> np.ndarray:
        """Architecture of the code of each content, int64 [C] (70: sm_70); 0 if the trace is unusable."""
        return self.records["architecture"]

    @property
    def of_streams(self) -> np.ndarray:
        """Index of the first content with each distinct instruction sequence, int64 [S]."""
        return first_of_each(self.stream_ids)

    def stream_hashes(self) -> list[str]:
        """Hash of each instruction sequence, 32 hexadecimal digits."""
        return [stream.tobytes().hex() for stream in self.records["stream"][self.of_streams]]

    def graph_keys(self) -> list[str]:
        """Key of each distinct instruction sequence, 32 hexadecimal digits. Sequences with equal keys have equal graphs, the
        input of the encoder.

        The key is a hash of the sequence and of the operand values (if recorded) in the first trace that has it. Model: that
        trace represents all others with the sequence, because they execute the same instructions with the same strides.
        """
        values = [value.tobytes() for value in self.records["values"][self.of_streams]]
        return [
            hashlib.blake2b(bytes.fromhex(stream) + value, digest_size=16).hexdigest() if any(value) else stream
            for stream, value in zip(self.stream_hashes(), values, strict=True)
        ]

    def take(self, rows: np.ndarray) -> tuple[Contents, np.ndarray]:
        """Table of some of the contents.

        Args:
            rows: int64, ascending indices of the contents.

        Returns:
            The table, in which instruction sequences are numbered again in the same order; and int64 [s], the old numbers of
            these sequences.
        """
        ids = self.stream_ids[rows]
        kept, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
        streams = np.full(len(ids), -1, dtype=np.int32)
        streams[ids >= 0] = renumbered
        traces = tuple(self.traces[row] for row in rows.tolist())
        part = replace(self, records=self.records[rows], keys=self.keys[rows], traces=traces, stream_ids=streams)
        return part, kept.astype(np.int64)
