"""A message to the user while no worker is connected."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

Say = Callable[[str], None]
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LINES = 5.0, 60.0


class WorkerWatch(threading.Thread):
    """Thread that reports a lack of workers after SECONDS_BETWEEN_LOOKS, then every SECONDS_BETWEEN_LINES.

    Args:
        count: number of connected workers.
        awaited: message on where workers come from.
        say: prints a line for the user.

    Attributes:
        over: event that ends the thread.
    """

    def __init__(self, count: Callable[[], int], awaited: str, say: Say) -> None:
        super().__init__(name="kernelpoint worker watch", daemon=True)
        self._count, self._awaited, self._say = count, awaited, say
        self.over = threading.Event()

    def run(self) -> None:
        """Look again and again."""
        begun, told = time.monotonic(), 0
        while not self.over.wait(SECONDS_BETWEEN_LOOKS):
            workers = -1
            with contextlib.suppress(Exception):  # the scheduler is lost, which whoever waits for a task is told
                workers = self._count()
            waited = time.monotonic() - begun
            if workers > 0 and told:
                self._say(f"{workers} workers are there")
            if workers > 0:
                begun, told = time.monotonic(), 0
            elif workers == 0 and waited >= told * SECONDS_BETWEEN_LINES:
                self._say(f"no worker is there since {waited:.0f} s: {self._awaited}")
                told += 1
