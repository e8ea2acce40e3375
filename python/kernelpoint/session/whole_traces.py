"""Reading of traces for simulators that a damaged one would end."""

from __future__ import annotations

import os

from kernelpoint.session.host_info import HostInfo


class WholeTraces:
    """Tells which traces can be read to their end; each file is read once, and again when it has changed.

    Reading takes 1 to 2 ns a byte, simulating a thousand times as long. A simulator that handles damage by itself needs none
    of it (kp_host_info.flags).

    Example:
        >>> WholeTraces(HostInfo("accelsim", needs_whole_traces=True)).problem("no-such.traceg")
        'no-such.traceg: cannot be opened: No such file or directory'
        >>> WholeTraces(HostInfo("kernelpoint-host")).problem("no-such.traceg")
        ''
    """

    def __init__(self, host: HostInfo) -> None:
        self._are_needed = host.needs_whole_traces
        self._whole: dict[str, tuple[int, int]] = {}  # size and time of change of what was read

    def problem(self, path: str | None) -> str:
        """The reason why a trace cannot be simulated; empty where nothing is known against it."""
        if not self._are_needed or path is None:
            return ""
        from kernelpoint.errors import TraceError  # here, because a host without traces needs no native reader
        from kernelpoint.traces import scan_trace

        try:
            status = os.stat(path)
            version = status.st_size, status.st_mtime_ns
            if self._whole.get(path) != version:
                scan_trace(path)
                self._whole[path] = version
        except (TraceError, OSError) as error:
            return _reason(path, error)
        return ""


def _reason(path: str, error: Exception) -> str:
    return f"{path}: cannot be opened: {error.strerror}" if isinstance(error, OSError) else str(error)
