"""First steps of the Python interpreter that the plugin starts inside a simulator's process.

They leave the simulator's output streams, signals and cores as they are. Called by plugin/runtime/embedding
only, and never in an interpreter that another program started.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn


class HostStream(io.TextIOBase):
    """Text stream for the output of Python code inside a simulator. Each printed line goes to the simulator's own output
    function, so that all output keeps its order.

    Example:
        >>> lines = []
        >>> stream = HostStream(lines.append)
        >>> print("one", "two", file=stream)
        >>> print("no end yet", end="", file=stream)
        >>> lines
        ['one two']
        >>> stream.flush()
        >>> lines
        ['one two', 'no end yet']
    """

    def __init__(self, emit: Callable[[str], object]) -> None:
        self._emit = emit
        self._pending = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Text encoding of the stream."""
        return "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write text; each complete line goes to the simulator."""
        *complete, self._pending = (self._pending + text).split("\n")
        for line in complete:
            self._emit(line)
        return len(text)

    def flush(self) -> None:
        """Pass an incomplete last line to the simulator."""
        if self._pending:
            line, self._pending = self._pending, ""
            self._emit(line)


def _refuse_signal(number: int, handler: object) -> NoReturn:
    """Stand in for signal.signal; raises the error of CPython outside the main thread, which libraries expect."""
    raise ValueError(f"signal {number} belongs to the simulator: KernelPoint changes no signal handler")


def _say_nothing(*warning: object, **more: object) -> None:
    """Discard a warning of a library, which users cannot act on (replaces warnings.showwarning)."""


def settle(emit: Callable[[str], object], privileged: bool) -> None:
    """Prepare the Python interpreter that runs inside a simulator's process.

    * Python's printed lines go to the function `emit`.
    * Signals are handled by the simulator, not by Python. The import of `signal` above sets a handler for SIGINT, which the
      plugin takes back at the end of the call; no later import sets one.
    * Numeric libraries use one thread, unless the user set their number of threads.
    * Folders in PYTHONPATH are searched for modules, unless `privileged`. No other PYTHON* variable has an effect.

    Args:
        emit: function that receives each line.
        privileged: True if the process has rights that its user lacks (set-user-ID).
    """
    if not privileged:
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.stdout = HostStream(emit)
    sys.stderr = HostStream(emit)
    signal.signal = _refuse_signal  # type: ignore[assignment]
    warnings.showwarning = _say_nothing
