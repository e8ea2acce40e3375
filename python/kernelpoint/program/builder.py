"""Programs made launch by launch, as readers of files and tests make them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.program.program import UNKNOWN, Labels, Program, Remark
from kernelpoint.repeated import Texts

LARGEST = 2**63 - 1
LARGEST_SIZE = 2**32  # of a grid or a block; HIP counts threads
# Columns of whole numbers of a launch.
_LABEL, _STREAM, _START, _ORDER, _DEVICE, _PROCESS, _NODE, _COLUMNS = range(8)

GRAPH_HINT = "; CUDA graphs are recorded as one block each: record their kernels with --cuda-graph-trace=node (nsys)"


class ProgramBuilder:
    """Builder that collects launches while a file is read, and makes a program (the table of launches) of them.

    >>> builder = ProgramBuilder("results.csv")
    >>> builder.add("gemm", grid=(2, 1, 1), block=(64, 1, 1), counters={"cycles": 900.0})
    >>> builder.leave_out("memory copy")
    >>> profile = builder.finish()
    >>> profile.size, profile.left_out
    (1, {'memory copy': 1})
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.left_out: dict[str, int] = {}
        self.remarks: dict[str, Remark] = {}
        self._labels: dict[tuple[str | int, ...], int] = {}  # of name, grid, block, registers, shared memory
        self._label_of: dict[tuple[str | int, ...], int] = {}  # the same, by the name as it was given
        self._integers = array("q")  # label, stream, start, order, device, ...
        self._duration = array("d")
        self._counters: dict[str, array[float]] = {}
        self._traces: list[str] = []
        self.ranges: list[str] = []  # of each launch, in the order of `add`

    def __len__(self) -> int:
        return len(self._duration)

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count records of the file that are no kernel launches, by their kind `what`."""
        self.left_out[what] = self.left_out.get(what, 0) + count

    def remark(self, kind: str, launches: int, time: float = 0.0, place: str = "") -> None:
        """Store a sign of a defect in the file. Signs of one kind are added up.

        Args:
            kind: name of the defect.
            launches: number of affected launches.
            time: total time of these launches in nanoseconds, if known.
            place: position of the first sign in the file.
        """
        before = self.remarks.get(kind, Remark(0, 0.0, place))
        self.remarks[kind] = Remark(before.launches + launches, before.time + time, before.place)

    def add(
        self,
        name: str,
        grid: Sequence[int] = (0, 0, 0),
        block: Sequence[int] = (0, 0, 0),
        registers: int = UNKNOWN,
        shared_memory: int = UNKNOWN,
        stream: int = UNKNOWN,
        start: int = 0,
        duration: float = math.nan,
        order: int = 0,
        device: int = 0,
        process: int = UNKNOWN,
        graph_node: int = UNKNOWN,
        counters: Mapping[str, float] | None = None,
        trace: str = "",
        range_path: str = "",
    ) -> None:
        """Add one launch. Launches are sorted by `process`, `order`, `start`, then in the order of the calls.

        Characters of a name that cannot be printed are replaced by a blank or U+FFFD.

        Args:
            start, duration: times in nanoseconds.
            order: number of the CUDA call that made the launch.
            graph_node: number of the CUDA graph node, if the launch is a node.
            range_path: path of the range (phase, layer, module) that contains the launch.

        Raises:
            ProfileError: a size is below 0 or beyond LARGEST_SIZE, or a number has more than 64 bits.
        """
        row = stream, start, order, device, process, graph_node
        key: tuple[str | int, ...] = name, *grid, *block, registers, shared_memory
        label = self._label_of.get(key)
        if label is None:
            label = self._label_of[key] = self._new_label(name, (*grid, *block), registers, shared_memory)
        if max(row) > LARGEST or min(row) < -LARGEST:
            raise ProfileError(f"{self.source}: {self._here(name)}: the number {max(row)} needs more than 64 bits")
        self._integers.append(label)
        self._integers.extend(row)
        count = len(self._duration)
        self._duration.append(duration)
        for counter, value in (counters or {}).items():
            column = self._counters.setdefault(counter, array("d"))
            column.extend([math.nan] * (count - len(column)))
            column.append(value)
        self._traces.append(trace)
        self.ranges.append(range_path)

    def _new_label(self, name: str, sizes: tuple[int, ...], registers: int, shared_memory: int) -> int:
        if not name.isprintable():
            name = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(name.split()))
        if min(sizes) < 0 or max(sizes) > LARGEST_SIZE:
            raise ProfileError(
                f"{self.source}: {self._here(name)}: grid {sizes[:3]} and block {sizes[3:]}; allowed: 0 (unknown) to "
                f"{LARGEST_SIZE:,}"
            )
        if max(registers, shared_memory) > LARGEST or min(registers, shared_memory) < UNKNOWN:
            raise ProfileError(
                f"{self.source}: {self._here(name)}: {registers} registers and {shared_memory} bytes of shared memory; "
                f"allowed: {UNKNOWN} (unknown) to {LARGEST}"
            )
        label: tuple[str | int, ...] = name, *sizes, registers, shared_memory
        return self._labels.setdefault(label, len(self._labels))

    def _here(self, name: str) -> str:
        return f"launch {len(self._duration)} ({name[:60]!r})"

    def finish(self, device: int | None = None) -> Program:
        """Make the program (the table of launches) of one GPU.

        Args:
            device: number of the GPU; needed if the file has launches of several.

        Raises:
            ProfileError: there is no kernel launch, or `device` is None and there are launches of several GPUs.
        """
        table = np.frombuffer(self._integers, dtype=np.int64).reshape(-1, _COLUMNS)
        rows = self._rows_of(device, table[:, _DEVICE])
        rows = rows[np.lexsort((table[rows, _START], table[rows, _ORDER], table[rows, _PROCESS]))]
        size = len(self._duration)
        processes, counts = np.unique(table[rows, _PROCESS], return_counts=True)
        nodes, shapes = table[rows, _NODE], np.array([shape for _, *shape in self._labels], dtype=np.int64)
        return Program(
            counts=tuple(counts.tolist()),
            labels=Labels(Texts.of([str(name) for name, *_ in self._labels]), shapes),
            label=table[rows, _LABEL].astype(np.int32),
            stream=table[rows, _STREAM],  # column by column: a sorted copy of the table would be the peak
            start=table[rows, _START],
            duration=np.array(self._duration)[rows],
            counters={
                name: np.array([*column, *[math.nan] * (size - len(column))])[rows] for name, column in self._counters.items()
            },
            traces=_texts(self._traces, rows),
            ranges=_texts(self.ranges, rows),
            calls=table[rows, _ORDER],
            graph_nodes=nodes if nodes.max() > 0 else None,  # 0 is what some tools write for none
            processes=tuple(processes.tolist()) if len(processes) > 1 else (),
            source=self.source,
            left_out=dict(self.left_out),
            remarks=dict(self.remarks),
        )

    def _rows_of(self, device: int | None, devices: np.ndarray) -> np.ndarray:
        if not len(devices):
            counts = ", ".join(f"{count} x {what}" for what, count in self.left_out.items()) or "nothing"
            hint = GRAPH_HINT if any("graph" in what for what in self.left_out) else "; give a file as its tool wrote it"
            raise ProfileError(f"{self.source}: the file has no kernel launch (it has {counts}){hint}")
        there = np.unique(devices)
        if device is None and len(there) > 1:
            raise ProfileError(
                f"{self.source}: the file has launches of several GPUs, {', '.join(map(str, there))}; name one of these "
                "numbers (--device of `kernelpoint file expand`, device=N of `kernelpoint compare`), or give a file of one GPU"
            )
        if device is not None and device not in there:
            raise ProfileError(f"{self.source}: the file has no launch of GPU {device}; allowed: {', '.join(map(str, there))}")
        return np.flatnonzero(devices == (there[0] if device is None else device))


def _texts(texts: Sequence[str], rows: np.ndarray) -> Texts:
    """Column of texts for some rows; None if all are empty."""
    return Texts.of([texts[row] for row in rows] if any(texts) else ())
