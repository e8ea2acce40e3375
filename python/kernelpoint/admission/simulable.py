"""Checks before simulation: does the simulator know the code's architecture, and is each trace complete?"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

import numpy as np

from kernelpoint.errors import TraceError
from kernelpoint.program import Program
from kernelpoint.traces import read_header, scan_trace

LOOKED_AT = 2000  # Model: headers read of a longer list, evenly spread; a program's code is of one architecture, or of few


def check_architectures(simulator: str, architectures: Collection[int], program: Program) -> None:
    """Raise an error for a list with code that the simulator does not support: it could end with exit code 0 and no result.

    Unreadable traces are skipped, because another check reports them.

    Args:
        simulator: name of the simulator.
        architectures: architectures whose code the simulator supports (70: sm_70); empty: unknown, and every list passes.
        program: the launches; trace headers are read if the program has no trace contents.

    Raises:
        TraceError: names the trace, its architecture, and the architectures that the simulator supports.
    """
    for path, version in _versions(program) if architectures else ():
        if version not in architectures:
            raise TraceError(
                f"{path}: this trace has code for sm_{version}, which this {simulator} cannot simulate (it knows "
                f"{', '.join(f'sm_{v}' for v in sorted(architectures))}): trace on a GPU of one of these architectures, "
                f"or use a version of the simulator that knows sm_{version}"
            )


def _versions(program: Program) -> Iterator[tuple[str, int]]:
    """Trace and architecture of each content, or of traces that are looked at; none of unreadable ones."""
    if program.contents is not None:
        versions = program.contents.architectures.tolist()
        yield from (pair for pair in zip(program.contents.traces, versions, strict=True) if pair[1])
        return
    distinct = program.traces.distinct
    places = np.unique(np.linspace(0, max(len(distinct) - 1, 0), LOOKED_AT).astype(int))
    for path in (distinct[place] for place in places.tolist() if distinct):
        with suppress(TraceError):
            yield path, read_header(path).binary_version


class TraceIntegrity:
    """Check whether traces can be read to their end. Each file is read once, and again after a change.

    Reading takes 1 to 2 ns for each byte, simulation a thousand times as long. Traces are checked only for simulators that need
    it (flag KP_HOST_NEEDS_WHOLE_TRACES).

    Example:
        >>> TraceIntegrity().problem("no-such.traceg")
        'no-such.traceg: cannot be opened: No such file or directory'
    """

    def __init__(self) -> None:
        self._whole: dict[str, tuple[int, ...]] = {}  # size, inode and times of what was read

    def problem(self, path: str | None) -> str:
        """Reason why a trace cannot be simulated; empty text if none is known. `path` is the file of the trace."""
        if not path:
            return ""
        try:
            status = os.stat(path)
            version = status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
            if self._whole.get(path) != version:
                scan_trace(path)
                self._whole[path] = version
        except TraceError as error:
            return str(error)
        except OSError as error:
            return f"{path}: cannot be opened: {error.strerror}"
        return ""
