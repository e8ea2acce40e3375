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
    """Table of the C distinct contents of a program, in the order of their first launches.

    A content is the bytes of a trace. Everything that is computed from a trace is computed once for each. Contents that run the
    same instructions on the same strides have one stream, whatever their buffers.

    Attributes:
        records: RECORD [C], one record for each content; zeros if its trace is unusable.
        keys: uint64 [C, 3], two numbers that only equal traces share, and the size of the text in bytes.
        traces: trace file of each content.
        stream_ids: int32 [C], the instruction sequence of each, numbered in order of first appearance; -1 where the trace is
            unusable.

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
        """int64 [C]: a count of each content, by its name in COUNTS."""
        return self.records["counts"][:, COUNTS.index(name)]

    def defects(self, name: str) -> np.ndarray:
        """int64 [C]: number of defects of one kind (DEFECTS) in each content's trace."""
        return self.records["defects"][:, DEFECTS.index(name)]

    @property
    def architectures(self) -> np.ndarray:
        """int64 [C]: SASS version of each content's code (70: sm_70); 0 if the trace is unusable."""
        return self.records["architecture"]

    @property
    def of_streams(self) -> np.ndarray:
        """int64 [S]: first content of each instruction sequence."""
        return first_of_each(self.stream_ids)

    def stream_hashes(self) -> list[str]:
        """Hash of each instruction sequence, 32 hexadecimal digits."""
        return [stream.tobytes().hex() for stream in self.records["stream"][self.of_streams]]

    def graph_keys(self) -> list[str]:
        """Key of the graph of each instruction sequence, 32 hexadecimal digits: equal keys, equal graphs.

        The stream's hash; where the first content's trace has operand values, a hash of that and of the values. ``Model:`` a
        stream is embedded by the values of its first content: its launches run the same instructions on the same strides, so
        in a simulator of traces they differ in nothing else.
        """
        values = [value.tobytes() for value in self.records["values"][self.of_streams]]
        return [
            hashlib.blake2b(bytes.fromhex(stream) + value, digest_size=16).hexdigest() if any(value) else stream
            for stream, value in zip(self.stream_hashes(), values, strict=True)
        ]

    def take(self, rows: np.ndarray) -> tuple[Contents, np.ndarray]:
        """Table of some contents (int64, ascending), and int64 [s], the instruction sequences of this table that occur there.

        Instruction sequences are numbered again, in the same order.
        """
        ids = self.stream_ids[rows]
        kept, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
        streams = np.full(len(ids), -1, dtype=np.int32)
        streams[ids >= 0] = renumbered
        traces = tuple(self.traces[row] for row in rows.tolist())
        part = replace(self, records=self.records[rows], keys=self.keys[rows], traces=traces, stream_ids=streams)
        return part, kept.astype(np.int64)
