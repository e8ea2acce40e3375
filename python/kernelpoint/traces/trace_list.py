"""The launches of a workload in program order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native
from kernelpoint.repeated import Texts


@dataclass(frozen=True, eq=False)
class TraceList:
    """Commands of a trace list: launches and copies to the GPU.

    Attributes:
        paths: trace of every launch, in program order; row i is launch index i. A trace may occur repeatedly.
        number_of: int64 [files], the tracer's number of each distinct trace: N of ``kernel-N`` or ``Kernel<N>``; -1 where
            there is none. They have gaps where the tracer left launches out.
        copies: uint64 [copies, 3], copies from host to device: position among the list's commands, address, bytes.

    Example:
        >>> launches = read_trace_list("traces/kernelslist.g")
        >>> len(launches.paths), launches.numbers.tolist()
        (6, [1, 1, 1, 1, 1, 1])
    """

    paths: Texts
    number_of: np.ndarray
    copies: np.ndarray

    @property
    def numbers(self) -> np.ndarray:
        """int64 [N]: number of each launch in the tracer's count."""
        return np.append(self.number_of, -1)[self.paths.numbers]


def read_trace_list(path: str | os.PathLike[str]) -> TraceList:
    """Read a ``kernelslist.g``, a ``kernel_config.txt``, or a folder of traces.

    In the first, lines that start with ``MemcpyHtoD`` or ``kernel`` count, all others are ignored. The second begins with
    ``nvbit``; a launch is named by its ``trace.txt``. A folder stands for its ``kernelslist.g``, else
    for its files ``kernel-N[-ctx_0x..].traceg[.xz|.zst]`` by N, or else for its ``kernel_config.txt``.

    Raises:
        TraceError: there is no list, it names no launch or a trace that does not exist, a copy is malformed, or a folder
            holds two files of one launch.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "kernel-1.traceg").write_text("")
        >>> _ = (folder / "kernelslist.g").write_text("MemcpyHtoD,0x7f00,64\\nkernel-1.traceg\\nkernel-1.traceg\\n")
        >>> commands = read_trace_list(folder / "kernelslist.g")
        >>> len(commands.paths), commands.copies.tolist()
        (2, [[0, 32512, 64]])
        >>> commands.numbers.tolist()
        [1, 1]
    """
    files, of_launch, number_of, copies = _native.read_trace_list(os.fspath(path))
    return TraceList(Texts(files, of_launch), number_of, copies)


def trace_formats() -> tuple[str, ...]:
    """Names of all trace formats. Each is a folder of plugin/simulators that registers itself.

    >>> all(name.islower() for name in trace_formats())
    True
    """
    return _native.trace_formats()


def is_list_name(path: str | os.PathLike[str]) -> bool:
    """True if a file name is one that some tracer uses for its lists, so the file is no trace.

    >>> is_list_name("traces/kernelslist.g"), is_list_name("traces/kernel-1.traceg")
    (True, False)
    """
    return _native.is_list_name(os.fspath(path))


def launch_paths(path: str | os.PathLike[str]) -> Texts:
    """Trace file of every launch in a trace list, in program order. Raises the errors of :func:`read_trace_list`.

    >>> list(launch_paths("traces/kernelslist.g")[:2])
    ['traces/kernel-1.traceg', 'traces/kernel-1.traceg']
    """
    return read_trace_list(path).paths


class ListedTraces:
    """Paths of the traces of all processes. Each list is read when it is first needed.

    Args:
        lists: of each process, None where it has none.

    >>> ListedTraces([None]).path(0, 7)
    ''
    """

    def __init__(self, lists: Sequence[str | None]) -> None:
        self._lists = lists
        self._paths: dict[int, Sequence[str]] = {}

    def path(self, process: int, launch: int) -> str:
        """Path of a launch's trace; empty if there is no list, or no such launch in it.

        Raises:
            TraceError: the list cannot be read.
        """
        path = self._lists[process] if process < len(self._lists) else None
        if path is not None and process not in self._paths:
            self._paths[process] = launch_paths(path)
        paths = self._paths.get(process, ())
        return paths[launch] if launch < len(paths) else ""
