"""Data-dependent kernels: gather, sparse matrix-vector product, histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint_lab.synth.families.common import (
    TYPES,
    address,
    arithmetic,
    blocks,
    bounded_index,
    fetch,
    put,
    strides,
    thread_index,
)
from kernelpoint_lab.synth.launch import Launch, make_launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.memory import Memory, Tensor


@dataclass(frozen=True)
class Rows:
    """A sparse matrix or graph in compressed rows: the arrays, and the tensors that hold them on the device."""

    starts: np.ndarray  # int64 [rows + 1]
    columns: np.ndarray  # int64 [entries]
    starts_at: Tensor
    columns_at: Tensor

    @classmethod
    def place(cls, starts: np.ndarray, columns: np.ndarray, memory: Memory) -> Rows:
        """Put a matrix or graph into device memory; a graph without edges gets one unused entry."""
        columns = columns if len(columns) else np.zeros(1, dtype=np.int64)
        return cls(starts, columns, memory.tensor(len(starts)), memory.tensor(len(columns)))

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1


def gather(table: Tensor, indices: Tensor, target: Tensor, index: np.ndarray, columns: int) -> Launch:
    """target[r, :] = table[index[r], :]: a thread per element; `index` holds the values of `indices`."""
    width = table.width
    count = len(index) * columns

    def program(w: Warps) -> None:
        element = bounded_index(w, count)
        w.op("IMAD.HI.U32", "row", "i", "RZ")
        w.op("IMAD", "column", "row", "i")
        row = np.minimum(element // columns, len(index) - 1)
        fetch(w, "index", "p", "row", indices, row)
        w.op("IMAD", "index", "index", "column")
        fetch(w, "x", "a", "index", table, index[row] * columns + element % columns)
        put(w, "x", "out", "i", target, element)

    return make_launch(
        "gather", f"gather_rows_{TYPES[width]}", program, (blocks(count, 256),), (256,), [table, indices, target],
        data=[index], rows=len(index), columns=columns,
    )  # fmt: skip


def spmv(matrix: Rows, entries: Tensor, x: Tensor, y: Tensor, block: int = 128) -> Launch:
    """y = A x with A in compressed rows, a thread per row: lanes leave the loop as their rows end."""
    width = entries.width

    def program(w: Warps) -> None:
        row = bounded_index(w, matrix.count)
        row = np.minimum(row, matrix.count - 1)
        fetch(w, "entry", "p", "i", matrix.starts_at, row)
        w.load("LDG.E.SYS", "end", "p", matrix.starts_at.at(row + 1))
        w.op("MOV", "sum", "RZ") if width < 8 else w.op("CS2R", "sum")
        trips = matrix.starts[row + 1] - matrix.starts[row]
        for step in strides(w, trips, "entry", "entry", "end"):
            entry = np.minimum(matrix.starts[row] + step, len(matrix.columns) - 1)
            fetch(w, "column", "a", "entry", matrix.columns_at, entry)
            fetch(w, "value", "v", "entry", entries, entry)
            fetch(w, "factor", "b", "column", x, matrix.columns[entry])
            w.op(arithmetic("FMA", width), "sum", "value", "factor", "sum")
        put(w, "sum", "out", "i", y, row)

    return make_launch(
        "spmv", f"spmv_csr_scalar_{TYPES[width]}", program, (blocks(matrix.count, block),), (block,),
        [matrix.starts_at, matrix.columns_at, entries, x, y], rows=matrix.count, entries=len(matrix.columns),
    )  # fmt: skip


def histogram(source: Tensor, counts: Tensor, bins: np.ndarray, total: int, ctas: int, block: int = 256) -> Launch:
    """Counts per bin: shared-memory atomics, then one global reduction per bin and CTA.

    `bins` holds the bin of each element, `total` the number of bins.
    """
    count = len(bins)

    def clear_or_flush(w: Warps, flush: bool) -> None:
        trips = np.clip(-(-(total - w.thread) // block), 0, None)
        w.op("MOV", "bin", "tid")
        for step in strides(w, trips, "bin"):
            entry = w.thread + block * step
            if flush:
                w.load("LDS.U", "value", "bin", 4 * entry)
                address(w, "c", "bin")
                w.store("RED.E.ADD.STRONG.GPU", "c", "value", counts.at(entry))
            else:
                w.store("STS", "bin", "RZ", 4 * entry)

    def program(w: Warps) -> None:
        index = thread_index(w)
        clear_or_flush(w, flush=False)
        w.op("BAR.SYNC")
        trips = np.clip(-(-(count - index) // (ctas * block)), 0, None)
        for step in strides(w, trips, "i"):
            element = np.minimum(index + step * ctas * block, count - 1)
            fetch(w, "x", "a", "i", source, element)
            w.op("SHF.L.U32", "x", "x", "RZ")
            w.atomic("ATOMS.ADD", "old", ("x", "RZ"), 4 * bins[element])
        w.op("BAR.SYNC")
        clear_or_flush(w, flush=True)

    return make_launch(
        "histogram", "histogram_shared_i32", program, (ctas,), (block,), [source, counts], data=[bins],
        shared=4 * total, n=count, bins=total,
    )  # fmt: skip
