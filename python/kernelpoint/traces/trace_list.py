"""The launches of a workload in program order."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native


@dataclass(frozen=True, eq=False)
class TraceList:
    """The commands of an Accel-Sim trace list.

    Attributes:
        paths: trace file of every launch, in program order; row i is launch index i. A file may occur repeatedly.
        copies: uint64 [copies, 3], copies from host to device: position among the list's commands, address, bytes.
    """

    paths: tuple[str, ...]
    copies: np.ndarray


def read_trace_list(path: str | os.PathLike[str]) -> TraceList:
    """Read a ``kernelslist.g``, or a folder of traces.

    Lines that start with ``MemcpyHtoD`` or ``kernel`` count, all others are ignored, as in Accel-Sim. A folder stands for
    its files ``kernel-N[-ctx_0x..].traceg[.xz|.zst]`` by N, whether or not a list lies in it.

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
    """
    paths, copies = _native.read_trace_list(os.fspath(path))
    return TraceList(tuple(paths), copies)


def launch_paths(path: str | os.PathLike[str]) -> list[str]:
    """The trace file of every launch of a trace list, in program order; raises as :func:`read_trace_list`."""
    paths: list[str] = _native.read_trace_list(os.fspath(path))[0]
    return paths
