"""Reading of trace lists: the launches of a workload in program order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

import numpy as np

from kernelpoint import _native
from kernelpoint.program import Program
from kernelpoint.repeated import Texts

# Number and context in the path of a trace; the second form has no context.
_TRACE = re.compile(
    r"(?:.*/)?(?:kernel-(\d{1,18})(?:-(ctx_0x[0-9a-fA-F]+))?\.trace(?:z|g(?:\.(?:gz|xz|zst))?)"
    r"|Kernel(\d{1,18})/trace\.txt)",
    re.DOTALL,
)


def read_trace_list(path: str | os.PathLike[str]) -> Program:
    """Read the launches of a trace list: a ``kernelslist.g``, a ``kernel_config.txt``, or a folder of traces.

    * In a ``kernelslist.g``, lines that start with ``MemcpyHtoD`` or ``kernel`` are read, all others are ignored.
    * A ``kernel_config.txt`` begins with ``nvbit``; the trace of each launch is a ``trace.txt`` in a folder of its own.
    * In a folder, the first of these is read: its ``kernelslist.g``; its files ``kernel-N[-ctx_0x..].traceg[.xz|.zst]`` in the
      order of N; its ``kernel_config.txt``.

    Raises:
        TraceError: there is no list, it names no launch or a trace that does not exist, a copy is malformed, or a folder holds
            two files of one launch.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "kernel-1.traceg").write_text("")
        >>> _ = (folder / "kernelslist.g").write_text("MemcpyHtoD,0x7f00,64\\nkernel-1.traceg\\nkernel-1.traceg\\n")
        >>> program = read_trace_list(folder / "kernelslist.g")
        >>> program.size, program.copies[0].tolist()
        (2, [[0, 32512, 64]])
        >>> program.numbers.tolist()
        [1, 1]
    """
    files, of_launch, number_of, copies = _native.read_trace_list(os.fspath(path))
    numbers = np.append(number_of, -1)
    is_small = numbers.max() < np.iinfo(np.int32).max  # nearly always: half the memory
    return Program(
        (len(of_launch),),
        lists=(os.fspath(path),),
        traces=Texts(files, of_launch),
        numbers=(numbers.astype(np.int32) if is_small else numbers)[of_launch],
        copies=(copies,),
    )


def is_list_name(path: str | os.PathLike[str]) -> bool:
    """True if a tracer uses this file name for trace lists, so that the file is no trace.

    >>> is_list_name("traces/kernelslist.g"), is_list_name("traces/kernel-1.traceg")
    (True, False)
    """
    return _native.is_list_name(os.fspath(path))


def numbers_and_contexts(paths: Iterable[str]) -> list[tuple[int, str]]:
    """Parse the number and the CUDA context in the file name of each trace; -1 and empty text if there are none.

    >>> numbers_and_contexts(["traces/kernel-3-ctx_0x55d0.traceg.xz", "kernelslist.g"])
    [(3, 'ctx_0x55d0'), (-1, '')]
    """
    return [(int(name[1] or name[3]), name[2] or "") if name else (-1, "") for name in map(_TRACE.fullmatch, paths)]


class ListedTraces:
    """Traces of all processes. Each trace list is read when it is first needed.

    Args:
        lists: trace list of each process; None for a process without a list.

    >>> ListedTraces([None]).path(0, 7)
    ''
    """

    def __init__(self, lists: Sequence[str | None]) -> None:
        self._lists = lists
        self._paths: dict[int, Sequence[str]] = {}

    def path(self, process: int, launch: int) -> str:
        """Path of a launch's trace; empty if there is no list, or the list has no such launch.

        Args:
            process: index of the process.
            launch: index of the launch in the process's list.

        Raises:
            TraceError: the list cannot be read.
        """
        path = self._lists[process] if process < len(self._lists) else None
        if path is not None and process not in self._paths:
            self._paths[process] = read_trace_list(path).traces
        paths = self._paths.get(process, ())
        return paths[launch] if launch < len(paths) else ""
